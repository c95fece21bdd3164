package task_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/task"
)

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestCreate(t *testing.T) {
	t.Run("zero_options_mean_the_defaults", func(t *testing.T) {
		c := task.Create(task.Spec{}, born)
		equal(t, "status", c.Status, task.Working)
		equal(t, "TTL", c.TTL, limits.TTL)
		equal(t, "retention", c.Retention, limits.Retention)
		equal(t, "poll interval", c.PollInterval, limits.PollInterval)
		equal(t, "most of it", c.MaxPollInterval, limits.MaxPollInterval)
		equal(t, "attempts", c.MaxAttempts, limits.Attempts)
		equal(t, "dispatched", c.DispatchedAt, born)
	})
	t.Run("a_tool's_own_poll_interval_may_pass_the_default_maximum", func(t *testing.T) {
		equal(t, "most", task.Create(task.Spec{PollInterval: time.Minute}, born).MaxPollInterval, time.Minute)
	})
	t.Run("times_are_UTC_and_whole_milliseconds", func(t *testing.T) { // R-P4
		c := task.Create(task.Spec{}, born.Add(1234567).In(time.FixedZone("", 3600)))
		equal(t, "created", c.CreatedAt, born.Add(time.Millisecond))
		equal(t, "updated", c.UpdatedAt, c.CreatedAt)
	})
}

func TestClaim(t *testing.T) {
	t.Run("gives_the_lease_and_raises_the_claim_number", func(t *testing.T) {
		c := claimed()
		equal(t, "lease", *c.Lease, task.Lease{Run: 1, Holder: "me", Until: now.Add(limits.Lease)})
		equal(t, "claims", c.Claims, 1)
		equal(t, "attempts", c.Attempts, 0)
	})
	t.Run("knows_its_own_claim_again", func(t *testing.T) { // case 2
		_, err := task.Claim(claimed(), "me", limits.Lease, now)
		equal(t, "error", err, task.ErrNoChange)
	})
	t.Run("a_lease_is_live_until_the_slack_after_it", func(t *testing.T) { // invariant 7
		end := now.Add(limits.Lease + limits.Slack)
		_, err := task.Claim(claimed(), "next", limits.Lease, end.Add(-1))
		equal(t, "just before", fault.KindOf(err), fault.Conflict)
		next, err := task.Claim(claimed(), "next", limits.Lease, end)
		equal(t, "then", err, nil)
		equal(t, "fence", next.Lease.Run, 2)
		equal(t, "attempts", next.Attempts, 1)
	})
	t.Run("the_takeover_past_the_last_attempt_is_refused", func(t *testing.T) {
		c, at := claimed(), now
		for i := 1; i < limits.Attempts; i++ {
			at = at.Add(limits.Visibility)
			c = must(task.Claim(c, "next", limits.Lease, at))
			equal(t, "attempts", c.Attempts, i)
			c.Lease.Holder = "dead"
		}
		verdict, _ := task.Judge(c, true, c.Birth, at.Add(limits.Visibility))
		equal(t, "verdict", verdict, task.Exhaust)
		_, err := task.Claim(c, "next", limits.Lease, at.Add(limits.Visibility))
		equal(t, "error", fault.KindOf(err), fault.Illegal)
	})
	t.Run("the_first_run's_version_is_the_task's", func(t *testing.T) {
		c := task.Adopt(claimed(), "2")
		equal(t, "first", c.ToolVersion, "2")
		c = must(task.Release(c, "me", time.Time{}, false, now))
		equal(t, "second", task.Adopt(must(task.Claim(c, "next", limits.Lease, now)), "3").ToolVersion, "2")
	})
}

// Three questions and twelve legs are not fifteen attempts (case 58).
func TestAttempts(t *testing.T) {
	t.Run("an_orderly_stop_starts_them_anew", func(t *testing.T) {
		c, at := created(), now
		c.MaxAttempts = 3
		stops := []func(task.Task) (task.Task, error){
			func(c task.Task) (task.Task, error) { return task.Release(c, "w", time.Time{}, false, at) },
			func(c task.Task) (task.Task, error) { return task.Sleep(c, "w", at, at) },
			func(c task.Task) (task.Task, error) {
				c = must(task.AwaitCallback(c, "w", at.String(), at))
				return task.Resolve(c, at.String(), json(`1`), "d", at)
			},
			func(c task.Task) (task.Task, error) {
				c = must(task.Ask(c, "w", []task.Input{{Key: at.String()}}, at))
				return task.Answer(c, map[string]task.Payload{at.String(): json(`{}`)}, at)
			},
		}
		for range 4 {
			for _, stop := range stops {
				at = at.Add(time.Second)
				c = must(task.Claim(c, "w", limits.Lease, at))
				at = at.Add(limits.Visibility)
				c = must(task.Claim(c, "w2", limits.Lease, at)) // one death a leg
				equal(t, "attempts", c.Attempts, 1)
				c.Lease.Holder = "w"
				c = must(stop(c))
				equal(t, "attempts after the stop", c.Attempts, 0)
			}
		}
		c = must(task.Claim(c, "w", limits.Lease, at))
		equal(t, "status", must(task.Complete(c, "w", json(`{}`), at)).Status, task.Completed)
	})
	t.Run("a_retry_costs_one_and_the_last_is_refused", func(t *testing.T) {
		c := created()
		for i := 1; i < limits.Attempts; i++ {
			c = must(task.Release(must(task.Claim(c, "me", limits.Lease, now)), "me", now, true, now))
			equal(t, "attempts", c.Attempts, i)
		}
		c = must(task.Claim(c, "me", limits.Lease, now))
		equal(t, "attempts", c.Attempts, limits.Attempts-1)
		_, err := task.Release(c, "me", now, true, now)
		equal(t, "error", fault.KindOf(err), fault.Illegal)
	})
}

func TestHolder(t *testing.T) {
	t.Run("may_go_on_after_its_lease_while_nobody_took_over", func(t *testing.T) {
		late := now.Add(time.Hour)
		c := must(task.Renew(claimed(), "me", limits.Lease, late))
		equal(t, "until", c.Lease.Until, late.Add(limits.Lease))
		equal(t, "status", must(task.Complete(claimed(), "me", json(`{}`), late)).Status, task.Completed)
	})
	t.Run("is_refused_everything_after_a_takeover", func(t *testing.T) { // case 7
		c := must(task.Claim(claimed(), "next", limits.Lease, now.Add(limits.Visibility)))
		for _, e := range []task.Event{task.EventRenew, task.EventReport, task.EventAsk, task.EventSleep, task.EventAwaitCallback,
			task.EventRelease, task.EventComplete, task.EventSettle} {
			if _, err := events[e](c, now.Add(limits.Visibility)); !errors.Is(err, task.ErrNotHeld) {
				t.Errorf("%s: %v", e, err)
			}
		}
	})
}

func TestReport(t *testing.T) {
	t.Run("long_messages_are_cut_between_characters", func(t *testing.T) {
		for pad := range 4 {
			c := must(task.Report(claimed(), "me", strings.Repeat("x", pad)+strings.Repeat("€", limits.MaxStatusMessage), now))
			if n := len(c.StatusMessage); n > limits.MaxStatusMessage || n < limits.MaxStatusMessage-3 || !utf8.ValidString(c.StatusMessage) {
				t.Errorf("%d bytes, valid %v", n, utf8.ValidString(c.StatusMessage))
			}
		}
	})
	t.Run("the_same_message_changes_nothing", func(t *testing.T) {
		long := strings.Repeat("x", 2*limits.MaxStatusMessage)
		_, err := task.Report(must(task.Report(claimed(), "me", long, now)), "me", long, now)
		equal(t, "error", err, task.ErrNoChange)
	})
}

func TestUpdatedAt(t *testing.T) { // R-P4
	t.Run("never_goes_back_with_the_clock", func(t *testing.T) {
		c := must(task.Report(claimed(), "me", "one", now.Add(time.Minute)))
		back := must(task.Report(c, "me", "two", now))
		equal(t, "updated", back.UpdatedAt, c.UpdatedAt)
		equal(t, "at the end", must(task.Complete(back, "me", json(`{}`), now.Add(-time.Hour))).UpdatedAt, c.UpdatedAt)
	})
	t.Run("does_not_move_for_what_no_client_sees", func(t *testing.T) {
		equal(t, "claim", claimed().UpdatedAt, born)
		equal(t, "renew", must(task.Renew(claimed(), "me", limits.Lease, now)).UpdatedAt, born)
		equal(t, "sleep", asleep().UpdatedAt, born)
	})
	t.Run("is_whole_milliseconds", func(t *testing.T) {
		equal(t, "updated", must(task.Report(claimed(), "me", "one", now.Add(1500*time.Microsecond))).UpdatedAt, now.Add(time.Millisecond))
	})
}

func TestEnd(t *testing.T) {
	t.Run("the_TTL_grows_to_keep_the_outcome_for_its_retention", func(t *testing.T) { // invariant 6
		at := born.Add(20 * time.Hour)
		c := created()
		c.Retention = 6 * time.Hour
		for name, end := range map[string]func() (task.Task, error){
			"complete": func() (task.Task, error) {
				return task.Complete(must(task.Claim(c, "me", limits.Lease, at)), "me", json(`{}`), at)
			},
			"fail":   func() (task.Task, error) { return task.Fail(c, "", json(`{}`), "", at) },
			"cancel": func() (task.Task, error) { return task.RequestCancel(c, at) },
			"settle": func() (task.Task, error) {
				return task.Settle(must(task.RequestCancel(must(task.Claim(c, "me", limits.Lease, at)), at)), "me", at)
			},
		} {
			equal(t, name, must(end()).ExpiresAt(), at.Add(6*time.Hour))
		}
	})
	t.Run("the_TTL_never_shrinks", func(t *testing.T) { // R-G9
		c := claimed()
		c.Retention = time.Minute
		equal(t, "TTL", must(task.Complete(c, "me", json(`{}`), now)).TTL, c.TTL)
	})
	t.Run("nothing_else_makes_it_grow", func(t *testing.T) {
		for _, s := range states {
			for _, e := range task.Events {
				from := s.make()
				to, err := events[e](from, now)
				if err == nil && !to.Status.Terminal() && to.TTL != from.TTL {
					t.Errorf("%s of %s: TTL %v", e, s.name, to.TTL)
				}
			}
		}
	})
	t.Run("leaves_nothing_of_the_run_behind", func(t *testing.T) {
		c := must(task.Resolve(asked("a"), "built", json(`1`), "d", now))
		c = must(task.Fail(c, "", json(`{}`), "why", now))
		if c.Lease != nil || c.Inputs != nil || c.Callbacks != nil || c.Awaiting != "" || !c.WakeAt.IsZero() || c.CancelRequested {
			t.Errorf("left: %s", dump(c))
		}
		equal(t, "message", c.StatusMessage, "why")
	})
}

func TestCancel(t *testing.T) {
	t.Run("of_a_task_that_nobody_runs_is_at_once", func(t *testing.T) { // R-X3
		for _, make := range []func() task.Task{created, asleep, awaiting, abandoned, func() task.Task { return asked("a") }} {
			equal(t, "status", must(task.RequestCancel(make(), now)).Status, task.Cancelled)
		}
	})
	t.Run("of_a_running_one_is_asked_for_and_repeats_change_nothing", func(t *testing.T) { // R-X1
		c := cancelling()
		equal(t, "status", c.Status, task.Working)
		equal(t, "message", c.StatusMessage, "cancelling")
		_, err := task.RequestCancel(c, now)
		equal(t, "error", err, task.ErrNoChange)
	})
	t.Run("every_stop_of_the_tool_settles_it", func(t *testing.T) {
		for _, e := range []task.Event{task.EventAsk, task.EventSleep, task.EventAwaitCallback, task.EventRelease, task.EventSettle} {
			equal(t, string(e), must(events[e](cancelling(), now)).Status, task.Cancelled)
		}
	})
	t.Run("a_finished_result_that_wins_the_race_stays", func(t *testing.T) {
		equal(t, "status", must(task.Complete(cancelling(), "me", json(`{}`), now)).Status, task.Completed)
	})
	t.Run("revoking_is_at_once_and_the_worker_can_save_nothing", func(t *testing.T) { // R-B3
		for _, running := range []func() task.Task{claimed, cancelling} {
			c := must(task.Revoke(running(), now))
			equal(t, "status", c.Status, task.Cancelled)
			_, err := task.Complete(c, "me", json(`{}`), now)
			equal(t, "the result is refused", fault.Is(err, fault.Illegal), true)
		}
	})
	t.Run("of_a_dead_worker's_task_is_settled_by_anybody", func(t *testing.T) {
		equal(t, "status", must(task.Settle(cancelling(), "", now.Add(limits.Visibility))).Status, task.Cancelled)
		_, err := task.Settle(cancelling(), "", now)
		equal(t, "while it lives", err, task.ErrNotHeld)
	})
}

func TestExpiry(t *testing.T) { // R-G8, R-G9
	c := created()
	equal(t, "just before", c.Expired(born.Add(limits.TTL-1)), false)
	equal(t, "then", c.Expired(born.Add(limits.TTL)), true)
	_, err := task.Claim(c, "me", limits.Lease, born.Add(limits.TTL))
	equal(t, "a claim then", err, task.ErrExpired)
}
