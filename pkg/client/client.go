package client

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"

	"toolhost/pkg/clock"
	"toolhost/pkg/protocol"
)

// Options configure a Client. The zero value works.
type Options struct {
	// HTTP sends the requests; nil means a client that follows no redirects. It
	// must have no timeout shorter than the longest call.
	HTTP *http.Client
	// Name and Version introduce the caller to the server.
	Name, Version string
	// Revision is the protocol revision to begin with; "" means 2026-07-28. A server
	// that refuses it is spoken to in one that it names, or in an older one.
	Revision string
	// Clock paces polls and repeats; nil means the machine's.
	Clock clock.Clock
	// Answerer answers the tools' questions. Without one the server is told that
	// nobody can be asked.
	Answerer Answerer
	// Poll makes the client poll tasks that it could listen to. An open stream keeps
	// a function of the server's running; polls cost a request each.
	Poll bool
	// CancelOnEnd cancels the task of a Call whose context ends: tasks/cancel is tried
	// for 5 s, and if that fails, its error is joined to the context's. Without it the
	// task goes on, and Wait comes back to it by its id: that a process ends does not
	// mean that nobody wants the result. A Wait cancels nothing; it began nothing.
	CancelOnEnd bool
	// Tries is how often a request that is safe to repeat is sent; 0 means 4.
	Tries uint
}

// Client calls tools at one endpoint. It is safe for concurrent use.
type Client struct {
	endpoint string
	opts     Options
	ids      atomic.Int64
	// answered says that an MCP server has answered before: only then is an
	// endpoint that can't be reached worth waiting for.
	answered atomic.Bool
	// revision is the one that requests are made in, and known says that the server
	// has answered in it.
	revision atomic.Value
	known    atomic.Bool
	// deaf says that the server has no method to listen by.
	deaf atomic.Bool

	mu     sync.Mutex
	listed map[string]listing // by tool, as listed last

	agreeing chan struct{} // held by who reads or makes the session
	session  *session      // with an older server; nil until it is needed
}

// New makes a client for an MCP endpoint, such as http://127.0.0.1:8080/mcp.
func New(endpoint string, o Options) *Client {
	if o.HTTP == nil {
		// A redirect would turn the POST into a GET.
		o.HTTP = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if o.Name == "" {
		o.Name, o.Version = "toolhost-client", "1"
	}
	if o.Revision == "" {
		o.Revision = protocol.Revision20260728
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if o.Tries == 0 {
		o.Tries = 4
	}
	c := &Client{endpoint: endpoint, opts: o, agreeing: make(chan struct{}, 1)}
	c.revision.Store(o.Revision)
	return c
}

// exchange is one request and what is to be done with its answer.
type exchange struct {
	method string
	// name goes into the Mcp-Name header: a tool's name or a task's id; nil where
	// there is none.
	name   *string
	params map[string]any
	// header holds the Mcp-Param-* headers.
	header map[string]string
	// call marks a tools/call: it may not be sent twice, and may be answered with
	// other results than a complete one.
	call bool
	// notify receives the notifications on the request's own stream.
	notify func(method string, params json.RawMessage)
}

// do sends the request, again or in another revision if need be, and returns its
// result, an object.
func (c *Client) do(ctx context.Context, x exchange) (json.RawMessage, error) {
	id := c.ids.Add(1)
	for turns := 0; ; turns++ {
		spoken := c.spoken()
		result, err := c.persist(ctx, x, func(ctx context.Context) (json.RawMessage, error) {
			if protocol.IsLegacy(spoken) {
				return c.sendOlder(ctx, x, id)
			}
			return c.send(ctx, x, id, spoken)
		})
		if err == nil {
			return result, c.check(x, result)
		}
		next := c.turn(spoken, err)
		if next == "" || turns == maxTurns {
			return nil, err
		}
		if protocol.IsLegacy(next) {
			if _, failed := c.agree(ctx, nil); ctx.Err() != nil {
				return nil, ctx.Err()
			} else if failed != nil {
				return nil, err // it is no older server
			}
		}
		c.revision.Store(next)
	}
}

// maxTurns is how often a request is made in yet another revision.
const maxTurns = 3

// check looks at what kind of result it is.
func (c *Client) check(x exchange, result json.RawMessage) error {
	var r struct {
		ResultType string `json:"resultType"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return fmt.Errorf("the server answered %s with a result that can't be read: %w", x.method, err)
	}
	switch r.ResultType {
	case "": // of earlier revisions
		return nil
	case protocol.ResultComplete:
		c.known.Store(true)
		return nil
	case protocol.ResultTask, protocol.ResultInputRequired:
		if c.known.Store(true); x.call {
			return nil
		}
	}
	return fmt.Errorf("the server answered %s with a result of type %q, which is not known here", x.method, r.ResultType)
}

// elicitation says which questions the Answerer is put.
var elicitation = map[string]any{"form": struct{}{}, "url": struct{}{}}

func (c *Client) meta(id int64, x exchange, revision string) map[string]any {
	capabilities := map[string]any{"extensions": map[string]any{protocol.ExtensionTasks: struct{}{}}}
	if c.opts.Answerer != nil {
		capabilities["elicitation"] = elicitation
	}
	meta := map[string]any{
		protocol.MetaProtocolVersion:    revision,
		protocol.MetaClientCapabilities: capabilities,
		protocol.MetaClientInfo:         c.info(),
	}
	if x.notify != nil && x.method != protocol.MethodListen {
		meta[protocol.MetaProgressToken] = id
	}
	return meta
}

func (c *Client) info() map[string]string {
	return map[string]string{"name": c.opts.Name, "version": c.opts.Version}
}

// clone is a copy of a request's params, never nil.
func clone(params map[string]any) map[string]any {
	if params == nil {
		return map[string]any{}
	}
	return maps.Clone(params)
}
