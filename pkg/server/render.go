package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// retryAfter is when a throttled client may come again.
const retryAfter = time.Second

// placed is an error whose HTTP status does not follow from its code.
type placed struct {
	err    *jsonrpc.Error
	status int
}

func (p placed) Error() string { return p.err.Error() }
func (p placed) Unwrap() error { return p.err }

// byTool is the error that a tool ended its call with. Its code is the tool's and
// says nothing about the request.
func byTool(e *jsonrpc.Error) error { return placed{protocol.ToolError(e), http.StatusOK} }

// noMethod is the error for a method that does not exist here.
func noMethod(name string) error {
	return placed{jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found: %s", clip(name)), http.StatusNotFound}
}

// clip keeps what a client sent short in an error.
func clip(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// panicked is a defect of ours as an error; the log gets the stack.
func panicked(defect any) error {
	return fault.Wrap(fault.Internal, "server.Handle", fmt.Errorf("panic: %v\n%s", defect, debug.Stack()))
}

// refuse is the one place where an error becomes a response: its JSON-RPC error
// and its HTTP status. Internals go to the log under a reference that the client
// is given (R-V4).
func (s *Server) refuse(ctx context.Context, c *call, err error) Response {
	e := s.shown(ctx, c, err)
	r := Response{Status: status(e, err, c)}
	if r.Status == http.StatusTooManyRequests {
		r.RetryAfter = retryAfter
		var over quotaError
		if errors.As(err, &over) {
			r.RetryAfter = over.after
		}
	}
	var lacking scopeError
	if errors.As(err, &lacking) {
		r.Scopes = lacking.scopes
	}
	numbered := *e
	numbered.Code = protocol.Code(c.revision, e.Code)
	r.Body = jsonrpc.Failure(c.message.ID, &numbered)
	return r
}

// shown is the JSON-RPC error that the client sees for err.
func (s *Server) shown(ctx context.Context, c *call, err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	message := fault.Message(err)
	switch fault.KindOf(err) {
	case fault.Invalid, fault.TooLarge:
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s", or(message, "Invalid params"))
	case fault.NotFound:
		return errUnknownTask
	case fault.Busy:
		return jsonrpc.Errorf(jsonrpc.CodeInternal, "The server is busy, please try again")
	}
	return jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", s.hidden(ctx, c.message.Method, err))
}

// hidden logs an internal error, and is what the client sees of it (R-V4).
func (s *Server) hidden(ctx context.Context, method string, err error) string {
	reference, level := rand.Text()[:12], slog.LevelError
	if ctx.Err() != nil {
		level = slog.LevelInfo // the client went away, or its time was up
	}
	s.log.LogAttrs(ctx, level, "request failed",
		slog.String("reference", reference), slog.String("method", method), slog.String("error", err.Error()))
	return fmt.Sprintf("Internal error (reference %s)", reference)
}

// status is the HTTP status of an error (requirements: HTTP status). Legacy
// clients take most others for the end of their session.
func status(e *jsonrpc.Error, err error, c *call) int {
	var p placed
	var lacking scopeError
	switch {
	case errors.As(err, &lacking):
		return lacking.status // a legacy client, too, may get another token
	case fault.Is(err, fault.Busy):
		return http.StatusTooManyRequests
	case c.legacy && c.dispatched:
		return http.StatusOK
	case errors.As(err, &p):
		return p.status
	case e.Code == jsonrpc.CodeInvalidParams && c.dispatched, e.Code == jsonrpc.CodeInternal:
		return http.StatusOK
	}
	return http.StatusBadRequest
}

// succeed is the response that carries a result, which gets the server's name if
// the revision has a place for it.
func (s *Server) succeed(ctx context.Context, c *call, result any) Response {
	raw, encoded := result.(json.RawMessage)
	if !encoded {
		raw = jsonrpc.Encode(result)
	}
	if c.legacy {
		return Response{Status: http.StatusOK, Body: jsonrpc.Result(c.message.ID, raw)}
	}
	stamped, err := protocol.Stamp(raw, s.info)
	if err != nil {
		return s.refuse(ctx, c, fault.Wrap(fault.Internal, "server.succeed", err))
	}
	return Response{Status: http.StatusOK, Body: jsonrpc.Result(c.message.ID, stamped)}
}
