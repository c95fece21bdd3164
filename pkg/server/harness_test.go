package server_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"toolhost/infra/emulator"
	emulateddynamodb "toolhost/infra/emulator/dynamodb"
	emulatedsqs "toolhost/infra/emulator/sqs"
	"toolhost/pkg/auth"
	"toolhost/pkg/callback"
	"toolhost/pkg/clock"
	"toolhost/pkg/httpmcp"
	"toolhost/pkg/protocol"
	"toolhost/pkg/queue/sqsqueue"
	"toolhost/pkg/server"
	"toolhost/pkg/store"
	"toolhost/pkg/store/dynamostore"
	"toolhost/pkg/tool"
	"toolhost/pkg/worker"
)

// host is a whole Toolhost over real HTTP: server, worker, and the shipped
// drivers on emulators, all under one clock that the test moves.
type host struct {
	t      *testing.T
	clock  *clock.Manual
	faults *emulator.Faults
	store  store.Store
	sqs    *emulatedsqs.Server
	client *sqs.Client
	queue  string // its URL
	worker *worker.Worker
	tables *dynamodb.Client
	// options are the server's.
	options server.Options
	handler http.Handler
	url     string
	log     *bytes.Buffer
}

const tableName, queueName = "tasks", "wakeups"

// publicURL is where the host says that callbacks arrive.
const publicURL = "https://toolhost.example/v1"

// secret is a key of the host's.
func secret(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:]
}

func start(t *testing.T, limits server.Limits) *host {
	t.Helper()
	return startWith(t, fixtures(), limits)
}

func startWith(t *testing.T, tools *tool.Registry, limits server.Limits) *host {
	t.Helper()
	h := &host{t: t, clock: clock.NewManual(time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)), faults: &emulator.Faults{}, log: &bytes.Buffer{}}
	database, err := emulateddynamodb.New(emulateddynamodb.Options{Clock: h.clock, Faults: h.faults})
	h.must(err)
	h.sqs, err = emulatedsqs.New(emulatedsqs.Options{Clock: h.clock, Faults: h.faults})
	h.must(err)
	config := func(service http.Handler) aws.Config {
		s := httptest.NewServer(service)
		t.Cleanup(s.Close)
		return aws.Config{
			Region: "us-east-1", BaseEndpoint: aws.String(s.URL),
			Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
			Retryer: func() aws.Retryer { // the SDK's own, but at once
				return retry.NewStandard(func(o *retry.StandardOptions) {
					o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
					o.RateLimiter = ratelimit.None
				})
			},
		}
	}
	h.tables = dynamodb.NewFromConfig(config(database))
	create, _ := dynamostore.Schema(tableName)
	_, err = h.tables.CreateTable(t.Context(), create)
	h.must(err)
	h.client = sqs.NewFromConfig(config(h.sqs))
	made, err := h.client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(queueName)})
	h.must(err)
	h.queue, h.store = *made.QueueUrl, dynamostore.New(h.tables, tableName, dynamostore.Options{})

	q, log := sqsqueue.New(h.client, h.queue), slog.New(slog.NewTextHandler(h.log, nil))
	h.options = server.Options{
		Tools: tools, Store: h.store, Queue: q, Keys: [][]byte{secret("test")}, IDKey: secret("ids"), Clock: h.clock, Log: log,
		Name: "test", Version: "1.0.0", Instructions: "Greet people.", Limits: limits,
	}
	h.worker, err = worker.New(worker.Options{Tools: tools, Store: h.store, Queue: q, Clock: h.clock, Log: log,
		PublicURL: publicURL, Keys: h.options.Keys})
	h.must(err)
	h.serve()
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subject := r.Header.Get("Test-Caller"); subject != "" {
			r = r.WithContext(auth.With(r.Context(), auth.Principal{Issuer: "https://issuer.example", Subject: subject}))
		}
		h.handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	h.url = front.URL
	return h
}

// serve starts the server, anew if need be, with the options as they are now.
func (h *host) serve() {
	h.t.Helper()
	s, err := server.New(h.options)
	h.must(err)
	mux := http.NewServeMux()
	mux.Handle("/mcp", httpmcp.New(s, httpmcp.Options{MaxBody: 1 << 20, Clock: h.clock}))
	mux.Handle(callback.Path+"{token}", httpmcp.Callbacks(s))
	h.handler = mux
}

func (h *host) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// send sends one HTTP request to the server.
func (h *host) send(method string, header http.Header, body []byte) (*http.Response, []byte) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+"/mcp", bytes.NewReader(body))
	h.must(err)
	r.Header = header
	response, err := http.DefaultClient.Do(r)
	h.must(err)
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	h.must(err)
	return response, got
}

// answer is a JSON-RPC response with its HTTP status.
type answer struct {
	Status int             `json:"-"`
	Body   []byte          `json:"-"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// field is a top-level string of the result, "" if it has none.
func (a answer) field(name string) string {
	var all map[string]any
	_ = json.Unmarshal(a.Result, &all)
	s, _ := all[name].(string)
	return s
}

func (a answer) code() int {
	if a.Error == nil {
		return 0
	}
	return a.Error.Code
}

// everything is what a client of these tests declares unless it says otherwise.
const everything = `{"extensions":{"io.modelcontextprotocol/tasks":{}},"elicitation":{},"roots":{}}`

// call makes a well-formed request as the caller, who declares everything.
func (h *host) call(caller, method string, params map[string]any) answer {
	h.t.Helper()
	return h.callDeclaring(everything, caller, method, params)
}

func (h *host) callDeclaring(capabilities, caller, method string, params map[string]any) answer {
	h.t.Helper()
	all := map[string]any{"_meta": map[string]any{
		protocol.MetaProtocolVersion:    protocol.Revision20260728,
		protocol.MetaClientCapabilities: json.RawMessage(capabilities),
	}}
	for k, v := range params {
		all[k] = v
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": all})
	h.must(err)
	header := mirror(body)
	if caller != "" {
		header.Set("Test-Caller", caller)
	}
	response, got := h.send(http.MethodPost, header, body)
	a := answer{Status: response.StatusCode, Body: got}
	h.must(json.Unmarshal(got, &a))
	return a
}

// mirror are the headers that a correct client sends with the body.
func mirror(body []byte) http.Header {
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	var m struct {
		Method string `json:"method"`
		Params struct {
			Name   any            `json:"name"`
			TaskID any            `json:"taskId"`
			Meta   map[string]any `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil {
		return header
	}
	if m.Method != "" {
		header.Set(protocol.HeaderMethod, m.Method)
	}
	if version, ok := m.Params.Meta[protocol.MetaProtocolVersion].(string); ok {
		header.Set(protocol.HeaderVersion, version)
	}
	for _, name := range []any{m.Params.Name, m.Params.TaskID} {
		if s, ok := name.(string); ok {
			header.Set(protocol.HeaderName, protocol.EncodeHeader(s))
		}
	}
	return header
}

// work lets a worker handle every message that is due, as the event source does.
func (h *host) work() {
	h.t.Helper()
	for {
		got, err := h.client.ReceiveMessage(h.t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: aws.String(h.queue), MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{"All"}})
		h.must(err)
		if len(got.Messages) == 0 {
			return
		}
		m := got.Messages[0]
		ctx, cancel := context.WithCancel(h.t.Context())
		out, err := h.worker.Handle(ctx, events.SQSEvent{Records: []events.SQSMessage{{
			MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes}}})
		cancel()
		h.must(err)
		if len(out.BatchItemFailures) > 0 {
			h.t.Fatalf("the worker failed: %s", h.log)
		}
		_, err = h.client.DeleteMessage(h.t.Context(), &sqs.DeleteMessageInput{QueueUrl: aws.String(h.queue), ReceiptHandle: m.ReceiptHandle})
		h.must(err)
	}
}

// waiting is how many messages the queue holds.
func (h *host) waiting() int {
	visible, delayed, inflight := h.sqs.Depth(queueName)
	return visible + delayed + inflight
}

// drop loses every message in the queue.
func (h *host) drop() {
	h.t.Helper()
	_, err := h.client.PurgeQueue(h.t.Context(), &sqs.PurgeQueueInput{QueueUrl: aws.String(h.queue)})
	h.must(err)
}
