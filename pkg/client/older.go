package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// older is the way to a server that does not know this client's revision: the
// official SDK's client, which begins with initialize and keeps a session where
// the server wants one. Such a server has tools, and no tasks.
type older struct {
	mu      sync.Mutex
	client  *mcp.Client
	session *mcp.ClientSession // nil until it is needed

	listeners sync.Map // progress token → func(*mcp.ProgressNotificationParams)
}

// wantsOlder reports whether the server may be one that knows only older
// revisions: it has never answered in a newer one, and has refused the request
// in a way that says it did not begin it.
func (c *Client) wantsOlder(err error) bool {
	if c.newer.Load() {
		return false
	}
	var (
		refused     *Error
		unreachable *UnreachableError
	)
	switch {
	case errors.As(err, &refused):
		switch refused.Code {
		case protocol.Code(c.opts.Revision, protocol.CodeUnsupportedVersion):
			return true
		case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidRequest, -32000: // no session, in most of them
			return refused.Status == 0 || refused.Status < 500
		}
	case errors.As(err, &unreachable): // plain words in place of an error
		return unreachable.Status == http.StatusBadRequest || unreachable.Status == http.StatusNotFound
	}
	return false
}

// connect returns the session, a new one if there is none or lost is set.
func (c *Client) connect(ctx context.Context, lost *mcp.ClientSession) (*mcp.ClientSession, error) {
	o := &c.legacy
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.session != nil && o.session != lost {
		return o.session, nil
	}
	if o.client == nil {
		options := &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{},
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				if told, ok := o.listeners.Load(fmt.Sprint(r.Params.ProgressToken)); ok {
					told.(func(*mcp.ProgressNotificationParams))(r.Params)
				}
			}}
		if c.opts.Answerer != nil {
			options.ElicitationHandler = c.elicit
		}
		o.client = mcp.NewClient(&mcp.Implementation{Name: c.opts.Name, Version: c.opts.Version}, options)
	}
	session, err := o.client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: c.endpoint, HTTPClient: c.opts.HTTP, DisableStandaloneSSE: true, MaxEventSize: maxAnswer,
	}, nil)
	if err != nil {
		return nil, err
	}
	o.session = session
	return session, nil
}

// elicit lets the Answerer answer what an older server asks during a call.
func (c *Client) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	params, err := json.Marshal(r.Params)
	if err != nil {
		return nil, err
	}
	response, err := c.answer(ctx, Question{Method: protocol.MethodElicit, Params: params})
	if err != nil {
		return nil, err
	}
	result := new(mcp.ElicitResult)
	return result, json.Unmarshal(response, result)
}

// inOlder makes a request of an older server, on a new session if the server has
// forgotten the last. refused is what it had said to a newer request: the error
// if it is no MCP server at all.
func inOlder[T any](ctx context.Context, c *Client, refused error, request func(*mcp.ClientSession) (T, error)) (T, error) {
	var none T
	session, err := c.connect(ctx, nil)
	if err != nil {
		if ctx.Err() != nil {
			return none, ctx.Err()
		}
		return none, refused
	}
	v, err := request(session)
	if errors.Is(err, mcp.ErrSessionMissing) {
		if session, err = c.connect(ctx, session); err == nil {
			v, err = request(session)
		}
	}
	var e *sdk.Error
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		return none, ctx.Err()
	case errors.As(err, &e):
		return none, &Error{Code: int(e.Code), Message: e.Message, Data: e.Data}
	}
	return none, &UnreachableError{Endpoint: c.endpoint, Err: err}
}

func (c *Client) callOlder(ctx context.Context, refused error, tool string, arguments json.RawMessage, w Watch) (Outcome, error) {
	params := &mcp.CallToolParams{Name: tool}
	if arguments != nil {
		params.Arguments = arguments
	}
	if w.Progress != nil {
		token := "call " + strconv.FormatInt(c.ids.Add(1), 10)
		params.SetProgressToken(token)
		c.legacy.listeners.Store(token, func(p *mcp.ProgressNotificationParams) { w.Progress(p.Progress, p.Total, p.Message) })
		defer c.legacy.listeners.Delete(token)
	}
	return inOlder(ctx, c, refused, func(s *mcp.ClientSession) (Outcome, error) {
		result, err := s.CallTool(ctx, params)
		if err != nil {
			return Outcome{}, err
		}
		raw, err := json.Marshal(result)
		return Outcome{Result: raw}, err
	})
}

func (c *Client) listOlder(ctx context.Context, refused error) ([]Tool, error) {
	return inOlder(ctx, c, refused, func(s *mcp.ClientSession) ([]Tool, error) {
		var tools []Tool
		for listed, err := range s.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			raw, err := json.Marshal(listed)
			if err != nil {
				return nil, err
			}
			t := Tool{Raw: raw}
			if err := json.Unmarshal(raw, &t); err != nil {
				return nil, err
			}
			tools = append(tools, t)
		}
		return tools, nil
	})
}

// Close ends the session that an older server may keep. Other servers keep
// nothing, and need no Close.
func (c *Client) Close() error {
	o := &c.legacy
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.session == nil {
		return nil
	}
	err := o.session.Close()
	o.session = nil
	return err
}
