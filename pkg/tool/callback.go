package tool

import (
	"context"
	"encoding/json"
)

// maxCallbacks is how many callbacks one call may make.
const maxCallbacks = 64

// Callback is where an outside job says, once, what came of it. It is the same
// whenever the call's handler runs again.
type Callback struct {
	Name string
	// URL takes the job's word: a POST of JSON (an empty body is null). 204 means
	// taken; the same body may be sent again until the call has seen it. Final are
	// 409, answered before; 404, too late, as the call is over; 400, not JSON; and
	// 413, too large. Anything else is to be tried again. The URL is the right to
	// answer: treat it as a secret.
	URL string
	// Token is the URL's last part, for a job that makes the URL itself.
	Token string
}

// NewCallback makes a callback under a name that is unique within the tool.
// Hand its URL to the job that is to answer, then wait for it:
//
//	done, err := tool.NewCallback(ctx, "render")
//	if err != nil { … }
//	_, err = tool.Step(ctx, "start", func(ctx context.Context) (string, error) { return startRender(ctx, in.Film, done.URL) })
//	if err != nil { … }
//	film, err := tool.Await[Film](ctx, done)   // suspends: nothing runs meanwhile
//
// It fails in a call without a task, and inside a step.
func NewCallback(ctx context.Context, name string) (Callback, error) {
	w, err := current(ctx, "NewCallback")
	if err != nil {
		return Callback{}, err
	}
	r := w.run
	switch {
	case w.step != "":
		return Callback{}, r.refuse("tool.NewCallback %q was called inside the step %q: make it before the step that uses it.", name, w.step)
	case !isRecordName(name):
		return Callback{}, r.refuse("tool.NewCallback was called with the name %q: want 1 to %d bytes of text without ~ or control characters.", name, maxName)
	case r.call.Steps == nil:
		return Callback{}, r.refuse("The tool waits for the callback %q, which needs a task.", name)
	case r.call.Callback == nil:
		return Callback{}, r.refuse("The tool waits for the callback %q, but this server has no public URL.", name)
	}
	r.mu.Lock()
	taken, count, ended := r.callbacks[name], len(r.callbacks), r.ended
	if !ended {
		r.callbacks[name] = true
	}
	r.mu.Unlock()
	switch {
	case ended:
		return Callback{}, errEnded
	case taken:
		return Callback{}, r.refuse("tool.NewCallback was called twice with the name %q in one run: each needs its own.", name)
	case count >= maxCallbacks:
		return Callback{}, r.refuse("The tool makes more than %d callbacks.", maxCallbacks)
	}
	url, token := r.call.Callback(name)
	return Callback{Name: name, URL: url, Token: token}, nil
}

// Wait returns the JSON that was posted to the callback. Until there is some, it
// suspends the call. What is posted before the tool waits is kept for it. Several
// callbacks are waited for one after the other.
func (c Callback) Wait(ctx context.Context) (json.RawMessage, error) {
	w, err := current(ctx, "Wait")
	if err != nil {
		return nil, err
	}
	r := w.run
	if w.step != "" {
		return nil, r.refuse("The callback %q was waited for inside the step %q: a step waits for nothing.", c.Name, w.step)
	}
	r.mu.Lock()
	made := r.callbacks[c.Name]
	body, there := r.call.Callbacks[c.Name]
	if made && !there {
		r.suspended = true
		if r.awaits == "" {
			r.awaits = c.Name
		}
	}
	r.mu.Unlock()
	switch {
	case !made:
		return nil, r.refuse("The callback %q was waited for, but not made in this run: see tool.NewCallback.", c.Name)
	case !there:
		return nil, &suspension{"it waits for a callback"}
	}
	return body, nil
}

// Await is Wait for a body that is decoded into a T. One that does not fit is a
// *MisfitError; the job was told that it had arrived.
func Await[T any](ctx context.Context, c Callback) (T, error) {
	var value T
	body, err := c.Wait(ctx)
	if err != nil {
		return value, err
	}
	if err := json.Unmarshal(body, &value); err != nil {
		return *new(T), &MisfitError{c.Name, err.Error()}
	}
	return value, nil
}
