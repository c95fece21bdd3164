package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"toolhost/pkg/clock"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// Options configure a Client. The zero value works.
type Options struct {
	// HTTP sends the requests; nil means http.DefaultClient.
	HTTP *http.Client
	// Name and Version introduce the caller to the server.
	Name, Version string
	// Revision is the protocol revision to speak; "" means 2026-07-28.
	Revision string
	// Clock paces polls; nil means the machine's.
	Clock clock.Clock
	// Answerer answers the tools' questions. Without one the client declares that
	// it can't be asked.
	Answerer Answerer
	// Tries is how often a request that is safe to repeat is sent; 0 means 4.
	Tries uint
}

// Client calls tools at one endpoint. It is safe for concurrent use.
type Client struct {
	endpoint string
	opts     Options
	ids      atomic.Int64
}

// New makes a client for an MCP endpoint, such as http://127.0.0.1:8080/mcp.
func New(endpoint string, o Options) *Client {
	if o.HTTP == nil {
		o.HTTP = http.DefaultClient
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

// Error is a JSON-RPC error that the server answered with.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage
	// Status is the HTTP status it came with.
	Status int
}

func (e *Error) Error() string { return e.Message }

// UnreachableError means that no answer of an MCP server was had.
type UnreachableError struct {
	Endpoint string
	Err      error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no MCP server answers at %s: %v", e.Endpoint, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// exchange is one request and what is to be done with its answer.
type exchange struct {
	method string
	// name goes into the Mcp-Name header: a tool's name or a task's id.
	name   string
	params map[string]any
	// repeat says that the request may be sent again if its fate is unknown.
	repeat bool
	// notify receives the notifications on the request's own stream.
	notify func(method string, params json.RawMessage)
}

// do sends the request and returns its result.
func (c *Client) do(ctx context.Context, x exchange) (json.RawMessage, error) {
	params := map[string]any{}
	for k, v := range x.params {
		params[k] = v
	}
	params["_meta"] = c.meta(x)
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": c.ids.Add(1), "method": x.method, "params": params,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", x.method, err)
	}
	tries := uint(1)
	if x.repeat {
		tries = c.opts.Tries
	}
	return backoff.Retry(ctx, func() (json.RawMessage, error) {
		result, err := c.send(ctx, x, body)
		if err == nil || ctx.Err() != nil || !passing(err) {
			if err != nil {
				err = backoff.Permanent(err)
			}
			return result, err
		}
		return nil, err
	}, backoff.WithMaxTries(tries))
}

// passing reports whether the same request may succeed later.
func passing(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Status == http.StatusTooManyRequests || e.Status >= 500
	}
	var u *UnreachableError
	return errors.As(err, &u)
}

func (c *Client) meta(x exchange) map[string]any {
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
		meta["progressToken"] = strconv.FormatInt(c.ids.Load(), 10) + "p"
	}
	return meta
}

// send makes one attempt.
func (c *Client) send(ctx context.Context, x exchange, body []byte) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &UnreachableError{c.endpoint, err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(protocol.HeaderVersion, c.opts.Revision)
	req.Header.Set(protocol.HeaderMethod, x.method)
	if x.name != "" {
		req.Header.Set(protocol.HeaderName, protocol.EncodeHeader(x.name))
	}
	resp, err := c.opts.HTTP.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &UnreachableError{c.endpoint, err}
	}
	defer resp.Body.Close()
	answer, err := c.read(resp, x)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	if answer.Error != nil {
		e := &Error{Code: answer.Error.Code, Message: answer.Error.Message, Data: answer.Error.Data, Status: resp.StatusCode}
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && passing(e) && s <= 60 {
			select {
			case <-ctx.Done():
			case <-after(c.opts.Clock, time.Duration(s)*time.Second):
			}
		}
		return nil, e
	}
	return answer.Result, nil
}

func after(c clock.Clock, d time.Duration) <-chan time.Time {
	t, _ := c.After(d)
	return t
}

// response is a JSON-RPC message from the server.
type response struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc.Error  `json:"error"`
}

// maxAnswer bounds what is read of an answer: more than any result may have.
const maxAnswer = 16 << 20

func (c *Client) read(resp *http.Response, x exchange) (response, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return readStream(resp.Body, x.notify)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return response{}, &UnreachableError{c.endpoint, err}
	}
	var r response
	if err := json.Unmarshal(b, &r); err != nil || r.Result == nil && r.Error == nil {
		return response{}, &UnreachableError{c.endpoint, fmt.Errorf("HTTP %s, which is no JSON-RPC answer", resp.Status)}
	}
	return r, nil
}
