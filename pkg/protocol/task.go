package protocol

import (
	"bytes"
	"encoding/json"
	"time"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/task"
)

// Time is a time on the wire: ISO 8601, UTC, to the millisecond (R-P4).
type Time time.Time

const timeLayout = "2006-01-02T15:04:05.000Z"

// MarshalJSON implements json.Marshaler.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + time.Time(t).UTC().Format(timeLayout) + `"`), nil
}

// UnmarshalJSON implements json.Unmarshaler; it takes any RFC 3339 time.
func (t *Time) UnmarshalJSON(b []byte) error { return (*time.Time)(t).UnmarshalJSON(b) }

// Task is what every view of a task shows (R-P1, R-P3).
type Task struct {
	TaskID         string      `json:"taskId"`
	Status         task.Status `json:"status"`
	StatusMessage  string      `json:"statusMessage,omitempty"`
	CreatedAt      Time        `json:"createdAt"`
	LastUpdatedAt  Time        `json:"lastUpdatedAt"`
	TTLMs          int64       `json:"ttlMs"`
	PollIntervalMs int64       `json:"pollIntervalMs,omitempty"`
}

// pollShare is how the poll interval grows: to a tenth of the time that the
// task has been on its way since it was last dispatched.
const pollShare = 10

// ViewTask is the task's status and metadata at now.
func ViewTask(t task.Task, now time.Time) Task {
	poll := (now.Sub(t.DispatchedAt) / pollShare).Truncate(100 * time.Millisecond)
	return Task{
		TaskID: t.ID, Status: t.Status, StatusMessage: t.StatusMessage,
		CreatedAt: Time(t.CreatedAt), LastUpdatedAt: Time(t.UpdatedAt),
		TTLMs:          t.TTL.Milliseconds(),
		PollIntervalMs: min(max(poll, t.PollInterval), t.MaxPollInterval).Milliseconds(),
	}
}

// CreateTaskResult answers a call that has become a task.
type CreateTaskResult struct {
	ResultType string `json:"resultType"`
	Task
}

// DetailedTask is a task with what its status adds.
type DetailedTask struct {
	Task
	InputRequests InputRequests   `json:"inputRequests,omitempty"` // input_required (R-G2)
	Result        json.RawMessage `json:"result,omitempty"`        // completed (R-G3)
	Error         *jsonrpc.Error  `json:"error,omitempty"`         // failed (R-G4)
}

// GetTaskResult answers tasks/get.
type GetTaskResult struct {
	ResultType string `json:"resultType"`
	DetailedTask
}

// InputRequest is one question to the client.
type InputRequest struct {
	Key    string          `json:"-"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// InputRequests are questions in the order asked; on the wire an object by key.
type InputRequests []InputRequest

// MarshalJSON implements json.Marshaler.
func (r InputRequests) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, q := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonrpc.Encode(q.Key))
		b.WriteByte(':')
		b.Write(jsonrpc.Encode(q))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// InputRequiredResult asks the client to call again with answers (R-H13).
type InputRequiredResult struct {
	ResultType    string        `json:"resultType"`
	InputRequests InputRequests `json:"inputRequests,omitempty"`
	RequestState  string        `json:"requestState"`
}
