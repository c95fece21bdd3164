package protocol

import "encoding/json"

// SubscriptionMeta is the _meta of everything that a listen sends: the id of its
// request, as it came (R-L2).
func SubscriptionMeta(id json.RawMessage) map[string]json.RawMessage {
	return map[string]json.RawMessage{MetaSubscriptionID: id}
}

// Subscriptions are what a client asked to be told of and the server agreed to.
type Subscriptions struct {
	// TaskIDs are those that may be watched; nil if the client named none.
	TaskIDs []string `json:"taskIds,omitzero"`
}

// AcknowledgedParams are those of a listen's first notification.
type AcknowledgedParams struct {
	Notifications Subscriptions              `json:"notifications"`
	Meta          map[string]json.RawMessage `json:"_meta"`
}

// TaskParams are those of notifications/tasks: the task as tasks/get shows it (R-L1).
type TaskParams struct {
	DetailedTask
	Meta map[string]json.RawMessage `json:"_meta"`
}

// ListenResult ends a listen in good order.
type ListenResult struct {
	ResultType string                     `json:"resultType"`
	Meta       map[string]json.RawMessage `json:"_meta"`
}
