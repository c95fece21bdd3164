package task

import (
	"time"

	"toolhost/pkg/fault"
)

// Event names a transition, for the table of legal moves and for errors.
type Event string

// Every event that can reach a task, in the order of its life.
const (
	EventClaim         Event = "Claim"
	EventRenew         Event = "Renew"
	EventReport        Event = "Report"
	EventAsk           Event = "Ask"
	EventAnswer        Event = "Answer"
	EventSleep         Event = "Sleep"
	EventAwaitCallback Event = "AwaitCallback"
	EventResolve       Event = "Resolve"
	EventRelease       Event = "Release"
	EventComplete      Event = "Complete"
	EventFail          Event = "Fail"
	EventRequestCancel Event = "RequestCancel"
	EventRevoke        Event = "Revoke"
	EventSettle        Event = "Settle"
	EventNudge         Event = "Nudge"
)

// Events lists every event but Create, which has no task to meet.
var Events = []Event{EventClaim, EventRenew, EventReport, EventAsk, EventAnswer, EventSleep, EventAwaitCallback,
	EventResolve, EventRelease, EventComplete, EventFail, EventRequestCancel, EventRevoke, EventSettle, EventNudge}

// legal is the table of legal moves. A terminal status is in no row: nothing
// moves it (invariant 4).
var legal = map[Event][]Status{
	EventClaim:         {Working},
	EventRenew:         {Working},
	EventReport:        {Working},
	EventAsk:           {Working},
	EventAnswer:        {InputRequired},
	EventSleep:         {Working},
	EventAwaitCallback: {Working},
	EventResolve:       {Working, InputRequired},
	EventRelease:       {Working},
	EventComplete:      {Working},
	EventFail:          {Working, InputRequired},
	EventRequestCancel: {Working, InputRequired},
	EventRevoke:        {Working, InputRequired},
	EventSettle:        {Working, InputRequired},
	EventNudge:         {Working},
}

// ErrNoChange says that an event is fine and has nothing to do: it has
// happened before, or means nothing to this task. There is nothing to save.
var ErrNoChange = fault.New(fault.Illegal, "task", "nothing to change")

// ErrNotHeld says that the worker's lease is another's by now: it must stop.
var ErrNotHeld = fault.New(fault.Conflict, "task", "the lease is another's")

// ErrExpired says that the task's time is over: nothing may be saved (invariant 6).
var ErrExpired = fault.New(fault.NotFound, "task", "expired")

// begin checks that the event is legal for the task at now.
func begin(t Task, e Event, now time.Time) error {
	if t.Expired(now) {
		return ErrExpired
	}
	for _, s := range legal[e] {
		if s == t.Status {
			return nil
		}
	}
	return fault.New(fault.Illegal, "task."+string(e), "a task that is %s can't take the event %s", t.Status, e)
}

// beginHeld is begin for events of the worker that holds the lease.
func beginHeld(t Task, e Event, holder string, now time.Time) error {
	if err := begin(t, e, now); err != nil {
		return err
	}
	if !t.HeldBy(holder) {
		return ErrNotHeld
	}
	return nil
}

// beginFree is begin for events of whoever acts on a task that nobody runs, or
// of the worker that runs it.
func beginFree(t Task, e Event, holder string, now time.Time) error {
	if err := begin(t, e, now); err != nil {
		return err
	}
	if t.Leased(now) && !t.HeldBy(holder) || holder != "" && !t.HeldBy(holder) {
		return ErrNotHeld
	}
	return nil
}

// touch marks a change that a client can see, to the millisecond that is stored
// and shown; the time never goes back (R-P4).
func (t *Task) touch(now time.Time) {
	if now = now.UTC().Truncate(time.Millisecond); now.After(t.UpdatedAt) {
		t.UpdatedAt = now
	}
}

// dispatch marks that a wake-up for at will be sent once this is saved.
func (t *Task) dispatch(at, now time.Time) {
	t.WakeAt, t.DispatchedAt = at, now
}

// stop ends a run in good order: the lease goes, and attempts count anew.
func (t *Task) stop() {
	t.Lease, t.Attempts = nil, 0
}

// end makes the task terminal and keeps its outcome readable for the tool's
// retention: the only thing that makes the TTL grow (invariant 6).
func (t *Task) end(s Status, outcome Payload, message string, now time.Time) {
	t.Status, t.Outcome, t.StatusMessage = s, outcome, clip(message)
	t.Lease, t.CancelRequested, t.Awaiting, t.WakeAt = nil, false, "", time.Time{}
	t.Inputs, t.Callbacks = nil, nil
	t.touch(now)
	t.TTL = max(t.TTL, (now.Sub(t.CreatedAt) + t.Retention).Truncate(time.Millisecond))
}
