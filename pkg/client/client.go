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
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// Options configure a Client. The zero value works.
type Options struct {
	// HTTP sends the requests; nil means a client that follows no redirects. It
	// must have no timeout shorter than the longest call.
	HTTP *http.Client
	// Name and Version introduce the caller to the server.
	Name, Version string
	// Revision is the protocol revision to speak; "" means 2026-07-28.
	Revision string
	// Clock paces polls and repeats; nil means the machine's.
	Clock clock.Clock
	// Answerer answers the tools' questions. Without one the server is told that
	// nobody can be asked.
	Answerer Answerer
	// Poll makes the client poll tasks that it could listen to. An open stream keeps
	// a function of the server's running; polls cost a request each.
	Poll bool
	// CancelOnEnd cancels the task of a Call whose context ends. Without it the task
	// goes on, and Wait comes back to it by its id.
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
	// newer says that the server has answered in this client's revision.
	newer atomic.Bool

	mu       sync.Mutex
	mirrored map[string][]mirror // by tool, as listed last

	legacy older
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
	return &Client{endpoint: endpoint, opts: o}
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

// do sends the request, again if need be, and returns its result, an object.
func (c *Client) do(ctx context.Context, x exchange) (json.RawMessage, error) {
	id := c.ids.Add(1)
	params := maps.Clone(x.params)
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = c.meta(id, x)
	body := jsonrpc.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "method": x.method, "params": params})
	result, err := c.persist(ctx, x, func(ctx context.Context) (json.RawMessage, error) { return c.send(ctx, x, id, body) })
	if err != nil {
		return nil, err
	}
	var r struct {
		ResultType string `json:"resultType"`
	}
	if err := json.Unmarshal(result, &r); err != nil {
		return nil, fmt.Errorf("the server answered %s with a result that can't be read: %w", x.method, err)
	}
	c.newer.Store(true)
	switch r.ResultType {
	case protocol.ResultComplete, "": // "" is what servers of earlier revisions send
		return result, nil
	case protocol.ResultTask, protocol.ResultInputRequired:
		if x.call {
			return result, nil
		}
	}
	return nil, fmt.Errorf("the server answered %s with a result of type %q, which is not known here", x.method, r.ResultType)
}

func (c *Client) meta(id int64, x exchange) map[string]any {
	capabilities := map[string]any{"extensions": map[string]any{protocol.ExtensionTasks: struct{}{}}}
	if c.opts.Answerer != nil {
		capabilities["elicitation"] = map[string]any{"form": struct{}{}, "url": struct{}{}}
	}
	meta := map[string]any{
		protocol.MetaProtocolVersion:    c.opts.Revision,
		protocol.MetaClientCapabilities: capabilities,
		protocol.MetaClientInfo:         map[string]string{"name": c.opts.Name, "version": c.opts.Version},
	}
	if x.notify != nil {
		meta[protocol.MetaProgressToken] = id
	}
	return meta
}
