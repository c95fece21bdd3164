package tool

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// unserved is a call that the server behind a Session did not answer: a tool
// error with a sentence for the model, and a cause for the log.
type unserved struct {
	message string
	cause   error
}

func (u *unserved) Error() string { return u.message + ": " + u.cause.Error() }
func (u *unserved) Unwrap() error { return u.cause }

const (
	unreachable = "The server behind this tool can't be reached. The call was not made."
	diedDuring  = "The server behind this tool ended during the call. Whether the call took effect is not known."
	noAnswer    = "The server behind this tool gave no answer. Whether the call took effect is not known."
	unreadable  = "The server behind this tool gave an answer that is no tool result."
)

// call makes a hosted tool's call. It makes it a second time, on a fresh
// connection, only if the first never reached the server.
func (s *Session) call(ctx context.Context, name string, p *mcp.CallToolParamsRaw) (*mcp.CallToolResult, error) {
	w, err := current(ctx, "FromSession")
	if err != nil {
		return nil, err
	}
	for again := true; ; again = false {
		l, err := s.use(ctx)
		if err != nil {
			return nil, orEnd(ctx, &unserved{unreachable, err})
		}
		x := &exchange{token: rand.Text(), report: func(p Progress) { Report(ctx, p.Done, p.Total, p.Message) }}
		params := &mcp.CallToolParams{
			Meta: mcp.Meta{protocol.MetaProgressToken: x.token},
			Name: name, Arguments: p.Arguments, InputResponses: p.InputResponses, RequestState: p.RequestState,
		}
		if isModern(l.InitializeResult().ProtocolVersion) {
			params.Meta[protocol.MetaClientCapabilities] = declared(w.run.call.Capabilities).object()
		}
		_, err = l.CallTool(context.WithValue(ctx, exchangeKey{}, x), params)
		switch {
		case err == nil && x.result != nil:
			return readResult(x.result)
		case ctx.Err() != nil:
			l.abandon()
			return nil, ctx.Err()
		case x.result != nil:
			return readResult(x.result) // which the SDK could not read
		}
		l.wire.forget(x)
		if failure := x.failed(err); failure != nil {
			return nil, failure
		}
		if again && x.missed(err) {
			l.wire.retire()
			continue
		}
		return nil, &unserved{l.wire.explain(x, err), orNil(err)}
	}
}

// orEnd is the end of ctx where that is what came first.
func orEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// abandon lets go of a link with a call whose context ended. The server may
// hang, so it gets no more calls. It is closed when those that it has are answered
// or cancelled: closed at once, it would not hear of this cancel.
func (l *link) abandon() {
	l.wire.retire()
	go func() {
		select {
		case <-l.wire.idle:
		case <-l.wire.broken:
		}
		_ = l.Close()
	}()
}

// failed is the server's own error, nil if err is the transport's.
func (x *exchange) failed(err error) error {
	failure := x.failure
	if failure == nil {
		// An HTTP status beside 2xx may have an error of the server's as its body.
		if !errors.As(err, &failure) || failure.Code == codeRejected && failure.Message == textRejected {
			return nil
		}
	}
	var data struct {
		Required json.RawMessage `json:"requiredCapabilities"`
	}
	if failure.Code == protocol.CodeMissingCapability && json.Unmarshal(failure.Data, &data) == nil && isGiven(data.Required) {
		return &MissingCapability{Required: data.Required}
	}
	return failure
}

// What the SDK says of a request that its transport could not place.
const (
	codeRejected = -32005
	textRejected = "rejected by transport"
)

// missed reports that the call certainly did not reach the server's tool.
func (x *exchange) missed(err error) bool {
	var network *net.OpError
	return !x.sent || errors.Is(err, mcp.ErrSessionMissing) || errors.As(err, &network) && network.Op == "dial"
}

// explain says what became of a call that got no answer.
func (w *wire) explain(x *exchange, err error) string {
	switch {
	case w.isOversize():
		return fmt.Sprintf("The server behind this tool answered with more than %d bytes; the limit of a result is %d. Ask for less at once.", maxFrame, limits.MaxResult)
	case x.missed(err):
		return unreachable
	case isClosed(w.broken):
		return diedDuring
	default:
		return noAnswer
	}
}

// passed is content as the server sent it.
type passed struct {
	mcp.Content // none: content is a closed set of types
	text        json.RawMessage
}

func (p passed) MarshalJSON() ([]byte, error) { return p.text, nil }

// readResult takes a result apart without a change to its parts.
func readResult(text json.RawMessage) (*mcp.CallToolResult, error) {
	var in struct {
		Meta       map[string]json.RawMessage `json:"_meta"`
		Type       string                     `json:"resultType"`
		Content    []json.RawMessage          `json:"content"`
		Structured json.RawMessage            `json:"structuredContent"`
		IsError    bool                       `json:"isError"`
		Requests   mcp.InputRequestMap        `json:"inputRequests"`
		State      string                     `json:"requestState"`
	}
	if err := json.Unmarshal(text, &in); err != nil || !isGiven(text) {
		return nil, &unserved{unreadable, orNil(err)}
	}
	out := &mcp.CallToolResult{IsError: in.IsError, Content: []mcp.Content{}}
	switch in.Type {
	case "", protocol.ResultComplete:
	case protocol.ResultInputRequired:
		out.RequestState, out.InputRequests = in.State, in.Requests
		if out.InputRequests == nil {
			out.InputRequests = mcp.InputRequestMap{}
		}
		return out, nil
	default:
		return nil, &unserved{unreadable, fmt.Errorf("a result of the type %q", in.Type)}
	}
	for _, c := range in.Content {
		out.Content = append(out.Content, passed{text: c})
	}
	if isGiven(in.Structured) {
		out.StructuredContent = in.Structured
	}
	delete(in.Meta, protocol.MetaServerInfo) // the server that answers is this one
	for name, value := range in.Meta {
		if out.Meta == nil {
			out.Meta = mcp.Meta{}
		}
		out.Meta[name] = value
	}
	return out, nil
}
