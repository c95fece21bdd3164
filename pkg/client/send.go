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

// send makes one attempt.
func (c *Client) send(ctx context.Context, x exchange, id int64, body []byte) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &UnreachableError{Endpoint: c.endpoint, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set(protocol.HeaderVersion, c.opts.Revision)
	req.Header.Set(protocol.HeaderMethod, x.method)
	if x.name != nil {
		req.Header.Set(protocol.HeaderName, protocol.EncodeHeader(*x.name))
	}
	for name, value := range x.header {
		req.Header.Set(name, value)
	}
	resp, err := c.opts.HTTP.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	defer resp.Body.Close()
	m, err := read(resp, id, x.notify)
	var broken *brokenError
	switch {
	case errors.As(err, &broken):
		return nil, c.unreachable(ctx, broken.error)
	case err != nil:
		return nil, &UnreachableError{Endpoint: c.endpoint, Status: resp.StatusCode, Err: err, retryAfter: c.retryAfter(resp.Header)}
	}
	c.answered.Store(true)
	if m.Error != nil {
		return nil, &Error{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data,
			Status: resp.StatusCode, retryAfter: c.retryAfter(resp.Header)}
	}
	return m.Result, nil
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

// read reads the answer to the request with the id.
func read(resp *http.Response, id int64, notify func(string, json.RawMessage)) (message, error) {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return readStream(resp.Body, id, notify)
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
