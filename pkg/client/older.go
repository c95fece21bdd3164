package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

const (
	headerSession = "Mcp-Session-Id"
	headerEvent   = "Last-Event-ID"
	// maxServed is how many requests of the server are served at once.
	maxServed = 16
	// farewell is what a word to a server may take that nobody waits for the effect of.
	farewell = 5 * time.Second
)

// session is what was agreed on with a server that begins with initialize.
type session struct {
	id       string // "" if the server keeps none
	revision string
	// tasks says that the server makes tasks of calls, of those tools that say so.
	tasks bool
}

func (s *session) header() http.Header {
	h := http.Header{}
	h.Set(protocol.HeaderVersion, s.revision)
	if s.id != "" {
		h.Set(headerSession, s.id)
	}
	return h
}

// agree returns the session, a new one if there is none or lost is it.
func (c *Client) agree(ctx context.Context, lost *session) (*session, error) {
	select {
	case c.agreeing <- struct{}{}:
		defer func() { <-c.agreeing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.session != nil && c.session != lost {
		return c.session, nil
	}
	s, err := c.initialize(ctx)
	if err == nil {
		c.session = s
	}
	return s, err
}

func (c *Client) initialize(ctx context.Context) (*session, error) {
	asked := protocol.Legacy[0]
	if protocol.IsLegacy(c.opts.Revision) {
		asked = c.opts.Revision
	}
	capabilities := map[string]any{}
	if c.opts.Answerer != nil {
		capabilities["elicitation"] = elicitation
	}
	id := c.ids.Add(1)
	raw, way, err := c.post(ctx, http.Header{}, id, request(id, protocol.MethodInitialize, map[string]any{
		"protocolVersion": asked, "capabilities": capabilities, "clientInfo": c.info(),
	}), func(message) {})
	if err != nil {
		return nil, err
	}
	var agreed struct {
		ProtocolVersion string `json:"protocolVersion"`
		Capabilities    struct {
			Tasks struct {
				Requests struct {
					Tools struct {
						Call *struct{} `json:"call"`
					} `json:"tools"`
				} `json:"requests"`
			} `json:"tasks"`
		} `json:"capabilities"`
	}
	if err := json.Unmarshal(raw, &agreed); err != nil {
		return nil, fmt.Errorf("the server answered %s with a result that can't be read: %w", protocol.MethodInitialize, err)
	}
	if !protocol.IsLegacy(agreed.ProtocolVersion) {
		return nil, fmt.Errorf("the server speaks MCP %q, which is not known here", agreed.ProtocolVersion)
	}
	s := &session{id: way.header.Get(headerSession), revision: agreed.ProtocolVersion}
	s.tasks = s.revision >= protocol.Revision20251125 && agreed.Capabilities.Tasks.Requests.Tools.Call != nil
	return s, c.tell(ctx, s, http.MethodPost, jsonrpc.Notification("notifications/initialized", json.RawMessage("{}")))
}

// tell sends what has no answer.
func (c *Client) tell(ctx context.Context, s *session, method string, body []byte) error {
	resp, err := c.open(ctx, method, s.header(), body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return &UnreachableError{Endpoint: c.endpoint, Status: resp.StatusCode, Err: fmt.Errorf("HTTP %s", resp.Status)}
	}
	return nil
}

// sendOlder makes one attempt in the session, or in a new one if the server has
// forgotten it: then it has not looked at the request.
func (c *Client) sendOlder(ctx context.Context, x exchange, id int64) (json.RawMessage, error) {
	s, err := c.agree(ctx, nil)
	if err != nil {
		return nil, err
	}
	result, err := c.ask(ctx, s, x, id)
	if s.id != "" && status(err) == http.StatusNotFound {
		if s, err = c.agree(ctx, s); err == nil {
			result, err = c.ask(ctx, s, x, id)
		}
	}
	return result, err
}

// status is the HTTP status of an error; 0 if it came with none.
func status(err error) int {
	var (
		refused     *Error
		unreachable *UnreachableError
	)
	switch {
	case errors.As(err, &refused):
		return refused.Status
	case errors.As(err, &unreachable):
		return unreachable.Status
	}
	return 0
}

// ask makes a request, and serves those that the server makes meanwhile. The
// result is in the shapes of the newer revisions.
func (c *Client) ask(ctx context.Context, s *session, x exchange, id int64) (json.RawMessage, error) {
	params := clone(x.params)
	if x.notify != nil {
		params["_meta"] = map[string]any{protocol.MetaProgressToken: id}
	}
	if x.method == protocol.MethodToolsCall && s.tasks && c.makesTask(ctx, *x.name) {
		params["task"] = map[string]any{}
	}
	asking, stop := context.WithCancel(ctx)
	var serving errgroup.Group
	serving.SetLimit(maxServed)
	result, err := c.follow(asking, s, id, request(id, x.method, params), func(m message) {
		switch {
		case m.ID != nil:
			serving.Go(func() error {
				err := c.serve(asking, s, m)
				if err != nil {
					stop()
				}
				return err
			})
		case x.notify != nil:
			x.notify(m.Method, m.Params)
		}
	})
	left := err != nil && asking.Err() != nil
	if err == nil || x.method == protocol.MethodToolsCall {
		stop() // else it comes to an end elsewhere: what is open is answered, lest it be asked again
	}
	defer stop()
	if unserved := serving.Wait(); unserved != nil {
		err = unserved
	}
	if left && x.method == protocol.MethodToolsCall && params["task"] == nil {
		// That its stream ends says nothing to an older server.
		brief, done := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer done()
		_ = c.tell(brief, s, http.MethodPost, jsonrpc.Notification(protocol.NotificationCancelled, jsonrpc.Encode(map[string]any{"requestId": id})))
	}
	switch {
	case err != nil:
		return nil, err
	case params["task"] != nil:
		return newerCreation(result)
	}
	return result, nil
}

// follow sends a request and stays with its stream, also where the server lets it
// go on after it broke off.
func (c *Client) follow(ctx context.Context, s *session, id int64, body []byte, hear func(message)) (json.RawMessage, error) {
	result, way, err := c.post(ctx, s.header(), id, body, hear)
	pause := backoff.NewExponentialBackOff()
	var broken *brokenError
	for idle := uint(0); errors.As(err, &broken) && way.mark.event != "" && idle < c.opts.Tries; idle++ {
		if err := c.pause(ctx, max(way.mark.pause, pause.NextBackOff())); err != nil {
			return nil, err
		}
		header := s.header()
		header.Set(headerEvent, way.mark.event)
		resp, failed := c.open(ctx, http.MethodGet, header, nil)
		if failed != nil {
			continue
		}
		last := way.mark.event
		again, further, failed := c.receive(ctx, resp, id, last, hear)
		if status(failed) >= http.StatusMultipleChoices {
			return nil, err // that it broke off is what there is to say
		}
		if result, way, err = again, further, failed; way.mark.event != last {
			idle = 0
			pause.Reset()
		}
	}
	return result, err
}

// serve answers a request of the server. Its error ends what asked: the
// Answerer's, or that the answer did not get through. A question that is no longer
// open needs neither.
func (c *Client) serve(ctx context.Context, s *session, m message) error {
	reply := func(message []byte) error {
		if err := c.tell(ctx, s, http.MethodPost, message); err != nil && ctx.Err() == nil {
			return err
		}
		return nil
	}
	switch m.Method {
	case protocol.MethodPing:
		return reply(jsonrpc.Result(m.ID, json.RawMessage("{}")))
	case protocol.MethodElicit:
		response, err := c.answer(ctx, Question{Method: m.Method, Params: m.Params})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return errors.Join(err, reply(jsonrpc.Failure(m.ID, jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", err))))
		}
		return reply(jsonrpc.Result(m.ID, response))
	}
	return reply(jsonrpc.Failure(m.ID, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", m.Method)))
}

// Close ends the session that an older server may keep. Other servers keep
// nothing, and need no Close.
func (c *Client) Close() error {
	c.agreeing <- struct{}{}
	defer func() { <-c.agreeing }()
	s := c.session
	c.session = nil
	if s == nil || s.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	err := c.tell(ctx, s, http.MethodDelete, nil)
	if code := status(err); code == http.StatusMethodNotAllowed || code == http.StatusNotFound {
		return nil // it ends sessions by itself, or has ended this one
	}
	return err
}
