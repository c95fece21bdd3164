package worker_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
	"toolhost/pkg/worker"
)

func TestNew(t *testing.T) {
	s := newStage(t)
	for name, o := range map[string]worker.Options{
		"no tools":      {Store: s.store, Queue: s.queue},
		"no store":      {Tools: s.tools, Queue: s.queue},
		"no queue":      {Tools: s.tools, Store: s.store},
		"no keys":       {Tools: s.tools, Store: s.store, Queue: s.queue, PublicURL: "https://toolhost.example"},
		"a short lease": {Tools: s.tools, Store: s.store, Queue: s.queue, Lease: limits.CancelPoll},
	} {
		if _, err := worker.New(o); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// quick is a stage with a tool that returns at once, and counts its runs.
func quick(t *testing.T) (*stage, *int) {
	s, runs := newStage(t), new(int)
	var mu sync.Mutex // a batch's records run side by side
	s.host("quick", tool.Options{}, func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		*runs++
		return nil
	})
	return s, runs
}

// as changes a task as the events of a former run would.
func (s *stage) as(t task.Task, then func(task.Task, time.Time) (task.Task, error)) task.Task {
	s.t.Helper()
	s.change(t, func(t task.Task) (task.Task, error) { return task.Claim(t, "former", limits.Lease, s.clock.Now()) })
	return s.change(t, func(t task.Task) (task.Task, error) { return then(t, s.clock.Now()) })
}

func (s *stage) claimedByAnother(t task.Task) task.Task {
	s.t.Helper()
	return s.change(t, func(t task.Task) (task.Task, error) { return task.Claim(t, "another", limits.Lease, s.clock.Now()) })
}

// TestMessage is the table of what a worker does with a message (design §1).
func TestMessage(t *testing.T) {
	asked := func(t task.Task, now time.Time) (task.Task, error) {
		return task.Ask(t, "former", []task.Input{{Key: "a", Method: "roots/list"}}, now)
	}
	dropped := func(t *testing.T, prepare func(*stage) (task.Task, queue.Message)) {
		s, runs := quick(t)
		before, m := prepare(s)
		m.Cause = queue.Created
		s.send(m)
		s.work()
		s.none()
		equal(t, "runs", *runs, 0)
		if before.ID != "" {
			equal(t, "revision", s.load(before).Revision, before.Revision)
		}
	}
	to := func(t task.Task) (task.Task, queue.Message) { return t, queue.Message{TaskID: t.ID, Birth: t.Birth} }

	t.Run("no_such_task_is_dropped", func(t *testing.T) {
		dropped(t, func(*stage) (task.Task, queue.Message) {
			return task.Task{}, queue.Message{TaskID: "unknown", Birth: "birth"}
		})
	})
	t.Run("of_another_birth_is_dropped", func(t *testing.T) { // invariant 4
		dropped(t, func(s *stage) (task.Task, queue.Message) {
			made := s.created("quick")
			return made, queue.Message{TaskID: made.ID, Birth: "earlier"}
		})
	})
	t.Run("to_a_terminal_task_is_dropped", func(t *testing.T) {
		dropped(t, func(s *stage) (task.Task, queue.Message) { return to(s.cancel(s.created("quick"))) })
	})
	t.Run("to_an_expired_task_is_dropped", func(t *testing.T) { // R-G8
		dropped(t, func(s *stage) (task.Task, queue.Message) {
			made := s.created("quick", func(s *task.Spec) { s.TTL = time.Minute })
			s.clock.Advance(time.Minute)
			return to(made)
		})
	})
	t.Run("to_a_task_that_waits_for_answers_is_dropped", func(t *testing.T) {
		dropped(t, func(s *stage) (task.Task, queue.Message) { return to(s.as(s.created("quick"), asked)) })
	})
	t.Run("to_a_task_that_waits_for_a_callback_is_dropped", func(t *testing.T) {
		dropped(t, func(s *stage) (task.Task, queue.Message) {
			return to(s.as(s.created("quick"), func(t task.Task, now time.Time) (task.Task, error) {
				return task.AwaitCallback(t, "former", "built", now)
			}))
		})
	})
	t.Run("to_a_sleeping_task_is_replaced", func(t *testing.T) {
		for sleep, delay := range map[time.Duration]time.Duration{time.Minute: time.Minute, time.Hour: limits.MaxDelay} {
			s, runs := quick(t)
			made := s.created("quick", func(s *task.Spec) { s.Owner.Subject = "ann" })
			s.as(made, func(t task.Task, now time.Time) (task.Task, error) {
				return task.Sleep(t, "former", now.Add(sleep), now)
			})
			s.send(queue.Message{TaskID: made.ID, Birth: made.Birth, Cause: queue.Slept, Hops: 7, Trace: "trace"})
			s.work()
			m := s.only()
			equal(t, "delay", m.delay, delay)
			equal(t, "cause", m.Cause, queue.Replaced)
			equal(t, "hops", m.Hops, 8)
			equal(t, "trace", m.Trace, "trace")
			equal(t, "shared fairly", m.group != "", true)
			equal(t, "runs", *runs, 0)
		}
	})
	t.Run("under_another's_live_lease_is_replaced_and_burns_no_receive", func(t *testing.T) { // case 20
		s, runs := quick(t)
		made := s.call("quick")
		s.claimedByAnother(made)
		s.clock.Advance(10 * time.Second)
		s.work()
		m := s.only()
		equal(t, "delay", m.delay, limits.Visibility-10*time.Second)
		equal(t, "cause", m.Cause, queue.Replaced)
		equal(t, "runs", *runs, 0)
		equal(t, "in the queue", len(s.sqs.Messages("tasks")), 1)
	})
	t.Run("finds_a_cancel_and_no_live_lease_and_settles_it", func(t *testing.T) {
		s, runs := quick(t)
		made := s.call("quick")
		s.claimedByAnother(made)
		s.cancel(made)
		s.clock.Advance(limits.Visibility)
		s.work()
		s.status(made, task.Cancelled)
		s.none()
		equal(t, "runs", *runs, 0)
	})
	t.Run("to_a_working_task_runs_its_tool", func(t *testing.T) {
		s, runs := quick(t)
		made := s.call("quick")
		s.work()
		now := s.status(made, task.Completed)
		s.none()
		equal(t, "runs", *runs, 1)
		equal(t, "claims", now.Claims, 1)
		result, err := s.store.Payload(t.Context(), now, now.Outcome)
		if err != nil || !strings.Contains(string(result), `"done"`) || !strings.Contains(string(result), `"resultType":"complete"`) {
			t.Errorf("result: %s, %v", result, err)
		}
	})
	t.Run("to_a_dead_worker's_task_takes_it_over", func(t *testing.T) { // case 48
		s, runs := quick(t)
		made := s.call("quick")
		s.claimedByAnother(made)
		s.clock.Advance(limits.Visibility)
		s.work()
		now := s.status(made, task.Completed)
		equal(t, "runs", *runs, 1)
		equal(t, "claims", now.Claims, 2)
	})
	t.Run("after_the_last_attempt_died_fails_the_task", func(t *testing.T) {
		s, runs := quick(t)
		made := s.call("quick", func(s *task.Spec) { s.MaxAttempts = 1 })
		s.claimedByAnother(made)
		s.clock.Advance(limits.Visibility)
		s.work()
		now := s.status(made, task.Failed)
		s.none()
		equal(t, "runs", *runs, 0)
		equal(t, "message", now.StatusMessage, "the process that ran the tool died in each of its 1 attempts")
	})
	t.Run("for_a_tool_that_is_gone_fails_the_task", func(t *testing.T) {
		s := newStage(t)
		made := s.call("removed")
		s.work()
		now := s.status(made, task.Failed)
		s.none()
		equal(t, "message", now.StatusMessage, `the tool "removed" is not hosted here any more`)
	})
	t.Run("twice_runs_the_tool_once", func(t *testing.T) {
		s, runs := quick(t)
		made := s.call("quick")
		s.wake(made)
		for _, r := range s.receive() {
			s.handle(t.Context(), s.Handle, append(s.receive(), r))
		}
		s.status(made, task.Completed)
		equal(t, "runs", *runs, 1)
		s.none()
	})
}

func TestHops(t *testing.T) {
	last := func(s *stage, m task.Task) {
		s.send(queue.Message{TaskID: m.ID, Birth: m.Birth, Cause: queue.Replaced, Hops: limits.MaxHops})
		s.work()
	}
	t.Run("are_bounded_and_end_in_failed", func(t *testing.T) { // case 59
		s, _ := quick(t)
		made := s.created("quick")
		s.as(made, func(t task.Task, now time.Time) (task.Task, error) {
			return task.Sleep(t, "former", now.Add(time.Hour), now)
		})
		last(s, made)
		now := s.status(made, task.Failed)
		equal(t, "message", now.StatusMessage, "the task was woken more than 2000 times")
		s.none()
	})
	t.Run("of_a_duplicate_do_not_fail_a_task_that_runs", func(t *testing.T) {
		s, _ := quick(t)
		made := s.created("quick")
		s.claimedByAnother(made)
		last(s, made)
		s.status(made, task.Working)
		s.none()
	})
}

// A short task without questions costs put, claim and complete, and one read.
func TestCost(t *testing.T) {
	s, _ := quick(t)
	made := s.call("quick")
	s.work()
	s.status(made, task.Completed)
	counts := s.faults.Counts()
	equal(t, "writes", counts["dynamodb/PutItem"], 3)
	equal(t, "reads", counts["dynamodb/GetItem"], 2) // the second is this test's own
	equal(t, "queries", counts["dynamodb/Query"], 0)
	equal(t, "batches", counts["dynamodb/BatchGetItem"], 0)
	equal(t, "messages", counts["sqs/SendMessage"], 1)
	equal(t, "visibility changes", counts["sqs/ChangeMessageVisibility"], 1)
}
