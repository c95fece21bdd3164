package worker_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"toolhost/infra/emulator"
	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// failing makes every call of a service or service/operation fail.
func failing(what string) func(emulator.Call) emulator.Effect {
	return func(c emulator.Call) emulator.Effect {
		if c.Service == what || c.Service+"/"+c.Operation == what {
			return emulator.Fail
		}
		return emulator.Serve
	}
}

// dropping loses the reply of every first try of an operation.
func dropping(what string) func(emulator.Call) emulator.Effect {
	return func(c emulator.Call) emulator.Effect {
		if c.Service+"/"+c.Operation == what && c.N%2 == 0 {
			return emulator.Drop
		}
		return emulator.Serve
	}
}

func TestFault(t *testing.T) {
	t.Run("a_send_that_fails_after_the_save_brings_the_message_back", func(t *testing.T) { // invariant 2
		s := newStage(t)
		s.host("tool", tool.Options{}, func(ctx context.Context) error { return tool.Sleep(ctx, "nap", time.Minute) })
		made := s.call("tool")
		records := s.receive()
		s.faults.Inject(failing("sqs/SendMessage"))
		failed := s.handle(t.Context(), s.Handle, records)
		equal(t, "come back", len(failed), 1)
		equal(t, "saved", s.load(made).WakeAt, s.clock.Now().Add(time.Minute))
		s.faults.Inject(nil)
		s.clock.Advance(limits.Visibility)
		s.work() // the old message, too early by now
		equal(t, "cause", s.only().Cause, queue.Replaced)
		s.clock.Advance(time.Minute)
		s.work()
		s.status(made, task.Completed)
		s.none()
	})
	t.Run("a_database_that_is_down_brings_the_message_back", func(t *testing.T) {
		s, runs := quick(t)
		made := s.call("quick")
		records := s.receive()
		s.faults.Inject(failing("dynamodb"))
		equal(t, "come back", len(s.handle(t.Context(), s.Handle, records)), 1)
		s.faults.Inject(nil)
		equal(t, "runs", *runs, 0)
		s.clock.Advance(limits.Visibility)
		s.work()
		s.status(made, task.Completed)
	})
	t.Run("a_message_that_fails_before_its_claim_is_back_soon_and_then_later_each_time", func(t *testing.T) {
		s, _ := quick(t)
		made := s.call("quick")
		wait := limits.Visibility
		for range 7 {
			records := s.receive()
			equal(t, "received", len(records), 1)
			s.faults.Inject(failing("dynamodb"))
			equal(t, "come back", len(s.handle(t.Context(), s.Handle, records)), 1)
			s.faults.Inject(nil)
			s.clock.Advance(wait - time.Second)
			equal(t, "received early", len(s.receive()), 0)
			s.clock.Advance(time.Second)
			wait = min(2*wait, limits.MaxDelay)
		}
		s.work()
		s.status(made, task.Completed)
	})
	t.Run("payloads_that_can_not_be_read_now_cost_no_attempt", func(t *testing.T) {
		s, runs := quick(t)
		made := s.call("quick", func(s *task.Spec) {
			s.Arguments = task.NewPayload(fmt.Appendf(nil, `{"value":%q}`, strings.Repeat("x", 10<<10)))
		})
		records := s.receive()
		s.faults.Inject(failing("dynamodb/BatchGetItem"))
		equal(t, "come back", len(s.handle(t.Context(), s.Handle, records)), 1)
		s.faults.Inject(nil)
		now := s.status(made, task.Working)
		equal(t, "lease", now.Lease, nil)
		equal(t, "attempts", now.Attempts, 0)
		s.clock.Advance(limits.Visibility)
		s.work()
		s.status(made, task.Completed)
		equal(t, "runs", *runs, 1)
	})
	t.Run("a_terminal_save_that_fails_is_done_again_after_the_lease", func(t *testing.T) {
		s := newStage(t)
		s.host("tool", tool.Options{}, func(context.Context) error { s.faults.Inject(failing("dynamodb")); return nil })
		made := s.call("tool")
		equal(t, "come back", len(s.begin(t.Context())()), 1)
		s.faults.Inject(nil)
		s.clock.Advance(limits.Visibility)
		s.begin(t.Context())()
		s.faults.Inject(nil)
		equal(t, "attempts", s.load(made).Attempts, 1)
	})
	t.Run("lost_replies_of_claim_and_terminal_save_do_no_harm", func(t *testing.T) { // case 2
		s, runs := quick(t)
		made := s.created("quick")
		s.wake(made)
		s.faults.Inject(func(c emulator.Call) emulator.Effect {
			if c.Operation == "PutItem" && (c.N == 2 || c.N == 4) { // each is sent again
				return emulator.Drop
			}
			return emulator.Serve
		})
		s.work()
		now := s.status(made, task.Completed)
		equal(t, "runs", *runs, 1)
		equal(t, "claims", now.Claims, 1)
		equal(t, "writes", s.faults.Counts()["dynamodb/PutItem"], 5)
	})
	t.Run("lost_replies_of_every_kind_do_no_harm", func(t *testing.T) {
		for _, operation := range []string{"dynamodb/PutItem", "dynamodb/GetItem", "dynamodb/Query", "sqs/SendMessage", "sqs/ChangeMessageVisibility"} {
			s := newStage(t)
			done := 0
			s.host("tool", tool.Options{}, func(ctx context.Context) error {
				if _, err := tool.Step(ctx, "step", func(context.Context) (int, error) { done++; return 1, nil }); err != nil {
					return err
				}
				return tool.Sleep(ctx, "nap", time.Minute)
			})
			made := s.call("tool")
			s.faults.Inject(dropping(operation))
			for range 4 {
				s.work()
				s.clock.Advance(time.Minute)
			}
			s.faults.Inject(nil)
			s.status(made, task.Completed)
			equal(t, "steps done under "+operation, done, 1)
		}
	})
	t.Run("a_step_that_can_not_be_recorded_is_tried_again_and_shows_no_internals", func(t *testing.T) { // R-V4
		s := newStage(t)
		s.host("tool", tool.Options{}, func(ctx context.Context) error {
			s.faults.Inject(failing("dynamodb"))
			defer s.faults.Inject(nil)
			_, err := tool.Step(ctx, "step", func(context.Context) (int, error) { return 1, nil })
			return err
		})
		made := s.call("tool")
		for range limits.Attempts {
			s.work()
			s.clock.Advance(limits.MaxDelay)
		}
		equal(t, "message", s.status(made, task.Failed).StatusMessage, "the tool gave up after its last attempt")
	})
	t.Run("a_step_that_ends_with_its_context_is_recorded", func(t *testing.T) {
		l := newLong(t)
		done := 0
		l.host("tool", tool.Options{}, func(ctx context.Context) error {
			_, err := tool.Step(ctx, "step", func(ctx context.Context) (int, error) {
				done++
				l.began <- ctx
				<-ctx.Done()
				return 1, nil
			})
			if err != nil {
				return err
			}
			return ctx.Err()
		})
		made := l.call("tool")
		ctx, stop := context.WithCancel(t.Context())
		end := l.begin(ctx)
		<-l.began
		stop()
		end()
		l.work()
		l.status(made, task.Completed)
		equal(t, "done", done, 1)
	})
	t.Run("an_answer_during_a_run_is_not_a_lost_lease", func(t *testing.T) { // case 60
		l := newLong(t)
		made := l.call("long")
		end := l.begin(t.Context())
		<-l.began
		l.change(made, func(t task.Task) (task.Task, error) {
			return task.Resolve(t, "built", task.NewPayload([]byte(`{}`)), "digest", l.clock.Now())
		})
		l.release <- nil
		equal(t, "come back", len(end()), 0)
		l.status(made, task.Completed)
	})
	t.Run("a_message_is_judged_anew_when_another_was_faster", func(t *testing.T) {
		s, runs := quick(t)
		made := s.call("quick")
		s.faults.Inject(func(c emulator.Call) emulator.Effect {
			if c.Operation == "PutItem" && c.N == 2 { // our claim: another's comes just before it
				s.claimedByAnother(made)
			}
			return emulator.Serve
		})
		s.work()
		equal(t, "runs", *runs, 0)
		equal(t, "cause", s.only().Cause, queue.Replaced)
		equal(t, "claims", s.load(made).Claims, 1)
	})
	t.Run("a_run_whose_lease_ended_before_its_tool_began_asks_for_it_anew", func(t *testing.T) { // case 7
		for _, taken := range []bool{false, true} {
			s, runs := quick(t)
			made := s.call("quick")
			s.faults.Inject(func(c emulator.Call) emulator.Effect {
				if c.Operation == "ChangeMessageVisibility" && c.N == 1 {
					s.clock.Advance(limits.Visibility)
					if taken {
						s.claimedByAnother(made)
					}
				}
				return emulator.Serve
			})
			failed := s.handle(t.Context(), s.Handle, s.receive())
			if taken {
				equal(t, "runs", *runs, 0)
				equal(t, "come back", len(failed), 1)
				equal(t, "claims", s.status(made, task.Working).Claims, 2)
				continue
			}
			equal(t, "runs", *runs, 1)
			equal(t, "claims", s.status(made, task.Completed).Claims, 1)
		}
	})
	t.Run("two_messages_of_a_task_in_one_batch_run_it_once", func(t *testing.T) {
		l := newLong(t)
		made := l.call("long")
		l.wake(made)
		end := l.begin(t.Context())
		<-l.began
		for len(l.sent()) == 0 { // the other is replaced
			runtime.Gosched()
		}
		l.release <- nil
		equal(t, "come back", len(end()), 0)
		l.status(made, task.Completed)
		equal(t, "runs", len(l.began), 0)
	})
}

// A worker that was paused past its lease wakes up to a task that is done.
func TestStaleWorker(t *testing.T) { // case 7
	l := newLong(t)
	stale, fresh := make(chan bool), make(chan bool, 1)
	runs := 0
	l.host("tool", tool.Options{}, func(ctx context.Context) error {
		runs++
		by := fmt.Sprint("run ", runs)
		if runs == 1 {
			l.began <- ctx
			<-stale
		}
		kept, err := tool.Step(ctx, "who", func(context.Context) (string, error) { return by, nil })
		fresh <- kept == "run 2"
		return err
	})
	made := l.call("tool")
	end := l.begin(t.Context())
	ctx := <-l.began
	l.waits(limits.CancelPoll)
	// Its process stands still: no beat, while the lease ends and the message comes back.
	l.faults.Inject(func(c emulator.Call) emulator.Effect { return emulator.Fail })
	l.clock.Advance(limits.Visibility)
	l.waits(limits.ReportEvery)
	<-ctx.Done()
	l.faults.Inject(nil)
	if failed := l.handle(t.Context(), l.another().Handle, l.receive()); len(failed) > 0 {
		t.Errorf("the fresh worker failed: %v", failed)
	}
	before := l.status(made, task.Completed)
	equal(t, "the step is its own", <-fresh, true)
	close(stale)
	equal(t, "come back", len(end()), 0)
	equal(t, "the late step adopts what is stored", <-fresh, true)
	now := l.status(made, task.Completed)
	equal(t, "revision", now.Revision, before.Revision)
	steps, err := l.store.Steps(t.Context(), now)
	if err != nil || len(steps) != 1 || string(steps[0].Value.Inline) != `"run 2"` {
		t.Errorf("steps: %+v, %v", steps, err)
	}
}

// Cancel, progress and completion in parallel: one terminal status each (case 10).
func TestRace(t *testing.T) {
	s := newStage(t)
	release := make(chan bool, 1)
	s.host("tool", tool.Options{}, func(ctx context.Context) error {
		tool.Report(ctx, 1, 2, "half")
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	ends := map[task.Status]int{}
	for range 500 {
		made := s.call("tool")
		end := s.begin(t.Context())
		s.waits(limits.CancelPoll)
		start := make(chan bool)
		var all sync.WaitGroup
		all.Go(func() { <-start; s.clock.Advance(limits.CancelPoll) })
		all.Go(func() {
			<-start
			_, err := store.Update(t.Context(), s.store, made, func(t task.Task) (task.Task, error) { return task.RequestCancel(t, s.clock.Now()) })
			if err != nil && !fault.Is(err, fault.Illegal) { // over by then, which is acknowledged too
				t.Errorf("cancel: %v", err)
			}
		})
		all.Go(func() { <-start; release <- true })
		close(start)
		if failed := end(); len(failed) > 0 {
			t.Errorf("come back: %v", failed)
		}
		all.Wait()
		select { // not taken by a tool that was cancelled before
		case <-release:
		default:
		}
		first := s.load(made)
		if !first.Status.Terminal() {
			t.Fatalf("not terminal: %s\n%s", first.Status, s.log)
		}
		ends[first.Status]++
		s.wake(made)
		s.work()
		equal(t, "revision", s.load(made).Revision, first.Revision)
	}
	s.none()
	if ends[task.Completed]+ends[task.Cancelled] != 500 {
		t.Errorf("ends: %v", ends)
	}
}
