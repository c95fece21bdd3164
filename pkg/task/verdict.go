package task

import (
	"time"

	"toolhost/pkg/limits"
)

// Verdict is what a worker does with a message.
type Verdict uint8

const (
	// Drop lets the message go: the task is gone, over, or waits for the outside.
	Drop Verdict = iota
	// Replace sends a new message for later and lets this one go, so that the
	// queue's receive count stays a count of crashes.
	Replace
	// Cancel settles a requested cancel and lets the message go.
	Cancel
	// Exhaust fails the task: the attempt that died was its last.
	Exhaust
	// Run claims the task and runs its tool.
	Run
)

func (v Verdict) String() string {
	return [...]string{"drop", "replace", "cancel", "exhaust", "run"}[v]
}

// Judge says what to do with a message for the birth, and for Replace how long
// the new message waits. found is false when there is no such item.
func Judge(t Task, found bool, birth string, now time.Time) (Verdict, time.Duration) {
	switch {
	case !found, t.Birth != birth, t.Status.Terminal(), t.Expired(now):
		return Drop, 0
	case t.Leased(now):
		return Replace, min(t.Lease.Until.Add(limits.Slack).Sub(now), limits.MaxDelay)
	case t.CancelRequested:
		return Cancel, 0
	case t.Parked():
		return Drop, 0
	case now.Before(t.WakeAt):
		return Replace, min(t.WakeAt.Sub(now), limits.MaxDelay)
	case t.Lease != nil && t.LastAttempt():
		return Exhaust, 0
	}
	return Run, 0
}
