package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// Watch says whom to tell what happens during a call; every field may be nil.
type Watch struct {
	// Task is told each state of the task that differs from the last one, the
	// first and the terminal one included.
	Task func(Task)
	// Progress is told the progress of a call that is not a task. total is 0 if it
	// is not known.
	Progress func(done, total float64, message string)
}

func (w Watch) tell(t Task) {
	if w.Task != nil {
		w.Task(t)
	}
}

// Outcome is what came of a tools/call: a result, or a task to wait for.
type Outcome struct {
	// Result is a CallToolResult; nil if there is a task.
	Result json.RawMessage
	Task   *Task
}

// maxRounds bounds how often one call may ask before it runs.
const maxRounds = 32

// Call calls a tool and stays with it to its result, a CallToolResult. arguments is a JSON object,
// or nil. If ctx ends first, a task that was made goes on, unless Options.CancelOnEnd says otherwise; Watch.Task
// has told its id.
func (c *Client) Call(ctx context.Context, tool string, arguments json.RawMessage, w Watch) (json.RawMessage, error) {
	o, err := c.Start(ctx, tool, arguments, w)
	if err != nil || o.Task == nil {
		return o.Result, err
	}
	result, err := c.wait(ctx, *o.Task, w)
	if c.opts.CancelOnEnd && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		brief, done := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer done()
		err = errors.Join(err, c.Cancel(brief, o.Task.ID))
	}
	return result, err
}

// Start calls a tool, answers what it asks before it runs, and returns the
// result or the task as soon as there is one.
func (c *Client) Start(ctx context.Context, tool string, arguments json.RawMessage, w Watch) (Outcome, error) {
	x := exchange{method: protocol.MethodToolsCall, name: &tool, call: true, notify: w.notify(), params: map[string]any{"name": tool}}
	if arguments != nil {
		if !json.Valid(arguments) {
			return Outcome{}, errors.New("the arguments are not JSON")
		}
		x.params["arguments"] = arguments
	}
	for range maxRounds {
		raw, err := c.callOnce(ctx, x, arguments)
		if err != nil {
			return Outcome{}, err
		}
		var r struct {
			ResultType    string          `json:"resultType"`
			InputRequests Questions       `json:"inputRequests"`
			RequestState  json.RawMessage `json:"requestState"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return Outcome{}, fmt.Errorf("the result can't be read: %w", err)
		}
		switch r.ResultType {
		case protocol.ResultTask:
			t, err := readTask(raw)
			if err != nil {
				return Outcome{}, err
			}
			w.tell(t)
			return Outcome{Task: &t}, nil
		case protocol.ResultInputRequired:
			if err := c.nextRound(ctx, x.params, r.InputRequests, r.RequestState); err != nil {
				return Outcome{}, err
			}
		default:
			return Outcome{Result: raw}, nil
		}
	}
	return Outcome{}, fmt.Errorf("%s asked more than %d times", tool, maxRounds)
}

// callOnce sends the call with the headers that mirror its arguments. If the
// server misses one, the tool was listed long ago or never: list it, and send the
// call, of which nothing has begun, once more.
func (c *Client) callOnce(ctx context.Context, x exchange, arguments json.RawMessage) (json.RawMessage, error) {
	x.header = c.headers(*x.name, arguments)
	raw, err := c.do(ctx, x)
	var e *Error
	if !errors.As(err, &e) || e.Code != protocol.Code(c.spoken(), protocol.CodeHeaderMismatch) {
		return raw, err
	}
	if _, listing := c.Tools(ctx); listing != nil {
		return nil, err
	}
	x.header = c.headers(*x.name, arguments)
	return c.do(ctx, x)
}

// nextRound answers the questions of a round and puts the answers, and the state
// exactly as the server gave it, into the params of the next one.
func (c *Client) nextRound(ctx context.Context, params map[string]any, asked Questions, state json.RawMessage) error {
	delete(params, "inputResponses")
	delete(params, "requestState")
	if state != nil {
		params["requestState"] = state
	}
	if len(asked) == 0 {
		if state == nil {
			return errors.New("the server wants another round of the call, and asks nothing")
		}
		return c.pause(ctx, limits.PollInterval)
	}
	responses := map[string]json.RawMessage{}
	for _, q := range asked {
		response, err := c.answer(ctx, q)
		if err != nil {
			return err
		}
		responses[q.Key] = response
	}
	params["inputResponses"] = responses
	return nil
}

// notify hands progress notifications on.
func (w Watch) notify() func(string, json.RawMessage) {
	if w.Progress == nil {
		return nil
	}
	return func(method string, raw json.RawMessage) {
		var p struct {
			Progress float64 `json:"progress"`
			Total    float64 `json:"total"`
			Message  string  `json:"message"`
		}
		if method == protocol.NotificationProgress && json.Unmarshal(raw, &p) == nil {
			w.Progress(p.Progress, p.Total, p.Message)
		}
	}
}
