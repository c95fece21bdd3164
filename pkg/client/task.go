package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// Task is what the server tells of a durable call.
type Task struct {
	ID             string          `json:"taskId"`
	Status         string          `json:"status"`
	StatusMessage  string          `json:"statusMessage"`
	CreatedAt      time.Time       `json:"createdAt"`
	LastUpdatedAt  time.Time       `json:"lastUpdatedAt"`
	TTLMs          *int64          `json:"ttlMs"` // nil: it does not expire
	PollIntervalMs int64           `json:"pollIntervalMs"`
	InputRequests  Questions       `json:"inputRequests"`
	Result         json.RawMessage `json:"result"`
	Error          *jsonrpc.Error  `json:"error"`
	// Raw is the whole task as it came.
	Raw json.RawMessage `json:"-"`
}

// Statuses of a task.
const (
	Working       = "working"
	InputRequired = "input_required"
	Completed     = "completed"
	Failed        = "failed"
	Cancelled     = "cancelled"
)

func readTask(raw json.RawMessage) (Task, error) {
	t := Task{Raw: raw}
	if err := json.Unmarshal(raw, &t); err != nil {
		return Task{}, fmt.Errorf("the task can't be read: %w", err)
	}
	return t, nil
}

// Terminal reports whether the task is over.
func (t Task) Terminal() bool {
	return t.Status == Completed || t.Status == Failed || t.Status == Cancelled
}

// differs reports whether a later look at the task shows anything new.
func (t Task) differs(later Task) bool {
	return later.Status != t.Status || later.StatusMessage != t.StatusMessage || !later.LastUpdatedAt.Equal(t.LastUpdatedAt)
}

// outcome is the end of a task: its result, a *FailedError, or ErrCancelled. Of a
// task that is not over, ended is false.
func (t Task) outcome() (result json.RawMessage, ended bool, err error) {
	switch t.Status {
	case Working, InputRequired:
		return nil, false, nil
	case Completed:
		if t.Result == nil {
			return nil, true, errors.New("the server says that the task has completed, and gives no result")
		}
		return t.Result, true, nil
	case Failed:
		e := t.Error
		if e == nil {
			e = jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", t.StatusMessage)
		}
		return nil, true, &FailedError{TaskID: t.ID, Code: e.Code, Message: e.Message, Data: e.Data}
	case Cancelled:
		return nil, true, ErrCancelled
	}
	return nil, true, fmt.Errorf("the task has a status that is not known here: %q", t.Status)
}

// poll is how long to wait before the next tasks/get.
func (t Task) poll() time.Duration {
	if t.PollIntervalMs <= 0 {
		return limits.PollInterval
	}
	return time.Duration(t.PollIntervalMs) * time.Millisecond
}

// Get reads the task. ErrUnknownTask if there is none.
func (c *Client) Get(ctx context.Context, id string) (Task, error) {
	raw, err := c.do(ctx, exchange{method: protocol.MethodTasksGet, name: &id, params: map[string]any{"taskId": id}})
	if err != nil {
		return Task{}, unknown(err)
	}
	if c.isOlder() {
		return c.getOlder(ctx, id, raw)
	}
	return readTask(raw)
}

// Answer gives responses to a task's open questions, by key; the others stay
// open. The server ignores keys that are not open, and refuses the whole with an
// *Error of code -32602 if a response has not the shape that its question wants.
// A server before 2026-07-28 has no such request: it asks while Wait waits.
func (c *Client) Answer(ctx context.Context, id string, responses map[string]json.RawMessage) error {
	_, err := c.do(ctx, exchange{method: protocol.MethodTasksUpdate, name: &id,
		params: map[string]any{"taskId": id, "inputResponses": responses}})
	return err
}

// Cancel asks that the task be cancelled. It returns before the task has
// settled; a task that is over stays as it is. ErrUnknownTask if there is none.
func (c *Client) Cancel(ctx context.Context, id string) error {
	_, err := c.do(ctx, exchange{method: protocol.MethodTasksCancel, name: &id, params: map[string]any{"taskId": id}})
	if invalidParams(err) && c.isOlder() { // which may mean that it is over
		_, err = c.Get(ctx, id)
		return err
	}
	return unknown(err)
}

// unknown marks the server's answer for a task that it has not.
func unknown(err error) error {
	if invalidParams(err) {
		return fmt.Errorf("%w: %w", ErrUnknownTask, err)
	}
	return err
}

func invalidParams(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == jsonrpc.CodeInvalidParams
}
