package task_test

import (
	"fmt"
	"testing"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/task"
)

func answers(keys ...string) map[string]task.Payload {
	out := map[string]task.Payload{}
	for _, k := range keys {
		out[k] = json(`{"action":"accept"}`)
	}
	return out
}

func TestAsk(t *testing.T) {
	t.Run("parks_the_task_in_the_order_asked", func(t *testing.T) {
		c := asked("b", "a")
		equal(t, "status", c.Status, task.InputRequired)
		equal(t, "lease", c.Lease, nil)
		equal(t, "first", c.Outstanding()[0].Key, "b")
		equal(t, "parked", c.Parked(), true)
	})
	t.Run("a_key_is_used_once_in_the_task's_life", func(t *testing.T) { // R-U4
		c := must(task.Answer(asked("a"), answers("a"), now))
		c = must(task.Claim(c, "me", limits.Lease, now))
		_, err := task.Ask(c, "me", []task.Input{{Key: "a"}}, now)
		equal(t, "after its answer", fault.KindOf(err), fault.Illegal)
		_, err = task.Ask(claimed(), "me", []task.Input{{Key: "x"}, {Key: "x"}}, now)
		equal(t, "twice at once", fault.KindOf(err), fault.Illegal)
	})
	t.Run("the_message_of_the_run_that_asks_is_gone", func(t *testing.T) { // R-G2
		c := must(task.Report(claimed(), "me", "12 of 40", now))
		c = must(task.Ask(c, "me", []task.Input{{Key: "a"}}, now))
		equal(t, "message", c.StatusMessage, "")
	})
	t.Run("nothing_can't_be_asked", func(t *testing.T) {
		_, err := task.Ask(claimed(), "me", nil, now)
		equal(t, "error", fault.KindOf(err), fault.Illegal)
	})
	t.Run("no_answer_can_be_brought_along", func(t *testing.T) {
		c := must(task.Ask(claimed(), "me", []task.Input{{Key: "a", Response: json(`{}`), Delivered: true}}, now))
		equal(t, "outstanding", len(c.Outstanding()), 1)
	})
}

func TestAnswer(t *testing.T) {
	t.Run("a_part_is_stored_and_the_rest_stays_open", func(t *testing.T) { // R-U3, R-G2
		c := must(task.Answer(asked("a", "b"), answers("a"), now))
		equal(t, "status", c.Status, task.InputRequired)
		equal(t, "open", c.Outstanding()[0].Key, "b")
		c = must(task.Answer(c, answers("b"), now))
		equal(t, "status", c.Status, task.Working)
		equal(t, "dispatched", c.DispatchedAt, now)
	})
	t.Run("an_answered_question_drops_its_params", func(t *testing.T) {
		in, _ := must(task.Answer(asked("a", "b"), answers("a"), now)).Input("a")
		equal(t, "absent", in.Params.Absent(), true)
	})
	t.Run("unknown_and_answered_keys_and_absent_values_are_ignored", func(t *testing.T) { // R-U2, R-U5
		c := must(task.Answer(asked("a", "b"), answers("a"), now))
		for _, r := range []map[string]task.Payload{answers("a"), answers("never"), nil, {"b": {}}} {
			_, err := task.Answer(c, r, now)
			equal(t, fmt.Sprint(r), err, task.ErrNoChange)
		}
	})
	t.Run("the_first_answer_stands", func(t *testing.T) {
		c := must(task.Answer(asked("a", "b"), answers("a"), now))
		c = must(task.Answer(c, map[string]task.Payload{"a": json(`"other"`), "b": json(`{}`)}, now))
		in, _ := c.Input("a")
		equal(t, "answer", string(in.Response.Inline), `{"action":"accept"}`)
	})
}

// An update that died between its save and its send is repeated (case 61).
func TestUndelivered(t *testing.T) {
	c := must(task.Answer(asked("a"), answers("a"), now))
	equal(t, "before a claim", c.Undelivered([]string{"a"}, now), true)
	equal(t, "another key", c.Undelivered([]string{"b"}, now), false)
	equal(t, "not all answered", must(task.Answer(asked("a", "b"), answers("a"), now)).Undelivered([]string{"a"}, now), false)
	c = must(task.Claim(c, "me", limits.Lease, now))
	equal(t, "while it runs", c.Undelivered([]string{"a"}, now), false)
	c = must(task.Release(c, "me", time.Time{}, false, now))
	equal(t, "after a run saw it", c.Undelivered([]string{"a"}, now), false)
}

func TestCallback(t *testing.T) {
	resolve := func(c task.Task, body string) (task.Task, error) {
		return task.Resolve(c, "built", json(body), body, now)
	}
	t.Run("wakes_the_task_that_waits_for_it", func(t *testing.T) {
		c := awaiting()
		equal(t, "parked", c.Parked(), true)
		c = must(resolve(c, "1"))
		equal(t, "parked", c.Parked(), false)
		equal(t, "dispatched", c.DispatchedAt, now)
	})
	t.Run("of_another_name_does_not", func(t *testing.T) {
		c := must(task.Resolve(awaiting(), "tested", json(`1`), "d", now))
		equal(t, "parked", c.Parked(), true)
	})
	t.Run("may_come_before_the_tool_waits", func(t *testing.T) { // case 57
		c := must(resolve(claimed(), "1"))
		equal(t, "held", c.HeldBy("me"), true)
		c = must(task.AwaitCallback(c, "me", "built", now))
		equal(t, "parked", c.Parked(), false)
		equal(t, "lease", c.Lease, nil)
		verdict, _ := task.Judge(c, true, c.Birth, now)
		equal(t, "verdict", verdict, task.Run)
	})
	t.Run("the_same_body_again_is_fine_until_a_worker_saw_it", func(t *testing.T) {
		c := must(resolve(awaiting(), "1"))
		_, err := resolve(c, "1")
		equal(t, "same", err, task.ErrNoChange)
		_, err = resolve(c, "2")
		equal(t, "another body", fault.KindOf(err), fault.Conflict)
		c = must(task.Claim(c, "next", limits.Lease, now))
		_, err = resolve(c, "1")
		equal(t, "after the claim", fault.KindOf(err), fault.Conflict)
	})
}

// A callback that died between its save and its send is repeated.
func TestUnheard(t *testing.T) {
	resolved := func(c task.Task) task.Task { return must(task.Resolve(c, "built", json(`1`), "1", now)) }
	c := resolved(awaiting())
	equal(t, "before a claim", c.Unheard("built", now), true)
	equal(t, "another name", c.Unheard("tested", now), false)
	equal(t, "while it runs", resolved(claimed()).Unheard("built", now), false)
	asleep := resolved(must(task.Sleep(claimed(), "me", now.Add(time.Hour), now)))
	equal(t, "while it sleeps", asleep.Unheard("built", now), false)
	equal(t, "after its sleep", asleep.Unheard("built", now.Add(time.Hour)), true)
	equal(t, "while it waits for another", resolved(must(task.AwaitCallback(claimed(), "me", "tested", now))).Unheard("built", now), false)
	c = must(task.Claim(c, "next", limits.Lease, now))
	c = must(task.Release(c, "next", time.Time{}, false, now))
	equal(t, "after a run saw it", c.Unheard("built", now), false)
}

func TestOverdue(t *testing.T) { // invariant 2
	t.Run("at_growing_intervals", func(t *testing.T) {
		c, at := created(), born
		for _, wait := range []time.Duration{15, 30, 60, 120, 240, 360, 360} {
			wait *= time.Minute
			equal(t, "just before", c.Overdue(at.Add(wait-1)), false)
			equal(t, "then", c.Overdue(at.Add(wait)), true)
			at = at.Add(wait)
			c = must(task.Nudge(c, at))
		}
		equal(t, "a claim starts them anew", must(task.Claim(c, "me", limits.Lease, at)).Nudges, 0)
	})
	t.Run("only_who_should_be_running", func(t *testing.T) {
		late := now.Add(limits.OverdueAfter)
		equal(t, "waits for the client", asked("a").Overdue(late), false)
		equal(t, "waits for a callback", awaiting().Overdue(late), false)
		equal(t, "sleeps", asleep().Overdue(late), false)
		equal(t, "should have woken", asleep().Overdue(now.Add(time.Hour+limits.OverdueAfter)), true)
		equal(t, "over", completed().Overdue(late), false)
		equal(t, "gone", expired().Overdue(late), false)
		c := must(task.Renew(claimed(), "me", limits.Lease, late))
		equal(t, "runs", c.Overdue(late.Add(limits.Lease)), false)
		equal(t, "died", c.Overdue(late.Add(limits.Lease+limits.OverdueAfter)), true)
	})
}

// TestJudge is the table of what a worker does with a message.
func TestJudge(t *testing.T) {
	rest := limits.Lease + limits.Slack
	lastAttempt := func() task.Task { c := abandoned(); c.MaxAttempts = 1; return c }
	for _, row := range []struct {
		name  string
		task  task.Task
		found bool
		birth string
		at    time.Time
		want  task.Verdict
		delay time.Duration
	}{
		{"none", task.Task{}, false, "birth", now, task.Drop, 0},
		{"another birth", created(), true, "another", now, task.Drop, 0},
		{"completed", completed(), true, "birth", now, task.Drop, 0},
		{"failed", failed(), true, "birth", now, task.Drop, 0},
		{"cancelled", cancelled(), true, "birth", now, task.Drop, 0},
		{"expired", expired(), true, "birth", now, task.Drop, 0},
		{"expired while leased", claimed(), true, "birth", born.Add(limits.TTL), task.Drop, 0},
		{"waits for answers", asked("a"), true, "birth", now, task.Drop, 0},
		{"answered in part", must(task.Answer(asked("a", "b"), answers("a"), now)), true, "birth", now, task.Drop, 0},
		{"answered", must(task.Answer(asked("a"), answers("a"), now)), true, "birth", now, task.Run, 0},
		{"waits for a callback", awaiting(), true, "birth", now, task.Drop, 0},
		{"asleep", asleep(), true, "birth", now.Add(50 * time.Minute), task.Replace, 10 * time.Minute},
		{"asleep for long", asleep(), true, "birth", now, task.Replace, limits.MaxDelay},
		{"woken", asleep(), true, "birth", now.Add(time.Hour), task.Run, 0},
		{"another's live lease", claimed(), true, "birth", now, task.Replace, rest},
		{"another's lease within the slack", claimed(), true, "birth", now.Add(rest - time.Second), task.Replace, time.Second},
		{"cancel requested, live lease", cancelling(), true, "birth", now, task.Replace, rest},
		{"cancel requested, dead worker", cancelling(), true, "birth", now.Add(rest), task.Cancel, 0},
		{"new", created(), true, "birth", now, task.Run, 0},
		{"dead worker", claimed(), true, "birth", now.Add(rest), task.Run, 0},
		{"dead worker, last attempt", lastAttempt(), true, "birth", now, task.Exhaust, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			verdict, delay := task.Judge(row.task, row.found, row.birth, row.at)
			equal(t, "verdict", verdict, row.want)
			equal(t, "delay", delay, row.delay)
		})
	}
}
