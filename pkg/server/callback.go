package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/queue"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// errCallback is the one answer to a token that is none, and to one whose task is
// gone, expired, over, or another by now.
var errCallback = fault.New(fault.NotFound, "server.Callback", "Unknown callback")

// Callback takes an outside job's answer for the task that the token names: JSON,
// where no bytes are null. Who holds the token may answer, once. The status is
//
//	204  taken; also for the same body again, as long as the tool has not seen it
//	400  not JSON
//	404  unknown, or too late
//	409  answered before
//	413  too large; the limit is that of an answer to a question
//	429  to be tried again, as 500 may be
//
// and an error's body is a JSON object with "error", a sentence.
func (s *Server) Callback(ctx context.Context, token string, body io.Reader) (response Response) {
	defer func() {
		if defect := recover(); defect != nil {
			response = s.refuseCallback(ctx, panicked(defect))
		}
	}()
	answer, err := s.readCallback(body)
	if err == nil {
		err = s.resolve(ctx, token, answer)
	}
	if err != nil {
		return s.refuseCallback(ctx, err)
	}
	return Response{Status: http.StatusNoContent}
}

// readCallback comes before all that depends on the token: it says nothing about it.
func (s *Server) readCallback(body io.Reader) (json.RawMessage, error) {
	const op = "server.Callback"
	most := s.limits.MaxAnswer
	answer, err := io.ReadAll(io.LimitReader(body, int64(most)+1))
	switch {
	case err != nil:
		return nil, fault.New(fault.Invalid, op, "The body could not be read")
	case len(answer) > most:
		return nil, fault.New(fault.TooLarge, op, "The body is larger than %d bytes", most)
	}
	if answer = bytes.TrimSpace(answer); len(answer) == 0 {
		return json.RawMessage("null"), nil
	}
	if !jsontext.Value(answer).IsValid() {
		return nil, fault.New(fault.Invalid, op, "The body is not JSON")
	}
	return answer, nil
}

// resolve saves the answer, and then sends the wake-up if the task waited for it.
// While a worker runs the task nothing is sent: it finds the answer when it
// comes to wait for it.
func (s *Server) resolve(ctx context.Context, token string, answer json.RawMessage) error {
	c, ours := s.callbacks.Open(token)
	if !ours {
		return errCallback
	}
	t, err := s.store.Load(ctx, c.TaskID)
	switch {
	case err != nil:
		return err
	case t.Birth != c.Birth: // invariant 4
		return errCallback
	}
	ctx, done := lasting(ctx)
	defer done()
	now, sum, awaited := s.clock.Now(), sha256.Sum256(answer), false
	t, err = store.Update(ctx, s.store, t, func(t task.Task) (task.Task, error) {
		awaited = t.Awaiting == c.Name
		return task.Resolve(t, c.Name, task.NewPayload(answer), hex.EncodeToString(sum[:]), now)
	})
	switch {
	case fault.Is(err, fault.Conflict):
		return fault.New(fault.Conflict, "server.Callback", "This callback was answered before")
	case unchanged(err):
		// Again, perhaps because the first one died before it sent the wake-up
		// (invariant 2); or too late.
		if t.Status.Terminal() {
			return errCallback
		}
		awaited = t.Unheard(c.Name, now)
	case err != nil:
		return err
	}
	if !awaited {
		return nil
	}
	return s.wake(ctx, t, queue.Resolved)
}

// refuseCallback is refuse for callers that speak no JSON-RPC. Neither the token
// nor the path goes to the log.
func (s *Server) refuseCallback(ctx context.Context, err error) Response {
	r, message := Response{}, fault.Message(err)
	switch fault.KindOf(err) {
	case fault.Invalid:
		r.Status = http.StatusBadRequest
	case fault.NotFound:
		r.Status, message = http.StatusNotFound, fault.Message(errCallback)
	case fault.Conflict:
		r.Status = http.StatusConflict
	case fault.TooLarge:
		r.Status = http.StatusRequestEntityTooLarge
	case fault.Busy:
		r.Status, r.RetryAfter, message = http.StatusTooManyRequests, retryAfter, "The server is busy, please try again"
	default:
		r.Status, message = http.StatusInternalServerError, s.hidden(ctx, "callback", err)
	}
	r.Body = jsonrpc.Encode(struct {
		Error string `json:"error"`
	}{message})
	return r
}
