// Package queue says what Toolhost asks of a message queue: to wake a task, at
// least once, now or within 15 minutes.
//
// sqsqueue is the implementation that ships, queuetest the suite that every
// implementation passes.
package queue

import (
	"context"
	"encoding/json"
	"time"

	"toolhost/pkg/fault"
)

// Format is the version of the messages written by this code.
const Format = 1

// Cause says why a task is woken, for people who read queues and logs.
type Cause string

// The causes of a wake-up.
const (
	Created  Cause = "created"  // a call became a task
	Answered Cause = "answered" // the client answered the last open question
	Resolved Cause = "resolved" // a callback arrived
	Slept    Cause = "slept"    // a tool sleeps
	Leg      Cause = "leg"      // a leg ended, the next one follows
	Retried  Cause = "retried"  // a tool asked for a retry
	Replaced Cause = "replaced" // a message came too early
	Redriven Cause = "redriven" // a message came back from the dead-letter queue
	Overdue  Cause = "overdue"  // a read found that the wake-up was lost
)

// Message wakes one task. It never carries arguments or credentials.
type Message struct {
	Version int    `json:"version"`
	TaskID  string `json:"taskId"`
	Birth   string `json:"birth"`
	Cause   Cause  `json:"cause"`
	// Hops counts the messages that led here; bounded by limits.MaxHops.
	Hops int `json:"hops"`
	// Redrives counts returns from the dead-letter queue.
	Redrives int `json:"redrives,omitempty"`
	// Trace is the W3C traceparent of the call that made the task, or "".
	Trace string `json:"trace,omitempty"`
}

// Delivery is how a message is sent.
type Delivery struct {
	// Delay is at most limits.MaxDelay.
	Delay time.Duration
	// Group shares the queue fairly between callers; any string, hashed.
	Group string
}

// Queue sends wake-ups and hides a received one from other workers. Errors are
// *fault.Error: Invalid, Busy, Internal.
type Queue interface {
	// Send returns once the message is stored.
	Send(ctx context.Context, m Message, d Delivery) error
	// Hide makes the received message visible again only after d, counted from
	// now. fault.NotFound if it is no longer in flight.
	Hide(ctx context.Context, receipt string, d time.Duration) error
}

// Encode is the body of a message.
func Encode(m Message) string {
	m.Version = Format
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings and ints only
	}
	return string(b)
}

// Decode reads a message's body. fault.Invalid if it is malformed or of a
// format that this code does not know.
func Decode(body string) (Message, error) {
	var m Message
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return m, &fault.Error{Kind: fault.Invalid, Op: "queue.Decode", Message: "not a wake-up", Err: err}
	}
	if m.Version != Format {
		return m, fault.New(fault.Invalid, "queue.Decode", "unknown format %d", m.Version)
	}
	if m.TaskID == "" || m.Birth == "" || m.Hops < 0 {
		return m, fault.New(fault.Invalid, "queue.Decode", "a wake-up names its task and birth")
	}
	return m, nil
}
