package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// long is a stage with a tool that runs until it is let go or stopped, and one
// that ignores being stopped.
type long struct {
	*stage
	began   chan context.Context
	release chan error
}

func newLong(t *testing.T) *long {
	l := &long{newStage(t), make(chan context.Context, 10), make(chan error, 10)}
	l.host("long", tool.Options{}, func(ctx context.Context) error {
		l.began <- ctx
		select {
		case err := <-l.release:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	l.host("deaf", tool.Options{}, func(ctx context.Context) error {
		l.began <- ctx
		return <-l.release
	})
	// Whatever a tool still waits for, it does not outlive the test.
	t.Cleanup(func() { close(l.release) })
	return l
}

func TestHeartbeat(t *testing.T) {
	t.Run("leaves_a_short_run_alone_and_then_reads_every_two_seconds", func(t *testing.T) {
		l := newLong(t)
		l.call("long")
		end := l.begin(t.Context())
		<-l.began
		l.waits(limits.CancelPoll)
		l.clock.Advance(limits.CancelPoll - 1)
		reads := func() int { return l.faults.Counts()["dynamodb/GetItem"] }
		equal(t, "before two seconds", reads(), 1)
		l.clock.Advance(1)
		l.waits(limits.ReportEvery)
		equal(t, "at two", reads(), 2)
		l.beats(5)
		equal(t, "at seven", reads(), 4)
		equal(t, "writes: create and claim", l.faults.Counts()["dynamodb/PutItem"], 2)
		l.release <- nil
		end()
	})
	t.Run("renews_the_lease_and_hides_the_message_at_a_third", func(t *testing.T) {
		l := newLong(t)
		made := l.call("long")
		end := l.begin(t.Context())
		<-l.began
		l.first()
		l.beats(8)
		now := l.load(made)
		equal(t, "lease", now.Lease.Until, l.clock.Now().Add(limits.Lease))
		equal(t, "hidden", l.sqs.Messages("tasks")[0].VisibleAt, l.clock.Now().Add(limits.Visibility))
		l.beats(60)
		equal(t, "writes", l.faults.Counts()["dynamodb/PutItem"], 2+7)
		equal(t, "still hidden", len(l.receive()), 0)
		l.release <- nil
		equal(t, "come back", len(end()), 0)
		l.status(made, task.Completed)
	})
	t.Run("shows_progress_once_a_second_and_only_if_it_changed", func(t *testing.T) { // case 32
		l := newLong(t)
		said, next := make(chan string), make(chan bool)
		l.host("talks", tool.Options{}, func(ctx context.Context) error {
			for m := range said {
				for i := range 100 {
					tool.Report(ctx, float64(i), 0, fmt.Sprint(m, i))
				}
				next <- true
			}
			return nil
		})
		made := l.call("talks")
		end := l.begin(t.Context())
		say := func(m string) { said <- m; <-next }
		say("one-")
		l.first()
		equal(t, "message", l.load(made).StatusMessage, "99: one-99")
		say("two-")
		l.beats(1)
		equal(t, "message", l.load(made).StatusMessage, "99: two-99")
		l.beats(3)
		say("two-")
		l.beats(1)
		equal(t, "writes", l.faults.Counts()["dynamodb/PutItem"], 4)
		close(said)
		end()
	})
	t.Run("hears_a_cancel_whatever_is_reported", func(t *testing.T) {
		for what, message := range map[string]string{
			"too long":                    strings.Repeat("x", 2*limits.MaxStatusMessage),
			"shown already by a last run": "as before",
		} {
			l := newLong(t)
			l.host("talks", tool.Options{}, func(ctx context.Context) error {
				tool.Report(ctx, 0, 0, message)
				l.began <- ctx
				<-ctx.Done()
				return ctx.Err()
			})
			made := l.call("talks")
			l.as(made, func(t task.Task, now time.Time) (task.Task, error) {
				t, _ = task.Report(t, "former", "as before", now)
				return task.Release(t, "former", time.Time{}, false, now)
			})
			end := l.begin(t.Context())
			<-l.began
			l.first()
			l.beats(4)
			l.cancel(made)
			l.clock.Advance(limits.ReportEvery)
			l.waits(limits.ReportEvery)
			l.clock.Advance(limits.ReportEvery)
			end()
			equal(t, what, l.load(made).Status, task.Cancelled)
		}
	})
	t.Run("stops_the_tool_of_a_lost_lease_and_saves_nothing_more", func(t *testing.T) { // cases 7, 10
		for _, silent := range []bool{true, false} { // a read finds out, or a refused write
			l := newLong(t)
			l.host("talks", tool.Options{}, func(ctx context.Context) error {
				if !silent {
					tool.Report(ctx, 1, 2, "")
				}
				l.began <- ctx
				<-ctx.Done()
				return nil // too late
			})
			made := l.call("talks")
			end := l.begin(t.Context())
			<-l.began
			l.waits(limits.CancelPoll)
			taken := l.change(made, func(t task.Task) (task.Task, error) {
				return task.Claim(t, "another", limits.Lease, l.clock.Now().Add(limits.Visibility))
			})
			l.clock.Advance(limits.CancelPoll)
			equal(t, "come back", len(end()), 1) // to be judged again
			now := l.load(made)
			equal(t, "revision", now.Revision, taken.Revision)
			equal(t, "holder", now.Lease.Holder, "another")
		}
	})
	t.Run("of_a_task_that_is_gone_stops_the_tool_quietly", func(t *testing.T) {
		l := newLong(t)
		made := l.call("long")
		end := l.begin(t.Context())
		<-l.began
		l.waits(limits.CancelPoll)
		l.remove(made)
		l.clock.Advance(limits.CancelPoll)
		equal(t, "come back", len(end()), 0)
		l.none()
	})
	t.Run("shows_the_last_progress_of_a_run_that_parks", func(t *testing.T) {
		l := newLong(t)
		l.host("talks", tool.Options{}, func(ctx context.Context) error {
			tool.Report(ctx, 3, 4, "")
			return tool.Sleep(ctx, "nap", time.Hour)
		})
		made := l.call("talks")
		l.work()
		equal(t, "message", l.load(made).StatusMessage, "3 of 4")
	})
	t.Run("a_status_message_is_the_count_the_words_or_both", func(t *testing.T) {
		for want, p := range map[string]tool.Progress{
			"3 of 4": {Done: 3, Total: 4}, "3": {Done: 3}, "0 of 4: half": {Total: 4, Message: "half"},
			"1.5 of 4: half": {Done: 1.5, Total: 4, Message: "half"}, "3: half": {Done: 3, Message: "half"}, "half": {Message: "half"},
		} {
			l := newLong(t)
			l.host("talks", tool.Options{}, func(ctx context.Context) error {
				tool.Report(ctx, p.Done, p.Total, p.Message)
				return tool.Sleep(ctx, "nap", time.Hour)
			})
			made := l.call("talks")
			l.work()
			equal(t, "message", l.load(made).StatusMessage, want)
		}
	})
	t.Run("a_task_that_asks_shows_its_question_and_no_progress", func(t *testing.T) {
		l := newLong(t)
		l.host("talks", tool.Options{}, func(ctx context.Context) error {
			tool.Report(ctx, 3, 4, "half")
			_, err := tool.Ask[struct{}](ctx, "sure", "Sure?")
			return err
		})
		made := l.call("talks")
		l.work()
		equal(t, "message", l.status(made, task.InputRequired).StatusMessage, "")
	})
	t.Run("goes_on_when_a_read_or_renewal_fails_within_the_lease", func(t *testing.T) {
		l := newLong(t)
		made := l.call("long")
		end := l.begin(t.Context())
		<-l.began
		l.first()
		l.faults.Inject(failing("dynamodb"))
		l.beats(20)
		l.faults.Inject(nil)
		l.beats(1)
		equal(t, "lease", l.load(made).Lease.Until, l.clock.Now().Add(limits.Lease))
		l.release <- nil
		end()
		l.status(made, task.Completed)
	})
	t.Run("stops_the_tool_when_the_lease_can_not_be_renewed_to_its_end", func(t *testing.T) {
		l := newLong(t)
		l.call("long")
		end := l.begin(t.Context())
		ctx := <-l.began
		l.first()
		l.faults.Inject(failing("dynamodb"))
		l.beats(27)
		equal(t, "still runs", ctx.Err(), nil)
		l.clock.Advance(limits.ReportEvery)
		<-ctx.Done()
		equal(t, "come back", len(end()), 1)
	})
}

func TestCancel(t *testing.T) {
	t.Run("of_a_running_tool_reaches_it_within_two_seconds", func(t *testing.T) { // R-X3
		l := newLong(t)
		made := l.call("long")
		end := l.begin(t.Context())
		ctx := <-l.began
		l.waits(limits.CancelPoll)
		l.cancel(made)
		l.clock.Advance(limits.CancelPoll)
		equal(t, "come back", len(end()), 0)
		equal(t, "context", context.Cause(ctx) != nil && errors.Is(ctx.Err(), context.Canceled), true)
		l.status(made, task.Cancelled)
		l.none()
		equal(t, "exits", len(l.exits), 0)
	})
	t.Run("loses_to_a_result_that_is_finished", func(t *testing.T) { // R-X2
		l := newLong(t)
		made := l.call("long")
		end := l.begin(t.Context())
		<-l.began
		l.cancel(made)
		l.release <- nil
		end()
		l.status(made, task.Completed)
	})
	t.Run("wins_over_a_question_a_sleep_and_a_failure", func(t *testing.T) {
		for _, err := range []string{"ask", "sleep", "retry", "fail"} {
			l := newLong(t)
			l.host("tool", tool.Options{}, func(ctx context.Context) error {
				l.began <- ctx
				<-l.release
				switch err {
				case "ask":
					_, err := tool.AskRaw(ctx, question("a"))
					return err
				case "sleep":
					return tool.Sleep(ctx, "nap", time.Hour)
				case "retry":
					return tool.Retry(errors.New("again"), 0)
				}
				panic("fail")
			})
			made := l.call("tool")
			end := l.begin(t.Context())
			<-l.began
			l.cancel(made)
			l.release <- nil
			end()
			l.status(made, task.Cancelled)
			l.none()
		}
	})
	t.Run("settles_a_tool_that_ignores_it_and_ends_the_process", func(t *testing.T) {
		l := newLong(t)
		made := l.call("deaf")
		end := l.begin(t.Context())
		<-l.began
		l.waits(limits.CancelPoll)
		l.cancel(made)
		l.clock.Advance(limits.CancelPoll)
		l.waits(limits.CancelGrace)
		equal(t, "in the grace", l.load(made).Status, task.Working)
		l.clock.Advance(limits.CancelGrace)
		<-l.exits
		end()
		l.status(made, task.Cancelled)
		// The process is gone, its message comes back, and is dropped.
		l.wake(made)
		l.work()
		l.none()
	})
	t.Run("of_a_queued_or_waiting_task_needs_no_worker", func(t *testing.T) {
		l := newLong(t)
		made := l.call("long")
		l.cancel(made)
		l.status(made, task.Cancelled)
		l.work()
		equal(t, "runs", len(l.began), 0)
		l.none()
	})
}

func TestDeadline(t *testing.T) {
	t.Run("of_a_leg_goes_on_if_a_step_was_recorded", func(t *testing.T) {
		l := newLong(t)
		done := 0
		l.host("steps", tool.Options{}, func(ctx context.Context) error {
			for i := range 3 {
				_, err := tool.Step(ctx, fmt.Sprint("step", i), func(context.Context) (int, error) { done++; return i, nil })
				if err != nil {
					return err
				}
				l.began <- ctx
				select {
				case <-l.release:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
		made := l.call("steps")
		ctx, cancel := context.WithTimeout(t.Context(), limits.WorkerTimeout)
		defer cancel()
		end := l.begin(ctx)
		<-l.began
		l.waits(limits.CancelPoll)
		l.clock.Advance(limits.WorkerTimeout - limits.LegMargin)
		equal(t, "come back", len(end()), 0)
		now := l.status(made, task.Working)
		equal(t, "attempts", now.Attempts, 0)
		m := l.only()
		equal(t, "cause", m.Cause, queue.Leg)
		equal(t, "delay", m.delay, 0)
		end = l.begin(t.Context())
		for range 3 {
			<-l.began
			l.release <- nil
		}
		end()
		l.status(made, task.Completed)
		equal(t, "each step was done once", done, 3)
	})
	t.Run("of_a_leg_goes_on_if_the_tool_allows_a_rerun", func(t *testing.T) {
		l := newLong(t)
		l.host("reruns", tool.Options{Rerun: true}, func(ctx context.Context) error {
			l.began <- ctx
			<-ctx.Done()
			return ctx.Err()
		})
		made := l.call("reruns")
		l.leg(t)
		equal(t, "attempts", l.status(made, task.Working).Attempts, 0)
		equal(t, "cause", l.only().Cause, queue.Leg)
	})
	t.Run("of_a_leg_without_steps_costs_an_attempt_and_the_last_one_fails", func(t *testing.T) { // case 8
		l := newLong(t)
		made := l.call("long")
		for attempt := 1; attempt < limits.Attempts; attempt++ {
			l.leg(t)
			equal(t, "attempts", l.status(made, task.Working).Attempts, attempt)
			m := l.only()
			equal(t, "not before the lease", m.delay, limits.Visibility)
			l.clock.Advance(m.delay)
		}
		l.leg(t)
		equal(t, "message", l.status(made, task.Failed).StatusMessage, "the tool ran out of time and recorded no step")
		l.none()
	})
	t.Run("that_a_tool_ignores_releases_the_task_and_ends_the_process", func(t *testing.T) {
		l := newLong(t)
		made := l.call("deaf")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		end := l.begin(ctx)
		<-l.began
		l.waits(limits.CancelPoll)
		l.clock.Advance(20 * time.Second)
		l.graceOver()
		<-l.exits
		end()
		equal(t, "attempts", l.status(made, task.Working).Attempts, 1)
		equal(t, "cause", l.only().Cause, queue.Retried)
	})
	t.Run("of_the_task_fails_it_while_it_can_be_read", func(t *testing.T) { // case 4
		l := newLong(t)
		made := l.call("long", func(s *task.Spec) { s.TTL, s.Retention = 2*time.Minute, time.Hour })
		end := l.begin(t.Context())
		<-l.began
		l.waits(limits.CancelPoll)
		l.clock.Advance(2*time.Minute - limits.ExpiryMargin)
		end()
		now := l.status(made, task.Failed)
		equal(t, "message", now.StatusMessage, "the task ran to the end of its time to live of 2m0s")
		equal(t, "readable", now.ExpiresAt(), l.clock.Now().Add(time.Hour))
		l.none()
	})
	t.Run("of_the_tool_s_own_that_it_ignores_fails_the_task", func(t *testing.T) {
		l := newLong(t)
		l.host("limited", tool.Options{Timeout: time.Hour}, func(ctx context.Context) error { l.began <- ctx; return <-l.release })
		made := l.call("limited")
		end := l.begin(t.Context())
		<-l.began
		l.waits(limits.CancelPoll)
		l.clock.Advance(time.Hour + limits.CancelGrace)
		l.graceOver()
		<-l.exits
		end()
		equal(t, "message", l.status(made, task.Failed).StatusMessage, "the tool ran longer than its limit of 1h0m0s")
	})
	t.Run("of_the_process_hands_the_task_on_at_once", func(t *testing.T) {
		l := newLong(t)
		made := l.call("long")
		ctx, stop := context.WithCancel(t.Context())
		end := l.begin(ctx)
		<-l.began
		stop()
		equal(t, "come back", len(end()), 0)
		equal(t, "attempts", l.status(made, task.Working).Attempts, 0)
		equal(t, "delay", l.only().delay, 0)
		end = l.begin(t.Context())
		<-l.began
		l.release <- nil
		end()
		l.status(made, task.Completed)
	})
}

// leg lets a tool run out of a function's time.
func (l *long) leg(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limits.WorkerTimeout)
	defer cancel()
	end := l.begin(ctx)
	<-l.began
	l.waits(limits.CancelPoll)
	l.clock.Advance(limits.WorkerTimeout - limits.LegMargin)
	equal(t, "come back", len(end()), 0)
}

// graceOver moves the clock past a grace once a worker has begun to wait for it.
func (l *long) graceOver() {
	l.t.Helper()
	for d := range l.clock.begun {
		if d != limits.ReportEvery && d != limits.CancelPoll {
			l.clock.Advance(d)
			return
		}
	}
}
