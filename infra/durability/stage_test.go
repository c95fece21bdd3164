package durability

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"toolhost/infra/emulator"
	"toolhost/infra/local"
	"toolhost/pkg/client"
	"toolhost/pkg/clock"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// sampled says that a sample is enough: with -short, and under the race detector.
func sampled() bool { return testing.Short() || raced }

// stage is a deployment: the emulators, a server, a worker, and a clock that
// stands unless it is moved. Whatever died of it is started again when it is
// needed.
type stage struct {
	t        *testing.T
	clock    *clock.Manual
	faults   *emulator.Faults
	services *local.Services
	sqs      *sqs.Client
	journal  journal
	timeout  time.Duration   // of the worker's function
	key      string          // the idempotency key of its calls
	quota    int             // as in setting
	reported map[string]bool // the jobs that have said that they are done

	overtaking atomic.Bool // by the second worker

	mu     sync.Mutex
	server *process
	worker *process
	second *process   // another worker, where two are needed
	past   []*process // that died
	actor  *process   // who calls AWS now; nil is the event source
	outage bool       // what the actor calls is refused
}

var born = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, clock: clock.NewManual(born), faults: &emulator.Faults{}, timeout: limits.WorkerTimeout,
		reported: map[string]bool{}, journal: journal(filepath.Join(t.TempDir(), "journal"))}
	var err error
	s.services, err = local.Emulate(t.Context(), local.ServiceOptions{Clock: s.clock, Faults: s.faults})
	must(t, err)
	t.Cleanup(func() { must(t, s.services.Close()) })
	s.sqs = sqs.NewFromConfig(s.setting("").access())
	return s
}

func (s *stage) setting(role string) setting {
	return setting{Role: role, Endpoint: s.services.Endpoint, Table: s.services.Table, Queue: s.services.QueueURL,
		Now: s.clock.Now(), Quota: s.quota, Journal: string(s.journal)}
}

// acts says who calls AWS until the returned function is called.
func (s *stage) acts(p *process) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	former := s.actor
	s.actor = p
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.actor, s.outage = former, false
	}
}

func (s *stage) acting() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.actor
}

// alive is the process, or its successor.
func (s *stage) alive(p **process, role string) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *p == nil || (*p).dead() {
		if *p != nil {
			s.past = append(s.past, *p)
		}
		*p = spawn(s.t, s.setting(role))
	}
	return *p
}

// The event source.

// receive takes one visible message, if there is one; dead says that it is of
// the dead-letter queue.
func (s *stage) receive() (m events.SQSMessage, dead, ok bool) {
	for _, dead := range []bool{false, true} {
		name, url := s.queue(dead)
		if visible, _, _ := s.services.SQS.Depth(name); visible == 0 {
			continue
		}
		defer s.acts(nil)()
		out, err := s.sqs.ReceiveMessage(context.Background(), &sqs.ReceiveMessageInput{QueueUrl: &url, MaxNumberOfMessages: 1,
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll}})
		if err != nil || len(out.Messages) == 0 { // it will poll again
			return m, dead, false
		}
		r := out.Messages[0]
		return events.SQSMessage{MessageId: *r.MessageId, ReceiptHandle: *r.ReceiptHandle, Body: *r.Body, Attributes: r.Attributes}, dead, true
	}
	return m, false, false
}

func (s *stage) queue(dead bool) (name, url string) {
	if dead {
		return s.services.DeadLetterQueue, s.services.DeadLetterURL
	}
	return s.services.Queue, s.services.QueueURL
}

// invocation is the line that hands a worker a message.
func (s *stage) invocation(m events.SQSMessage, dead bool) told {
	event, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{m}})
	must(s.t, err)
	return told{Now: s.clock.Now(), Event: event, Timeout: s.timeout, DeadLetter: dead}
}

// settle lets the message go if the worker's answer allows it. If that fails,
// it comes back.
func (s *stage) settle(m events.SQSMessage, dead bool, answer json.RawMessage) {
	var a struct {
		events.SQSEventResponse
		Error string `json:"errorMessage"`
	}
	if answer == nil || json.Unmarshal(answer, &a) != nil || a.Error != "" || len(a.BatchItemFailures) > 0 {
		return
	}
	defer s.acts(nil)()
	_, url := s.queue(dead)
	_, _ = s.sqs.DeleteMessage(context.Background(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: &m.ReceiptHandle})
}

// begin hands the next message to a worker. The returned function lets time
// pass, a few seconds with each of the worker's heartbeats, until the worker has
// answered or died, and settles the message.
func (s *stage) begin(p **process) (end func()) {
	s.t.Helper()
	m, dead, ok := s.receive()
	for !ok && s.wait() {
		m, dead, ok = s.receive()
	}
	if !ok {
		s.t.Fatalf("there is no message\n%s", s.logs())
	}
	w := s.alive(p, roleWorker)
	done := s.acts(w)
	over := w.invoke(s.invocation(m, dead))
	return func() {
		answer := make(chan json.RawMessage, 1)
		go func() { answer <- over() }()
		for {
			select {
			case a := <-answer:
				done()
				s.settle(m, dead, a)
				return
			case d := <-w.waits:
				if d == limits.CancelPoll || d == limits.ReportEvery || d == limits.CancelGrace {
					s.move(5 * time.Second)
				}
			}
		}
	}
}

// deliver does what Lambda's event source mapping does with one message, from
// either queue, and reports whether there was one.
func (s *stage) deliver() bool { return s.deliverTo(&s.worker) }

func (s *stage) deliverTo(p **process) bool {
	m, dead, ok := s.receive()
	if !ok {
		return false
	}
	w := s.alive(p, roleWorker)
	done := s.acts(w)
	answer := w.invoke(s.invocation(m, dead))()
	done()
	s.settle(m, dead, answer)
	return true
}

// messages counts what the queues hold, and says when the next is visible.
func (s *stage) messages() (n int, next time.Time) {
	for _, dead := range []bool{false, true} {
		name, _ := s.queue(dead)
		for _, m := range s.services.SQS.Messages(name) {
			if n++; n == 1 || m.VisibleAt.Before(next) {
				next = m.VisibleAt
			}
		}
	}
	return n, next
}

// wait moves the clock to where the next message is visible, and reports
// whether there is one.
func (s *stage) wait() bool {
	n, next := s.messages()
	if n > 0 {
		s.move(max(next.Sub(s.clock.Now()), 0))
	}
	return n > 0
}

// move moves the clock, and every living process's.
func (s *stage) move(d time.Duration) {
	s.clock.Advance(d)
	for _, p := range s.processes() {
		p.tell(told{Now: s.clock.Now()})
	}
}

// drain delivers all that is still in the queues.
func (s *stage) drain() {
	s.t.Helper()
	for range 10_000 {
		if !s.deliver() && !s.wait() {
			return
		}
	}
	s.t.Fatalf("messages go round for ever\n%s", s.logs())
}

// The client: the one that Toolhost ships, which is told the server's address
// anew when that was started anew, and repeats what failed, as a right one does.

func (s *stage) client() *client.Client {
	server := s.alive(&s.server, roleServer)
	return client.New(server.URL+"/mcp", client.Options{Tries: 1,
		HTTP: &http.Client{Transport: acting{s, server}},
		// Questions are answered by the stage: this is for the capability alone.
		Answerer: func(context.Context, client.Question) (json.RawMessage, error) { return nil, errors.New("not here") },
	})
}

// acting sends requests to a server, which then acts.
type acting struct {
	*stage
	server *process
}

// RoundTrip implements http.RoundTripper.
func (a acting) RoundTrip(r *http.Request) (*http.Response, error) {
	defer a.acts(a.server)()
	if err := a.identify(r); err != nil {
		return nil, err
	}
	r.Header.Set(headerNow, a.clock.Now().Format(time.RFC3339Nano))
	return http.DefaultTransport.RoundTrip(r)
}

// identify gives a tools/call the stage's idempotency key, if it has one.
func (s *stage) identify(r *http.Request) error {
	if s.key == "" || r.Header.Get(protocol.HeaderMethod) != protocol.MethodToolsCall {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	with := bytes.Replace(body, []byte(`"_meta":{`), fmt.Appendf(nil, `"_meta":{%q:%q,`, protocol.MetaIdempotencyKey, s.key), 1)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(with)), int64(len(with))
	return nil
}

// tries is more often than any fault here lasts.
const tries = 20

// persist repeats a request until it succeeds.
func persist[T any](s *stage, request func(*client.Client) (T, error)) T {
	s.t.Helper()
	var err error
	for range tries {
		var v T
		if v, err = request(s.client()); err == nil {
			return v
		}
	}
	s.t.Fatalf("the server fails again and again: %v\n%s", err, s.logs())
	panic("not reached")
}

// call makes a task.
func (s *stage) call(name string, arguments any) string {
	s.t.Helper()
	raw, err := json.Marshal(arguments)
	must(s.t, err)
	return persist(s, func(c *client.Client) (string, error) {
		o, err := c.Start(s.t.Context(), name, raw, client.Watch{})
		if err == nil && o.Task == nil {
			err = fmt.Errorf("no task: %s", o.Result)
		}
		if err != nil {
			return "", err
		}
		return o.Task.ID, nil
	})
}

func (s *stage) cancel(id string) {
	s.t.Helper()
	persist(s, func(c *client.Client) (struct{}, error) { return struct{}{}, c.Cancel(s.t.Context(), id) })
}

func (s *stage) get(id string) client.Task {
	s.t.Helper()
	return persist(s, func(c *client.Client) (client.Task, error) { return c.Get(s.t.Context(), id) })
}

// answers are what people say here, by the key of the question.
var answers = map[string]string{"whom": "Ada", "by": "Bob"}

// answer answers all open questions of a task.
func (s *stage) answer(t client.Task) {
	s.t.Helper()
	responses := map[string]json.RawMessage{}
	for _, q := range t.InputRequests {
		responses[q.Key] = fmt.Appendf(nil, `{"action":"accept","content":{"name":%q}}`, answers[q.Key])
	}
	persist(s, func(c *client.Client) (struct{}, error) {
		return struct{}{}, c.Answer(s.t.Context(), t.ID, responses)
	})
}

// until stays with a task until it has a status, or is over: workers do what
// there is to do, the client polls, and only when nobody can do anything does
// time pass. A task that works and has no message is forgotten; that its next
// read might heal it (design §1, invariant 2) does not count.
func (s *stage) until(id, status string) client.Task {
	s.t.Helper()
	for range 10_000 {
		if s.deliver() {
			continue
		}
		switch t := s.get(id); {
		case t.Status == status, t.Terminal():
			return t
		case t.Status == client.InputRequired:
			s.answer(t)
		case !s.wait() && !s.report():
			s.t.Fatalf("forgotten: %s\n%s", t.Raw, s.logs())
		}
	}
	s.t.Fatalf("the task never ends\n%s", s.logs())
	panic("not reached")
}

// report lets one job outside say that it is done, and reports whether there
// was one. It says so again until it is heard.
func (s *stage) report() bool {
	s.t.Helper()
	for _, e := range s.journal.effects(s.t) {
		if e.Job == "" || s.reported[e.Job] {
			continue
		}
		s.reported[e.Job] = true
		persist(s, func(c *client.Client) (struct{}, error) {
			server := s.alive(&s.server, roleServer)
			h := http.Client{Transport: acting{s, server}}
			answer, err := h.Post(server.URL+strings.TrimPrefix(e.Job, publicURL), "application/json", strings.NewReader(`"in Oslo"`))
			if err != nil {
				return struct{}{}, err
			}
			defer answer.Body.Close()
			switch answer.StatusCode {
			case http.StatusNoContent, http.StatusConflict, http.StatusNotFound: // each is final
				return struct{}{}, nil
			}
			return struct{}{}, fmt.Errorf("the callback is answered with %s", answer.Status)
		})
		return true
	}
	return false
}

// finish stays with a task to its end, and answers what it asks.
func (s *stage) finish(id string) client.Task {
	s.t.Helper()
	return s.until(id, client.Completed)
}

// text is the text of a completed task.
func text(t client.Task) string {
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	}
	if json.Unmarshal(t.Result, &r) != nil || len(r.Content) != 1 || r.IsError {
		return ""
	}
	return r.Content[0].Text
}

// logs is what the processes logged.
func (s *stage) logs() (all string) {
	for _, p := range s.processes() {
		all += p.log.String()
	}
	return all
}

// processes are all that were ever started.
func (s *stage) processes() []*process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(append(slices.Clone(s.past), s.server, s.worker, s.second), func(p *process) bool { return p == nil })
}
