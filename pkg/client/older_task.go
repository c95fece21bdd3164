package client

import (
	"context"
	"encoding/json"
	"errors"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// The tasks of 2025-11-25, whose client asks for them, and is asked during
// tasks/result. Here they are put into the shapes of the Tasks extension.

// makesTask reports whether calls of a tool may be tasks with an older server. A
// tool that leaves it open is called as one: its call then outlives a connection.
func (c *Client) makesTask(ctx context.Context, tool string) bool {
	c.mu.Lock()
	l, known := c.listed[tool]
	c.mu.Unlock()
	if !known {
		if _, err := c.Tools(ctx); err != nil {
			return false // the call says more about what is wrong
		}
		c.mu.Lock()
		l = c.listed[tool]
		c.mu.Unlock()
	}
	return l.taskSupport == "required" || l.taskSupport == "optional"
}

// newerCreation is the result that made a task, or any other as it is.
func newerCreation(result json.RawMessage) (json.RawMessage, error) {
	var made struct {
		Task map[string]json.RawMessage `json:"task"`
	}
	if err := json.Unmarshal(result, &made); err != nil || made.Task == nil {
		return result, nil // it was no task after all
	}
	return newerTask(made.Task, protocol.ResultTask), nil
}

// newerTask renames what was renamed.
func newerTask(task map[string]json.RawMessage, resultType string) json.RawMessage {
	for older, newer := range map[string]string{"ttl": "ttlMs", "pollInterval": "pollIntervalMs"} {
		if value, there := task[older]; there {
			task[newer] = value
			delete(task, older)
		}
	}
	task["resultType"] = jsonrpc.Encode(resultType)
	return jsonrpc.Encode(task)
}

// getOlder reads a task, and its outcome if it is over.
func (c *Client) getOlder(ctx context.Context, id string, raw json.RawMessage) (Task, error) {
	var task map[string]json.RawMessage
	if err := json.Unmarshal(raw, &task); err != nil {
		return Task{}, err
	}
	t, err := readTask(raw)
	if err == nil && (t.Status == Completed || t.Status == Failed) {
		var refused *Error
		result, failed := c.result(ctx, id, t.Status == Failed) // whose error may look like one that passes
		switch {
		case failed == nil: // a tool error is a result
			task["status"], task["result"] = jsonrpc.Encode(Completed), result
		case errors.As(failed, &refused) && t.Status == Failed:
			task["error"] = jsonrpc.Encode(jsonrpc.Error{Code: refused.Code, Message: refused.Message, Data: refused.Data})
		default:
			return Task{}, failed
		}
	}
	if err != nil {
		return Task{}, err
	}
	return readTask(newerTask(task, protocol.ResultComplete))
}

// result is what a task's call would have been answered with. If the task is not
// over, it waits as long as the server lets it, and questions come meanwhile.
// once says that an error is not to be tried again.
func (c *Client) result(ctx context.Context, id string, once bool) (json.RawMessage, error) {
	return c.do(ctx, exchange{method: protocol.MethodTasksResult, params: map[string]any{"taskId": id}, call: once})
}

// interviewOlder lets an older server ask what a task waits for. It returns when
// the task may be further, or with the Answerer's error.
func (c *Client) interviewOlder(ctx context.Context, t Task) error {
	_, err := c.result(ctx, t.ID, true)
	var (
		refused     *Error
		unreachable *UnreachableError
	)
	if errors.As(err, &refused) || errors.As(err, &unreachable) {
		return c.pause(ctx, t.poll()) // the next read says what is the matter
	}
	return err
}
