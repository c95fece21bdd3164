package task_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"toolhost/pkg/limits"
	"toolhost/pkg/task"
)

// TestProperty lets random events happen at random times, also backward ones as
// of other machines' clocks, and holds what must be true after each.
func TestProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := born
		c := task.Create(task.Spec{
			ID: "id", Birth: "birth", MaxAttempts: rapid.IntRange(0, 4).Draw(t, "attempts"),
			TTL: rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "ttl"),
		}, at)
		type past struct {
			task task.Task
			dump string
		}
		var history []past
		asked := map[string]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			at = at.Add(rapid.SampledFrom([]time.Duration{0, time.Microsecond, time.Second, limits.Visibility, time.Hour, -time.Second, -limits.Slack}).Draw(t, "passes"))
			history = append(history, past{c, dump(c)})
			name := rapid.SampledFrom([]string{"next", "next", "claim", "renew", "report", "ask", "answer", "sleep", "await", "resolve", "release", "complete", "fail", "cancel", "revoke", "settle", "nudge"}).Draw(t, "event")
			holder := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "holder")
			if c.Lease != nil && rapid.Bool().Draw(t, "by its holder") {
				holder = c.Lease.Holder
			}
			key := rapid.SampledFrom([]string{"k", "l", "m"}).Draw(t, "key")
			next, err := happen(c, name, holder, key, at, rapid.Bool().Draw(t, "retry"))
			if err != nil {
				if d := diff(c, next); d != "" {
					t.Fatalf("%s was refused (%v), yet changed the task:\n%s", name, err, d)
				}
				continue
			}
			check(t, name, holder, c, next, at)
			for _, in := range next.Inputs {
				if _, there := c.Input(in.Key); !there {
					if asked[in.Key] {
						t.Fatalf("the key %q was asked twice", in.Key) // R-U4
					}
					asked[in.Key] = true
				}
			}
			c = next
		}
		for _, p := range history {
			if now := dump(p.task); now != p.dump {
				t.Fatalf("a later event wrote into an earlier task:\nwas %s\nis  %s", p.dump, now)
			}
		}
	})
}

func happen(c task.Task, name, holder, key string, at time.Time, retry bool) (task.Task, error) {
	switch name {
	case "next", "claim":
		return task.Claim(c, holder+"x", limits.Lease, at)
	case "renew":
		return task.Renew(c, holder, limits.Lease, at)
	case "report":
		return task.Report(c, holder, key, at)
	case "ask":
		return task.Ask(c, holder, []task.Input{{Key: key, Params: json(`{}`)}, {Key: key + "2"}}, at)
	case "answer":
		return task.Answer(c, map[string]task.Payload{key: json(`{}`), "k2": json(`{}`)}, at)
	case "sleep":
		return task.Sleep(c, holder, at.Add(limits.MaxDelay), at)
	case "await":
		return task.AwaitCallback(c, holder, key, at)
	case "resolve":
		return task.Resolve(c, key, json(`{}`), holder, at)
	case "release":
		return task.Release(c, holder, at, retry, at)
	case "complete":
		return task.Complete(c, holder, json(`{}`), at)
	case "fail":
		return task.Fail(c, holder, json(`{}`), "why", at)
	case "cancel":
		return task.RequestCancel(c, at)
	case "revoke":
		return task.Revoke(c, at)
	case "settle":
		return task.Settle(c, holder, at)
	}
	return task.Nudge(c, at)
}

// check holds the invariants of one transition.
func check(t *rapid.T, name, holder string, from, to task.Task, at time.Time) {
	is := func(what string, ok bool) {
		if !ok {
			t.Fatalf("%s at %v: %s\nfrom %s\nto   %s", name, at, what, dump(from), dump(to))
		}
	}
	is("a terminal task was moved", !from.Status.Terminal())
	is("an expired task was moved", !from.Expired(at))
	is("lastUpdatedAt went back", !to.UpdatedAt.Before(from.UpdatedAt))
	is("the identity changed", to.ID == from.ID && to.Birth == from.Birth && to.Revision == from.Revision && to.CreatedAt.Equal(from.CreatedAt))
	is("the TTL shrank", to.TTL >= from.TTL)
	is("the TTL grew before the end", to.TTL == from.TTL || to.Status.Terminal())
	is("the claim number went back", to.Claims >= from.Claims)
	is("attempts passed the maximum", to.Attempts < to.MaxAttempts)
	if to.Lease != nil {
		is("the lease is not the newest claim's", to.Lease.Run == to.Claims)
		is("a parked or terminal task is leased", to.Status == task.Working && !to.Parked())
		is("a live lease changed hands", !from.Leased(at) || from.Lease.Holder == to.Lease.Holder)
	} else if from.Leased(at) {
		is("another ended a live lease", from.HeldBy(holder) || name == "revoke")
	}
	is("a terminal task has no outcome", !to.Status.Terminal() || to.Status == task.Cancelled || !to.Outcome.Absent())
	open := len(to.Outstanding()) > 0
	is("open questions and status disagree", open == (to.Status == task.InputRequired))
	is("it waits for what is there", to.Awaiting == "" || !slices.ContainsFunc(to.Callbacks, func(c task.Callback) bool { return c.Name == to.Awaiting }))
	if !to.Status.Terminal() {
		is("a question was forgotten", len(to.Inputs) >= len(from.Inputs))
		for i, in := range from.Inputs {
			is(fmt.Sprintf("the answer to %q changed", in.Key), in.Outstanding() || string(to.Inputs[i].Response.Inline) == string(in.Response.Inline))
		}
	}
	// Invariant 2: whoever made the task runnable noted that it sends a wake-up.
	runnable := func(c task.Task) bool { return c.Status == task.Working && !c.Parked() && c.Lease == nil }
	is("a wake-up was forgotten", !runnable(to) || runnable(from) || to.DispatchedAt.Equal(at))
}
