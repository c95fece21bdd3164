package task

import (
	"slices"
	"time"

	"toolhost/pkg/fault"
)

// Ask parks the task until the client has answered all the questions. Their
// keys must be new to the task (R-U4). The status message goes: it told how a run
// went that is over, and the questions say what the task waits for. A requested
// cancel settles instead.
func Ask(t Task, holder string, questions []Input, now time.Time) (Task, error) {
	if err := beginHeld(t, EventAsk, holder, now); err != nil {
		return t, err
	}
	if t.CancelRequested {
		return Settle(t, holder, now)
	}
	if len(questions) == 0 {
		return t, fault.New(fault.Illegal, "task.Ask", "no question")
	}
	next := t
	next.Inputs = slices.Clone(t.Inputs)
	for _, q := range questions {
		if _, used := next.Input(q.Key); used {
			return t, fault.New(fault.Illegal, "task.Ask", "the key %q was used before", q.Key)
		}
		next.Inputs = append(next.Inputs, Input{Key: q.Key, Method: q.Method, Params: q.Params})
	}
	t = next
	t.Status, t.StatusMessage = InputRequired, ""
	t.stop()
	t.touch(now)
	return t, nil
}

// Answer stores the client's responses to outstanding questions and ignores
// all others (R-U2, R-U3). With the last one the task is working again, and a
// wake-up is to be sent.
func Answer(t Task, responses map[string]Payload, now time.Time) (Task, error) {
	if err := begin(t, EventAnswer, now); err != nil {
		return t, err
	}
	inputs, stored, open := slices.Clone(t.Inputs), 0, 0
	for i := range inputs {
		if !inputs[i].Outstanding() {
			continue
		}
		r, given := responses[inputs[i].Key]
		if !given || r.Absent() {
			open++
			continue
		}
		inputs[i].Response, inputs[i].Params = r, Payload{}
		stored++
	}
	if stored == 0 {
		return t, ErrNoChange
	}
	t.Inputs = inputs
	if open == 0 {
		t.Status = Working
		t.dispatch(time.Time{}, now)
	}
	t.touch(now)
	return t, nil
}

// Undelivered reports whether one of these keys was answered and no worker has
// seen the answer yet: whoever repeats it may have lost the reply to an update
// that died before its wake-up was sent (invariant 2).
func (t Task) Undelivered(keys []string, now time.Time) bool {
	if t.Status != Working || t.Leased(now) {
		return false
	}
	for _, in := range t.Inputs {
		if !in.Outstanding() && !in.Delivered && slices.Contains(keys, in.Key) {
			return true
		}
	}
	return false
}

// AwaitCallback parks the task until the named callback arrives. If it is
// there already the task goes on at once.
func AwaitCallback(t Task, holder, name string, now time.Time) (Task, error) {
	if err := beginHeld(t, EventAwaitCallback, holder, now); err != nil {
		return t, err
	}
	if t.CancelRequested {
		return Settle(t, holder, now)
	}
	t.stop()
	if _, there := t.Callback(name); there {
		t.dispatch(time.Time{}, now)
		return t, nil
	}
	t.Awaiting = name
	return t, nil
}

// Resolve stores a callback's body, which may come before the tool waits for
// it. The same body again, before a worker has seen it, changes nothing; later,
// or with another body, it is refused. If the task waited for it, a wake-up is
// to be sent.
func Resolve(t Task, name string, body Payload, digest string, now time.Time) (Task, error) {
	if err := begin(t, EventResolve, now); err != nil {
		return t, err
	}
	if c, there := t.Callback(name); there {
		if c.Digest == digest && !c.Delivered {
			return t, ErrNoChange
		}
		return t, fault.New(fault.Conflict, "task.Resolve", "the callback was used before")
	}
	t.Callbacks = append(slices.Clone(t.Callbacks), Callback{Name: name, Body: body, Digest: digest})
	if t.Awaiting == name {
		t.Awaiting = ""
		t.dispatch(time.Time{}, now)
	}
	return t, nil
}

// Unheard reports whether the named callback has arrived, no worker has seen it,
// and the task is only waiting for a worker: whoever repeats it may have lost the
// reply to one that died before its wake-up was sent (invariant 2).
func (t Task) Unheard(name string, now time.Time) bool {
	c, there := t.Callback(name)
	return there && !c.Delivered && t.Status == Working && !t.Parked() && !t.Leased(now) && !now.Before(t.WakeAt)
}
