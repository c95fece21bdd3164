package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/protocol"
)

// wire is the connection to a server behind a Session, with an eye on what
// passes. The SDK's client decodes answers into Go values; that would lose the
// order of a schema's members, integers beyond 2^53, and content of a kind that
// it does not know. Here the text is kept as it came.
type wire struct {
	mcp.Connection
	overHTTP bool

	broken chan struct{} // closed when it is of no use any more
	idle   chan struct{} // closed when it is retired and owes nothing

	mu       sync.Mutex
	calls    map[sdk.ID]*exchange // neither answered nor cancelled
	hello    sdk.ID               // of initialize
	revision string               // agreed with a server that has sessions
	retired  bool                 // no new calls
	tooLarge bool                 // an answer passed maxFrame
}

// exchange is one request and what came back.
type exchange struct {
	token  string // for progress; "" for none
	report func(Progress)

	sent    bool // or at least begun to be
	result  json.RawMessage
	failure *sdk.Error
}

// exchangeKey carries the exchange in the context of the SDK's request.
type exchangeKey struct{}

// maxFrame is the largest message that is read: the SDK's own limit where it has
// one.
const maxFrame = mcp.DefaultMaxLineLength

// tap makes a wire of a transport's connection.
type tap struct {
	transport mcp.Transport
	wire      *wire
}

func newTap(t mcp.Transport) *tap {
	w := &wire{broken: make(chan struct{}), idle: make(chan struct{}), calls: map[sdk.ID]*exchange{}}
	if original, ok := t.(*mcp.StreamableClientTransport); ok {
		w.overHTTP = true
		changed, client := *original, http.Client{}
		if changed.HTTPClient != nil {
			client = *changed.HTTPClient
		}
		client.Transport = &roundTripper{base: client.Transport, wire: w}
		changed.HTTPClient = &client
		if changed.MaxEventSize == 0 { // which is no limit
			changed.MaxEventSize = maxFrame
		}
		t = &changed
	}
	return &tap{t, w}
}

func (t *tap) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	t.wire.Connection = conn
	return t.wire, nil
}

func (w *wire) Write(ctx context.Context, m sdk.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	request, isRequest := m.(*sdk.Request)
	if isRequest {
		w.note(ctx, request)
	}
	if w.overHTTP {
		err := w.Connection.Write(ctx, m)
		w.told(request)
		return err
	}
	// A server that reads no more would hold the call for ever.
	stop := context.AfterFunc(ctx, func() { _ = w.Connection.Close() })
	defer stop()
	err := w.Connection.Write(ctx, m)
	if err != nil { // what has got through is no message, and leaves nothing to go on with
		if x, ours := ctx.Value(exchangeKey{}).(*exchange); ours {
			x.sent = false
		}
		w.breaks()
	}
	w.told(request)
	return err
}

// note remembers what is to be seen in the answer.
func (w *wire) note(ctx context.Context, request *sdk.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if request.Method == "initialize" {
		w.hello = request.ID
	}
	if x, ours := ctx.Value(exchangeKey{}).(*exchange); ours && request.IsCall() {
		x.sent = true
		w.calls[request.ID] = x
	}
}

// told drops the call that a notification has cancelled.
func (w *wire) told(request *sdk.Request) {
	if request == nil || request.Method != "notifications/cancelled" {
		return
	}
	var p struct {
		ID any `json:"requestId"`
	}
	if json.Unmarshal(request.Params, &p) != nil {
		return
	}
	if id, err := sdk.MakeID(p.ID); err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.calls, id)
		w.settle()
	}
}

func (w *wire) Read(ctx context.Context) (sdk.Message, error) {
	m, err := w.Connection.Read(ctx)
	if err != nil {
		// The words of the SDK for a line and for an event.
		if s := err.Error(); strings.Contains(s, "maximum line length") || strings.Contains(s, "without terminating") {
			w.oversize()
		}
		w.breaks()
		return nil, err
	}
	switch m := m.(type) {
	case *sdk.Response:
		w.answered(m)
	case *sdk.Request:
		if m.Method == "notifications/progress" {
			w.progress(m.Params)
		}
	}
	return m, nil
}

func (w *wire) answered(r *sdk.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hello.IsValid() && r.ID == w.hello {
		var agreed struct {
			Revision string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(r.Result, &agreed) // the SDK judges it
		w.revision, w.hello = agreed.Revision, sdk.ID{}
	}
	if x := w.calls[r.ID]; x != nil {
		delete(w.calls, r.ID)
		x.result = r.Result
		x.failure, _ = r.Error.(*sdk.Error)
		w.settle()
	}
}

// progress reports at once, before the answer that may follow.
func (w *wire) progress(params json.RawMessage) {
	var p struct {
		Token   any     `json:"progressToken"`
		Done    float64 `json:"progress"`
		Total   float64 `json:"total"`
		Message string  `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	w.mu.Lock()
	var report func(Progress)
	for _, x := range w.calls {
		if x.token != "" && x.token == p.Token {
			report = x.report
		}
	}
	w.mu.Unlock()
	if report != nil {
		report(Progress{p.Done, p.Total, p.Message})
	}
}

// forget drops a call that has failed.
func (w *wire) forget(x *exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.calls, func(_ sdk.ID, other *exchange) bool { return x == other })
	w.settle()
}

// retire keeps new calls away.
func (w *wire) retire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retired = true
	w.settle()
}

// settle closes idle if it is time to; w.mu is held.
func (w *wire) settle() {
	if w.retired && len(w.calls) == 0 && !isClosed(w.idle) {
		close(w.idle)
	}
}

func (w *wire) breaks() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !isClosed(w.broken) {
		close(w.broken)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (w *wire) oversize() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tooLarge = true
}

func (w *wire) isOversize() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tooLarge
}

func (w *wire) isUsable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.retired && !isClosed(w.broken)
}

// roundTripper does for HTTP what the SDK does not, or not through a tap: the
// agreed revision stands in a header, and one JSON body has an end.
type roundTripper struct {
	base http.RoundTripper
	wire *wire
}

const revisionHeader = "Mcp-Protocol-Version"

func (t *roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	t.wire.mu.Lock()
	revision := t.wire.revision
	t.wire.mu.Unlock()
	if revision != "" && r.Header.Get(revisionHeader) == "" {
		r = r.Clone(r.Context())
		r.Header.Set(revisionHeader, revision)
	}
	base := t.base
	if base == nil {
		base = http.DefaultTransport
	}
	answer, err := base.RoundTrip(r)
	if err == nil && !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		answer.Body = &body{answer.Body, maxFrame, t.wire}
	}
	return answer, err
}

// body is a response body that fails where it is too large.
type body struct {
	io.ReadCloser
	left int
	wire *wire
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		b.wire.oversize()
		return 0, errors.New("the body is too large")
	}
	return n, err
}

// isModern reports a server that keeps no session: each request says what the
// client can do, and questions come back as results.
func isModern(revision string) bool { return revision >= protocol.Revision20260728 }
