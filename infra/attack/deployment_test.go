package attack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"toolhost/infra/emulator"
	"toolhost/infra/emulator/lambda"
	"toolhost/infra/local"
	"toolhost/pkg/auth"
	"toolhost/pkg/clock"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/queue/sqsqueue"
	"toolhost/pkg/server"
	"toolhost/pkg/store/dynamostore"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
	"toolhost/pkg/worker"
)

// callers are by the name that their calls bear. kin and app are as near to ada
// as can be: her subject in another tenant, and a client that has her name.
var callers = map[string]auth.Principal{
	"ada":    {Issuer: "https://issuer.example", Subject: "ada", Tenant: "one", Client: "app", Scopes: []string{"mcp"}},
	"bob":    {Issuer: "https://issuer.example", Subject: "bob", Tenant: "one", Client: "app"},
	"nobody": {},
	"kin":    {Issuer: "https://issuer.example", Subject: "ada", Tenant: "two"},
	"app":    {Issuer: "https://issuer.example", Client: "ada", Tenant: "one"},
}

// deployment is one warm server and one warm worker, with the shipped drivers on
// the emulators, all in this process. Its clock stands unless it is moved.
type deployment struct {
	t        *testing.T
	clock    *clock.Manual
	services *local.Services
	server   *server.Server
	worker   *worker.Worker
	sqs      *sqs.Client
	log      *journal

	mu     sync.Mutex
	writes []emulator.Call // all that went to the table and the queue
}

func secret(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:]
}

func deploy(t *testing.T, clock *clock.Manual, tools *tool.Registry) *deployment {
	t.Helper()
	d := &deployment{t: t, clock: clock, log: &journal{}}
	var err error
	d.services, err = local.Emulate(t.Context(), local.ServiceOptions{Clock: clock})
	must(t, err)
	t.Cleanup(func() { must(t, d.services.Close()) })
	d.services.Faults.Inject(func(c emulator.Call) emulator.Effect {
		switch c.Operation {
		case "PutItem", "BatchWriteItem", "UpdateItem", "SendMessage":
			d.mu.Lock()
			d.writes = append(d.writes, c)
			d.mu.Unlock()
		}
		return emulator.Serve
	})
	access := *d.services.AWS()
	access.APIOptions = append(access.APIOptions, observe)
	d.sqs = sqs.NewFromConfig(access)
	st, q := dynamostore.New(dynamodb.NewFromConfig(access), d.services.Table, dynamostore.Options{}), sqsqueue.New(d.sqs, d.services.QueueURL)
	log, keys := slog.New(slog.NewJSONHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug})), [][]byte{secret("keys")}
	d.server, err = server.New(server.Options{Tools: tools, Store: st, Queue: q, Keys: keys, IDKey: secret("ids"), Clock: clock, Log: log,
		Limits: server.Limits{PollRate: -1}})
	must(t, err)
	d.worker, err = worker.New(worker.Options{Tools: tools, Store: st, Queue: q, Keys: keys, Clock: clock, Log: log,
		PublicURL: "https://toolhost.example", Lease: 10 * time.Minute})
	must(t, err)
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// work lets the worker handle messages, several at once, until the returned
// function is called.
func (d *deployment) work() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	m := &lambda.Mapping{Queue: d.sqs, QueueURL: d.services.QueueURL, Timeout: limits.WorkerTimeout, BatchSize: 10, MaximumConcurrency: 4,
		ReportBatchItemFailures: true, Clock: d.clock, Log: slog.New(slog.DiscardHandler),
		Function: func(ctx context.Context, payload []byte) ([]byte, error) {
			var e events.SQSEvent
			if err := json.Unmarshal(payload, &e); err != nil {
				return nil, err
			}
			answer, err := d.worker.Handle(ctx, e)
			if len(answer.BatchItemFailures) > 0 {
				d.t.Errorf("messages come back: %+v", answer)
			}
			if err != nil {
				return nil, err
			}
			return json.Marshal(answer)
		}}
	running.Go(func() {
		if err := m.Run(ctx); err != nil && ctx.Err() == nil {
			d.t.Error(err)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// reply is all that a caller, or anybody who watches the store, sees of a request.
type reply struct {
	Status int
	Body   string
	Frames string // what came before it
	Calls  string // the calls to AWS that it took
}

// text is all that the caller sees.
func (r reply) text() []byte { return []byte(r.Frames + r.Body) }

// everything is what clients declare here.
const everything = `{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{},"roots":{}}`

// ask sends a request as a caller. Under a legacy revision it has no _meta.
func (d *deployment) ask(owner, revision, method string, params map[string]any) reply {
	d.t.Helper()
	p := map[string]any{}
	for k, v := range params {
		p[k] = v
	}
	if protocol.IsModern(revision) {
		meta := map[string]any{protocol.MetaProtocolVersion: revision, protocol.MetaClientCapabilities: json.RawMessage(everything)}
		for k, v := range mapOf(p["_meta"]) {
			meta[k] = v
		}
		p["_meta"] = meta
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "q", "method": method, "params": p})
	must(d.t, err)
	h := protocol.Headers{Version: protocol.Header{Present: true, Value: revision}, Method: protocol.Header{Present: true, Value: method}}
	for _, name := range []string{"name", "taskId"} {
		if value, ok := p[name].(string); ok {
			h.Name = protocol.Header{Present: true, Value: protocol.EncodeHeader(value)}
		}
	}
	l := &ledger{owner: owner}
	ctx := context.WithValue(auth.With(d.t.Context(), callers[owner]), ledgerKey{}, l)
	var frames bytes.Buffer
	r := d.server.Handle(ctx, server.Request{Headers: h, Body: body, Live: true}, func(message []byte) {
		frames.Write(append(message, '\n'))
	})
	return reply{r.Status, string(r.Body), frames.String(), l.String()}
}

func mapOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// modern is ask under the newest revision.
func (d *deployment) modern(owner, method string, params map[string]any) reply {
	d.t.Helper()
	return d.ask(owner, protocol.Revision20260728, method, params)
}

// seen is what a client reads in an answer.
type seen struct {
	Result struct {
		ResultType    string                     `json:"resultType"`
		TaskID        string                     `json:"taskId"`
		Status        string                     `json:"status"`
		StatusMessage string                     `json:"statusMessage"`
		InputRequests map[string]json.RawMessage `json:"inputRequests"`
		RequestState  string                     `json:"requestState"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (r reply) read(t *testing.T) (s seen) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), &s); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
	return s
}

func (s seen) terminal() bool { return task.Status(s.Result.Status).Terminal() }

// ledger counts the calls to AWS of one request.
type ledger struct {
	owner string
	mu    sync.Mutex
	calls []string
}

type ledgerKey struct{}

func (l *ledger) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.calls, ",")
}

// observe notes each call in the ledger of its request.
func observe(stack *middleware.Stack) error {
	note := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		if l, ok := ctx.Value(ledgerKey{}).(*ledger); ok {
			l.mu.Lock()
			l.calls = append(l.calls, fmt.Sprint(awsmiddleware.GetServiceID(ctx), ".", awsmiddleware.GetOperationName(ctx)))
			l.mu.Unlock()
		}
		return next.HandleInitialize(ctx, in)
	}
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("observe", note), middleware.After)
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
