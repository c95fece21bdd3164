package task

import (
	"slices"
	"time"

	"toolhost/pkg/fault"
)

// Claim gives the task to a worker until now+lease. holder is the claim's fresh
// random id. Taking over from a worker that died costs an attempt; the claim
// that would pass the last one is refused, and the task is to be failed.
func Claim(t Task, holder string, lease time.Duration, now time.Time) (Task, error) {
	if err := begin(t, EventClaim, now); err != nil {
		return t, err
	}
	if t.HeldBy(holder) {
		return t, ErrNoChange
	}
	switch {
	case t.Leased(now):
		return t, fault.New(fault.Conflict, "task.Claim", "another worker runs it")
	case t.Parked(), now.Before(t.WakeAt):
		return t, fault.New(fault.Illegal, "task.Claim", "it is not due")
	case t.CancelRequested:
		return t, fault.New(fault.Illegal, "task.Claim", "it is to be cancelled")
	}
	if t.Lease != nil {
		if t.LastAttempt() {
			return t, fault.New(fault.Illegal, "task.Claim", "its %d attempts are used up", t.MaxAttempts)
		}
		t.Attempts++
		t.Recorded = true // by the worker that died, perhaps
	}
	t.Claims++
	t.Lease = &Lease{Run: t.Claims, Holder: holder, Until: now.Add(lease)}
	t.WakeAt, t.Nudges = time.Time{}, 0
	t.Inputs, t.Callbacks = slices.Clone(t.Inputs), slices.Clone(t.Callbacks)
	for i := range t.Inputs {
		t.Inputs[i].Delivered = !t.Inputs[i].Outstanding()
	}
	for i := range t.Callbacks {
		t.Callbacks[i].Delivered = true
	}
	return t, nil
}

// Adopt notes under which version of its tool a claimed task runs first: what it
// records from then on is that version's, even if the task was made under another.
func Adopt(t Task, version string) Task {
	if t.Claims == 1 {
		t.ToolVersion = version
	}
	return t
}

// Record notes that the run that now ends may have recorded steps.
func Record(t Task) Task {
	t.Recorded = true
	return t
}

// Renew lets the worker that holds the lease go on until now+lease.
func Renew(t Task, holder string, lease time.Duration, now time.Time) (Task, error) {
	if err := beginHeld(t, EventRenew, holder, now); err != nil {
		return t, err
	}
	l := *t.Lease
	l.Until = now.Add(lease)
	t.Lease = &l
	return t, nil
}

// Report shows progress as the status message.
func Report(t Task, holder, message string, now time.Time) (Task, error) {
	if err := beginHeld(t, EventReport, holder, now); err != nil {
		return t, err
	}
	if t.StatusMessage == clip(message) {
		return t, ErrNoChange
	}
	t.StatusMessage = clip(message)
	t.touch(now)
	return t, nil
}

// Release ends a run that is to go on at wakeAt: at the end of a leg, or when
// the tool asked for a retry, which costs an attempt and is refused when that
// was the last one. A requested cancel settles instead.
func Release(t Task, holder string, wakeAt time.Time, retry bool, now time.Time) (Task, error) {
	if err := beginHeld(t, EventRelease, holder, now); err != nil {
		return t, err
	}
	if t.CancelRequested {
		return Settle(t, holder, now)
	}
	attempts := 0
	if retry {
		if t.LastAttempt() {
			return t, fault.New(fault.Illegal, "task.Release", "its %d attempts are used up", t.MaxAttempts)
		}
		attempts = t.Attempts + 1
	}
	t.stop()
	t.Attempts = attempts
	t.dispatch(wakeAt, now)
	return t, nil
}

// Sleep parks the task until a time, which may be past.
func Sleep(t Task, holder string, until, now time.Time) (Task, error) {
	if err := beginHeld(t, EventSleep, holder, now); err != nil {
		return t, err
	}
	if t.CancelRequested {
		return Settle(t, holder, now)
	}
	t.stop()
	t.dispatch(until, now)
	return t, nil
}

// Nudge marks that a read found the task overdue and will send a wake-up.
func Nudge(t Task, now time.Time) (Task, error) {
	if err := begin(t, EventNudge, now); err != nil {
		return t, err
	}
	if !t.Overdue(now) {
		return t, ErrNoChange
	}
	t.DispatchedAt = now
	t.Nudges++
	return t, nil
}

// Complete ends the task with the tool's result. It wins over a cancel that was
// requested meanwhile (R-X3).
func Complete(t Task, holder string, result Payload, now time.Time) (Task, error) {
	if err := beginHeld(t, EventComplete, holder, now); err != nil {
		return t, err
	}
	t.end(Completed, result, "", now)
	return t, nil
}

// Fail ends the task with a JSON-RPC error object. holder is the worker's, or
// "" for a task that nobody runs.
func Fail(t Task, holder string, problem Payload, message string, now time.Time) (Task, error) {
	if err := beginFree(t, EventFail, holder, now); err != nil {
		return t, err
	}
	t.end(Failed, problem, message, now)
	return t, nil
}

// RequestCancel cancels a task that nobody runs, and asks the running tool of
// any other to stop (R-X3). It never moves a terminal task (R-X2).
func RequestCancel(t Task, now time.Time) (Task, error) {
	if err := begin(t, EventRequestCancel, now); err != nil {
		return t, err
	}
	if !t.Leased(now) {
		t.end(Cancelled, Payload{}, "cancelled by the client", now)
		return t, nil
	}
	if t.CancelRequested {
		return t, ErrNoChange
	}
	t.CancelRequested = true
	t.StatusMessage = "cancelling"
	t.touch(now)
	return t, nil
}

// Revoke cancels the task at once, whoever runs it: that worker finds it over,
// stops the tool and can save nothing. It is for clients who are told with the
// answer that the task is cancelled, and must never see anything else (R-B3).
func Revoke(t Task, now time.Time) (Task, error) {
	if err := begin(t, EventRevoke, now); err != nil {
		return t, err
	}
	t.end(Cancelled, Payload{}, "cancelled by the client", now)
	return t, nil
}

// Settle makes a requested cancel final. holder is the worker's, or "" for a
// task that nobody runs.
func Settle(t Task, holder string, now time.Time) (Task, error) {
	if err := beginFree(t, EventSettle, holder, now); err != nil {
		return t, err
	}
	if !t.CancelRequested {
		return t, fault.New(fault.Illegal, "task.Settle", "no cancel was requested")
	}
	t.end(Cancelled, Payload{}, "cancelled by the client", now)
	return t, nil
}
