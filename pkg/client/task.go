package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// Question is what a tool wants to know.
type Question struct {
	Method string          `json:"method"` // "elicitation/create", …
	Params json.RawMessage `json:"params"`
}

// Task is what the server tells of a durable call.
type Task struct {
	ID             string              `json:"taskId"`
	Status         string              `json:"status"`
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      time.Time           `json:"createdAt"`
	LastUpdatedAt  time.Time           `json:"lastUpdatedAt"`
	TTLMs          *int64              `json:"ttlMs"`
	PollIntervalMs int64               `json:"pollIntervalMs,omitempty"`
	InputRequests  map[string]Question `json:"inputRequests,omitempty"`
	Result         json.RawMessage     `json:"result,omitempty"`
	Error          *jsonrpc.Error      `json:"error,omitempty"`
}

// Terminal reports whether the task is over.
func (t Task) Terminal() bool {
	switch t.Status {
	case "completed", "failed", "cancelled":
		return true
	}
	return false
}

// poll is how long to wait before the next tasks/get.
func (t Task) poll() time.Duration {
	return max(time.Duration(t.PollIntervalMs)*time.Millisecond, 100*time.Millisecond)
}

// Get reads the task.
func (c *Client) Get(ctx context.Context, id string) (Task, error) {
	var t Task
	raw, err := c.do(ctx, exchange{method: protocol.MethodTasksGet, name: id, params: map[string]any{"taskId": id}, repeat: true})
	if err != nil {
		return t, err
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, fmt.Errorf("reading the task: %w", err)
	}
	return t, nil
}

// Answer gives responses to a task's outstanding questions, by key. Keys that
// are not outstanding are ignored by the server.
func (c *Client) Answer(ctx context.Context, id string, responses map[string]json.RawMessage) error {
	_, err := c.do(ctx, exchange{method: protocol.MethodTasksUpdate, name: id, repeat: true,
		params: map[string]any{"taskId": id, "inputResponses": responses}})
	return err
}

// Cancel asks that the task be cancelled. It returns before the task has
// settled; a task that is over stays as it is.
func (c *Client) Cancel(ctx context.Context, id string) error {
	_, err := c.do(ctx, exchange{method: protocol.MethodTasksCancel, name: id, repeat: true, params: map[string]any{"taskId": id}})
	return err
}
