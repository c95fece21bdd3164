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
	"net/url"
	"strconv"
	"strings"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// maxAnswer bounds what is read of an answer: more than any result may have.
const maxAnswer = 16 << 20

// message is a JSON-RPC message from the server.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc.Error  `json:"error"`
}

// answers reports whether m is the answer to the request. An error has no id if
// the server could read none.
func (m message) answers(id int64) bool {
	if m.Error != nil && (m.ID == nil || string(m.ID) == "null") {
		return true
	}
	return (m.Result != nil || m.Error != nil) && string(m.ID) == strconv.FormatInt(id, 10)
}

// send makes one attempt in a modern revision: the request says all that there
// is to know of it.
func (c *Client) send(ctx context.Context, x exchange, id int64, revision string) (json.RawMessage, error) {
	params := clone(x.params)
	params["_meta"] = c.meta(id, x, revision)
	header := http.Header{}
	header.Set(protocol.HeaderVersion, revision)
	header.Set(protocol.HeaderMethod, x.method)
	if x.name != nil {
		header.Set(protocol.HeaderName, protocol.EncodeHeader(*x.name))
	}
	for name, value := range x.header {
		header.Set(name, value)
	}
	result, _, err := c.post(ctx, header, id, request(id, x.method, params), func(m message) {
		if x.notify != nil {
			x.notify(m.Method, m.Params)
		}
	})
	return result, err
}

// request is a JSON-RPC request.
func request(id int64, method string, params map[string]any) json.RawMessage {
	return jsonrpc.Encode(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

// trail is what is known of an answer besides its message.
type trail struct {
	header http.Header
	mark   mark
}

// post sends a request and returns its result, or the error that was answered.
// hear gets the messages that come before it.
func (c *Client) post(ctx context.Context, header http.Header, id int64, body []byte, hear func(message)) (json.RawMessage, trail, error) {
	resp, err := c.open(ctx, http.MethodPost, header, body)
	if err != nil {
		return nil, trail{}, err
	}
	return c.receive(ctx, resp, id, "", hear)
}

// open sends an HTTP request.
func (c *Client) open(ctx context.Context, method string, header http.Header, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &UnreachableError{Endpoint: c.endpoint, Err: err}
	}
	req.Header = header.Clone()
	switch method {
	case http.MethodPost:
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		req.Header.Set("Accept", "text/event-stream")
	}
	resp, err := c.opts.HTTP.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	return resp, nil
}

// receive reads the answer to the request with the id, and closes it. event is
// the last one that came of an earlier part of the stream; "" if there was none.
func (c *Client) receive(ctx context.Context, resp *http.Response, id int64, event string, hear func(message)) (json.RawMessage, trail, error) {
	defer resp.Body.Close()
	way := trail{resp.Header, mark{event: event}}
	m, err := read(resp, id, &way.mark, hear)
	var broken *brokenError
	switch {
	case errors.As(err, &broken):
		return nil, way, c.unreachable(ctx, broken)
	case err != nil:
		return nil, way, &UnreachableError{Endpoint: c.endpoint, Status: resp.StatusCode, Err: err, retryAfter: c.retryAfter(resp.Header)}
	}
	c.answered.Store(true)
	if m.Error != nil {
		return nil, way, &Error{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data,
			Status: resp.StatusCode, retryAfter: c.retryAfter(resp.Header)}
	}
	return m.Result, way, nil
}

// unreachable says why no whole answer came.
func (c *Client) unreachable(ctx context.Context, err error) error {
	var u *url.Error // it repeats the endpoint
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &u):
		err = u.Err
	}
	return &UnreachableError{Endpoint: c.endpoint, Err: err}
}

// brokenError is an answer that broke off, unlike one that is wrong.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// read reads the answer to the request with the id.
func read(resp *http.Response, id int64, at *mark, hear func(message)) (message, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return readStream(resp.Body, id, at, hear)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return message{}, &brokenError{err}
	case len(b) > maxAnswer:
		return message{}, errTooLarge
	}
	var m message
	if err := json.Unmarshal(b, &m); err != nil || !m.answers(id) {
		return message{}, foreign(resp, kind, b)
	}
	return m, nil
}

var errTooLarge = fmt.Errorf("the answer is larger than %d bytes", maxAnswer)

// foreign describes an answer that no MCP server gives.
func foreign(resp *http.Response, kind string, body []byte) error {
	if to := resp.Header.Get("Location"); to != "" {
		return fmt.Errorf("HTTP %s to %s", resp.Status, to)
	}
	what := "without a media type"
	if kind != "" {
		what = "with " + kind
	}
	if kind != "text/html" {
		if text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "")), " "); text != "" {
			what += fmt.Sprintf(": %.120q", text)
		}
	}
	return fmt.Errorf("HTTP %s %s", resp.Status, what)
}
