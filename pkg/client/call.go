package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// Answerer answers one question of a tool with the JSON of its result, such as
// {"action":"accept","content":{…}}. An error ends the call; the task lives on.
type Answerer func(ctx context.Context, key string, q Question) (json.RawMessage, error)

// Watch says whom to tell what happens during a call; every field may be nil.
type Watch struct {
	// Task is told each state of the task that differs from the last one.
	Task func(Task)
	// Progress is told the progress of a call that is not a task.
	Progress func(done, total float64, message string)
}

// ErrCancelled means that the task was cancelled.
var ErrCancelled = errors.New("the task was cancelled")

// FailedError means that the task failed with a JSON-RPC error.
type FailedError struct {
	TaskID  string
	Code    int
	Message string
	Data    json.RawMessage
}

func (e *FailedError) Error() string { return e.Message }

// Outcome is what came of a tools/call: a result, or a task to wait for.
type Outcome struct {
	// Result is a CallToolResult; nil if there is a task.
	Result json.RawMessage
	Task   *Task
}

// maxRounds bounds how often one call may ask before it runs.
const maxRounds = 20

// Call calls a tool and stays with it to its result, a CallToolResult as JSON.
// arguments is a JSON object, or nil. If ctx ends first a task that was made
// goes on; Watch.Task has told its id.
func (c *Client) Call(ctx context.Context, tool string, arguments json.RawMessage, w Watch) (json.RawMessage, error) {
	o, err := c.Start(ctx, tool, arguments, w)
	if err != nil || o.Task == nil {
		return o.Result, err
	}
	return c.wait(ctx, *o.Task, w)
}

// Start calls a tool, answers what it asks before it runs, and returns the
// result or the task as soon as there is one.
func (c *Client) Start(ctx context.Context, tool string, arguments json.RawMessage, w Watch) (Outcome, error) {
	params := map[string]any{"name": tool}
	if arguments != nil {
		params["arguments"] = arguments
	}
	var notify func(string, json.RawMessage)
	if w.Progress != nil {
		notify = func(method string, raw json.RawMessage) {
			var p struct {
				Progress, Total float64
				Message         string
			}
			if method == protocol.NotificationProgress && json.Unmarshal(raw, &p) == nil {
				w.Progress(p.Progress, p.Total, p.Message)
			}
		}
	}
	for range maxRounds {
		raw, err := c.do(ctx, exchange{method: protocol.MethodToolsCall, name: tool, params: params, notify: notify})
		if err != nil {
			return Outcome{}, err
		}
		var r struct {
			ResultType    string              `json:"resultType"`
			InputRequests map[string]Question `json:"inputRequests"`
			RequestState  *string             `json:"requestState"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return Outcome{}, fmt.Errorf("reading the result: %w", err)
		}
		switch r.ResultType {
		case protocol.ResultTask:
			var t Task
			if err := json.Unmarshal(raw, &t); err != nil {
				return Outcome{}, fmt.Errorf("reading the task: %w", err)
			}
			if w.Task != nil {
				w.Task(t)
			}
			return Outcome{Task: &t}, nil
		case protocol.ResultInputRequired:
			responses, err := c.answerAll(ctx, r.InputRequests, nil)
			if err != nil {
				return Outcome{}, err
			}
			params["inputResponses"] = responses
			delete(params, "requestState")
			if r.RequestState != nil {
				params["requestState"] = *r.RequestState
			}
		default:
			return Outcome{Result: raw}, nil
		}
	}
	return Outcome{}, fmt.Errorf("%s asked more than %d times", tool, maxRounds)
}

// answerAll asks the Answerer what is asked and not yet in seen.
func (c *Client) answerAll(ctx context.Context, asked map[string]Question, seen map[string]bool) (map[string]json.RawMessage, error) {
	responses := map[string]json.RawMessage{}
	for _, key := range sortedKeys(asked) {
		if seen[key] {
			continue
		}
		if c.opts.Answerer == nil {
			return nil, fmt.Errorf("the tool asks %q and nobody is here to answer", key)
		}
		response, err := c.opts.Answerer(ctx, key, asked[key])
		if err != nil {
			return nil, err
		}
		responses[key] = response
	}
	return responses, nil
}

// Wait stays with a task to its end, answers its questions, and returns its
// result: a CallToolResult as JSON, or FailedError, or ErrCancelled.
func (c *Client) Wait(ctx context.Context, id string, w Watch) (json.RawMessage, error) {
	t, err := c.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if w.Task != nil {
		w.Task(t)
	}
	return c.wait(ctx, t, w)
}

func (c *Client) wait(ctx context.Context, t Task, w Watch) (json.RawMessage, error) {
	answered := map[string]bool{}
	for {
		switch t.Status {
		case "completed":
			if t.Result != nil {
				return t.Result, nil
			}
		case "failed":
			e := t.Error
			if e == nil {
				e = jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", t.StatusMessage)
			}
			return nil, &FailedError{TaskID: t.ID, Code: e.Code, Message: e.Message, Data: e.Data}
		case "cancelled":
			return nil, ErrCancelled
		case "input_required":
			responses, err := c.answerAll(ctx, t.InputRequests, answered)
			if err != nil {
				return nil, err
			}
			if len(responses) > 0 {
				if err := c.Answer(ctx, t.ID, responses); err != nil {
					return nil, err
				}
				for key := range responses {
					answered[key] = true
				}
			}
		}
		tick, stop := c.opts.Clock.After(t.poll())
		select {
		case <-ctx.Done():
			stop()
			return nil, ctx.Err()
		case <-tick:
		}
		next, err := c.Get(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		if w.Task != nil && (next.Status != t.Status || next.StatusMessage != t.StatusMessage || !next.LastUpdatedAt.Equal(t.LastUpdatedAt)) {
			w.Task(next)
		}
		t = next
	}
}
