package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/infra/emulator"
	"toolhost/infra/emulator/dynamodb"
	"toolhost/infra/emulator/sqs"
	"toolhost/pkg/clock"
	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
	"toolhost/pkg/queue/sqsqueue"
	"toolhost/pkg/store"
	"toolhost/pkg/store/dynamostore"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
	"toolhost/pkg/worker"
)

var born = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)

// stage is a worker on the real drivers, the emulators and a clock that stands.
type stage struct {
	t      *testing.T
	clock  *watched
	faults *emulator.Faults
	table  *awsdynamodb.Client
	sqs    *sqs.Server
	client *awssqs.Client
	url    string
	store  store.Store
	queue  queue.Queue
	tools  *tool.Registry
	log    *logged
	exits  chan struct{}
	*worker.Worker
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, clock: &watched{clock.NewManual(born), make(chan time.Duration, 10_000)}, faults: &emulator.Faults{},
		tools: tool.New(), log: &logged{}, exits: make(chan struct{}, 10)}
	database, err := dynamodb.New(dynamodb.Options{Clock: s.clock.Manual, Faults: s.faults})
	if err != nil {
		t.Fatal(err)
	}
	if s.sqs, err = sqs.New(sqs.Options{Clock: s.clock.Manual, Faults: s.faults}); err != nil {
		t.Fatal(err)
	}
	s.table = awsdynamodb.NewFromConfig(serve(t, database))
	create, _ := dynamostore.Schema("tasks")
	if _, err := s.table.CreateTable(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	s.client = awssqs.NewFromConfig(serve(t, s.sqs))
	made, err := s.client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("tasks"),
		Attributes: map[string]string{"VisibilityTimeout": fmt.Sprint(int(limits.QueueVisibility.Seconds()))}})
	if err != nil {
		t.Fatal(err)
	}
	s.url = *made.QueueUrl
	s.store, s.queue = dynamostore.New(s.table, "tasks", dynamostore.Options{}), sqsqueue.New(s.client, s.url)
	s.Worker = s.another()
	return s
}

// serve puts an emulator on the loopback interface; the client retries at once.
func serve(t *testing.T, h http.Handler) aws.Config {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return aws.Config{Region: "us-east-1", BaseEndpoint: aws.String(server.URL),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.RateLimiter = ratelimit.None
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			})
		}}
}

// another is one more worker, as of another process.
func (s *stage) another() *worker.Worker {
	w, err := worker.New(worker.Options{Tools: s.tools, Store: s.store, Queue: s.queue, Clock: s.clock,
		Log: slog.New(slog.NewTextHandler(s.log, nil)), Exit: func() { s.exits <- struct{}{} }})
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

// watched tells of every wait that a worker begins.
type watched struct {
	*clock.Manual
	begun chan time.Duration
}

func (w *watched) After(d time.Duration) (<-chan time.Time, func()) {
	c, stop := w.Manual.After(d)
	w.begun <- d
	return c, stop
}

// waits returns once a worker waits for d.
func (s *stage) waits(d time.Duration) {
	s.t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case got := <-s.clock.begun:
			if got == d {
				return
			}
		case <-timeout:
			s.t.Fatalf("no worker waits for %v", d)
		}
	}
}

// first lets the first beat of a run happen.
func (s *stage) first() {
	s.t.Helper()
	s.waits(limits.CancelPoll)
	s.clock.Advance(limits.CancelPoll)
	s.waits(limits.ReportEvery)
}

// beats lets n more beats happen.
func (s *stage) beats(n int) {
	s.t.Helper()
	for range n {
		s.clock.Advance(limits.ReportEvery)
		s.waits(limits.ReportEvery)
	}
}

type args struct {
	Value string `json:"value,omitempty"`
}

// host adds a tool that says "done", or what its error says.
func (s *stage) host(name string, o tool.Options, do func(ctx context.Context) error) {
	o.Task = tool.Required
	tool.Add(s.tools, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ args) (*mcp.CallToolResult, any, error) {
		if err := do(ctx); err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	}, o)
}

// tune changes what a task is made from.
type tune func(*task.Spec)

// call makes a task and its wake-up, as the server does.
func (s *stage) call(name string, tunes ...tune) task.Task {
	s.t.Helper()
	t := s.created(name, tunes...)
	s.wake(t)
	return t
}

func (s *stage) created(name string, tunes ...tune) task.Task {
	s.t.Helper()
	spec := task.Spec{ID: fmt.Sprintf("task-%d", counter()), Birth: fmt.Sprintf("birth-%d", counter()), Tool: name,
		Arguments: task.NewPayload([]byte(`{}`)), Protocol: "2026-07-28", Capabilities: []byte(`{"elicitation":{}}`)}
	for _, tune := range tunes {
		tune(&spec)
	}
	t, _, err := s.store.Create(s.t.Context(), task.Create(spec, s.clock.Now()), s.clock.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return t
}

var counter = func() func() int {
	var mu sync.Mutex
	var n int
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		n++
		return n
	}
}()

func (s *stage) wake(t task.Task) {
	s.t.Helper()
	s.send(queue.Message{TaskID: t.ID, Birth: t.Birth, Cause: queue.Created})
}

func (s *stage) send(m queue.Message) {
	s.t.Helper()
	if err := s.queue.Send(s.t.Context(), m, queue.Delivery{}); err != nil {
		s.t.Fatal(err)
	}
}

// receive takes all visible messages, as the event source mapping does.
func (s *stage) receive() []events.SQSMessage {
	s.t.Helper()
	var all []events.SQSMessage
	for {
		out, err := s.client.ReceiveMessage(context.WithoutCancel(s.t.Context()), &awssqs.ReceiveMessageInput{QueueUrl: &s.url, MaxNumberOfMessages: 10,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return all
		}
		for _, m := range out.Messages {
			all = append(all, events.SQSMessage{MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes})
		}
	}
}

// handle gives records to a handler and deletes those that it does not report as failed.
func (s *stage) handle(ctx context.Context, handler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), records []events.SQSMessage) (failed []string) {
	s.t.Helper()
	answer, err := handler(ctx, events.SQSEvent{Records: records})
	if err != nil {
		s.t.Errorf("the handler answered an error: %v", err)
	}
	bad := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		bad[f.ItemIdentifier] = true
		failed = append(failed, f.ItemIdentifier)
	}
	for _, r := range records {
		if bad[r.MessageId] {
			continue
		}
		// The test's context may be over already, in a cleanup.
		if _, err := s.client.DeleteMessage(context.WithoutCancel(ctx), &awssqs.DeleteMessageInput{QueueUrl: &s.url, ReceiptHandle: aws.String(r.ReceiptHandle)}); err != nil {
			s.t.Error(err)
		}
	}
	return failed
}

// work handles what is visible now, and wants none of it to come back.
func (s *stage) work() {
	s.t.Helper()
	if failed := s.handle(s.t.Context(), s.Handle, s.receive()); len(failed) > 0 {
		s.t.Errorf("messages come back: %v\n%s", failed, s.log)
	}
}

// begin handles what is visible in the background; the returned function waits for its end.
func (s *stage) begin(ctx context.Context) (end func() (failed []string)) {
	records, done := s.receive(), make(chan []string, 1)
	go func() { done <- s.handle(ctx, s.Handle, records) }()
	return func() []string {
		s.t.Helper()
		select {
		case failed := <-done:
			return failed
		case <-time.After(20 * time.Second):
			s.t.Fatalf("the handler does not return\n%s", s.log)
			return nil
		}
	}
}

func (s *stage) load(t task.Task) task.Task {
	s.t.Helper()
	now, err := s.store.Load(s.t.Context(), t.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return now
}

// change makes an event of somebody else durable.
func (s *stage) change(t task.Task, event func(task.Task) (task.Task, error)) task.Task {
	s.t.Helper()
	t, err := store.Update(s.t.Context(), s.store, s.load(t), event)
	if err != nil {
		s.t.Fatal(err)
	}
	return t
}

func (s *stage) cancel(t task.Task) task.Task {
	s.t.Helper()
	return s.change(t, func(t task.Task) (task.Task, error) { return task.RequestCancel(t, s.clock.Now()) })
}

// sent are the messages in the queue that have never been received.
func (s *stage) sent() (all []sent) {
	s.t.Helper()
	for _, m := range s.sqs.Messages("tasks") {
		if m.Receives > 0 {
			continue
		}
		d, err := queue.Decode(m.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, sent{d, m.VisibleAt.Sub(s.clock.Now()), m.Group})
	}
	return all
}

type sent struct {
	queue.Message
	delay time.Duration
	group string
}

// only is the one message that was sent.
func (s *stage) only() sent {
	s.t.Helper()
	all := s.sent()
	if len(all) != 1 {
		s.t.Fatalf("want one message sent, got %+v", all)
	}
	return all[0]
}

// none wants an empty queue.
func (s *stage) none() {
	s.t.Helper()
	if all := s.sqs.Messages("tasks"); len(all) > 0 {
		s.t.Errorf("want no message, got %+v", all)
	}
}

func (s *stage) status(t task.Task, want task.Status) task.Task {
	s.t.Helper()
	now := s.load(t)
	if now.Status != want {
		s.t.Errorf("the task is %s (%s), want %s\n%s", now.Status, now.StatusMessage, want, s.log)
	}
	return now
}

// loseBlobs deletes all blobs.
func (s *stage) loseBlobs() { s.t.Helper(); s.delete("", "blob#") }

// remove deletes all of a task.
func (s *stage) remove(t task.Task) { s.t.Helper(); s.delete(t.ID, "") }

// delete deletes the items whose keys begin so.
func (s *stage) delete(id, part string) {
	s.t.Helper()
	all, err := s.table.Scan(s.t.Context(), &awsdynamodb.ScanInput{TableName: aws.String("tasks")})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, it := range all.Items {
		key := func(name, prefix string) bool {
			return strings.HasPrefix(it[name].(*dbtypes.AttributeValueMemberS).Value, prefix)
		}
		if !key("pk", id) || !key("sk", part) {
			continue
		}
		if _, err := s.table.DeleteItem(s.t.Context(), &awsdynamodb.DeleteItemInput{TableName: aws.String("tasks"),
			Key: map[string]dbtypes.AttributeValue{"pk": it["pk"], "sk": it["sk"]}}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// logged collects the log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
