package protocol

import (
	"encoding/json"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/task"
)

// InitializeResult answers initialize.
type InitializeResult struct {
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    LegacyCapabilities `json:"capabilities"`
	ServerInfo      ServerInfo         `json:"serverInfo"`
	Instructions    string             `json:"instructions,omitempty"`
}

// LegacyCapabilities are what the server can do for a client that began with
// initialize.
type LegacyCapabilities struct {
	Tools struct{}        `json:"tools"`
	Tasks json.RawMessage `json:"tasks,omitempty"` // LegacyTasks, under 2025-11-25 alone
}

// LegacyTasks is the tasks capability of 2025-11-25: without tasks/list, which
// would show an anonymous caller's tasks to all others.
var LegacyTasks = json.RawMessage(`{"cancel":{},"requests":{"tools":{"call":{}}}}`)

// LegacyListToolsResult answers a legacy tools/list.
type LegacyListToolsResult struct {
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor,omitempty"`
}

// LegacyTask is a task as 2025-11-25 shows it (R-B3), converted from a Task.
type LegacyTask struct {
	TaskID         string      `json:"taskId"`
	Status         task.Status `json:"status"`
	StatusMessage  string      `json:"statusMessage,omitempty"`
	CreatedAt      Time        `json:"createdAt"`
	LastUpdatedAt  Time        `json:"lastUpdatedAt"`
	TTLMs          int64       `json:"ttl"`
	PollIntervalMs int64       `json:"pollInterval,omitempty"`
}

// LegacyCreateTaskResult answers a call with params.task.
type LegacyCreateTaskResult struct {
	Task LegacyTask `json:"task"`
}

// LegacyResult is a tool's result as a legacy revision knows it: no resultType;
// structuredContent since 2025-06-18, and only an object. taskID names the task
// whose result it is, "" for none. result must be an object.
func LegacyResult(result json.RawMessage, revision, taskID string) (json.RawMessage, error) {
	keep := func(name string, value json.RawMessage) bool {
		return name != "resultType" && (name != "structuredContent" || revision >= Revision20250618 && isObject(value))
	}
	return rewrite(result, keep, func(meta map[string]json.RawMessage) {
		delete(meta, MetaServerInfo)
		delete(meta, MetaRelatedTask)
		if taskID != "" {
			meta[MetaRelatedTask] = jsonrpc.Encode(map[string]string{"taskId": taskID})
		}
	})
}
