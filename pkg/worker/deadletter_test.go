package worker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// buried gives a task's message to the dead-letter handler.
func (s *stage) buried(t task.Task, redrives int) {
	s.t.Helper()
	s.send(queue.Message{TaskID: t.ID, Birth: t.Birth, Cause: queue.Created, Redrives: redrives})
	if failed := s.handle(s.t.Context(), s.DeadLetter, s.receive()); len(failed) > 0 {
		s.t.Errorf("dead letters come back: %v", failed)
	}
}

func TestDeadLetter(t *testing.T) { // case 62
	t.Run("of_a_task_that_is_gone_over_or_parked_is_dropped", func(t *testing.T) {
		s, _ := quick(t)
		s.buried(task.Task{ID: "unknown", Birth: "b"}, 0)
		s.buried(s.cancel(s.created("quick")), 0)
		s.buried(s.as(s.created("quick"), func(t task.Task, now time.Time) (task.Task, error) {
			return task.AwaitCallback(t, "former", "built", now)
		}), 0)
		s.none()
	})
	t.Run("of_a_task_that_runs_waits_for_the_end_of_its_lease", func(t *testing.T) {
		s, _ := quick(t)
		made := s.created("quick", func(s *task.Spec) { s.MaxAttempts = 1 })
		s.claimedByAnother(made)
		s.buried(made, limits.MaxRedrives)
		s.status(made, task.Working)
		m := s.only()
		equal(t, "delay", m.delay, limits.Visibility)
		equal(t, "cause", m.Cause, queue.Redriven)
		equal(t, "redrives", m.Redrives, limits.MaxRedrives)
		s.clock.Advance(m.delay)
		s.work() // the worker died after all, in its last attempt
		s.status(made, task.Failed)
	})
	t.Run("of_a_task_whose_last_attempt_died_fails_it", func(t *testing.T) {
		s, _ := quick(t)
		made := s.created("quick", func(s *task.Spec) { s.MaxAttempts = 1 })
		s.claimedByAnother(made)
		s.clock.Advance(limits.Visibility)
		s.buried(made, 0)
		s.status(made, task.Failed)
		s.none()
	})
	t.Run("of_a_cancelled_task_settles_it", func(t *testing.T) {
		s, _ := quick(t)
		made := s.created("quick")
		s.claimedByAnother(made)
		s.cancel(made)
		s.clock.Advance(limits.Visibility)
		s.buried(made, 0)
		s.status(made, task.Cancelled)
		s.none()
	})
	t.Run("of_any_other_is_sent_again_a_bounded_number_of_times", func(t *testing.T) {
		s, runs := quick(t)
		made := s.created("quick")
		for redrives := range limits.MaxRedrives {
			s.buried(made, redrives)
			m := s.only()
			equal(t, "redrives", m.Redrives, redrives+1)
			s.receive()
		}
		s.buried(made, limits.MaxRedrives)
		now := s.status(made, task.Failed)
		equal(t, "says why", strings.Contains(now.StatusMessage, "died before it could begin"), true)
		equal(t, "runs", *runs, 0)
	})
	t.Run("that_is_sent_again_and_runs_counts_anew", func(t *testing.T) {
		s := newStage(t)
		s.host("naps", tool.Options{}, func(ctx context.Context) error { return tool.Sleep(ctx, "nap", time.Minute) })
		s.buried(s.created("naps"), limits.MaxRedrives-1)
		equal(t, "redrives", s.only().Redrives, limits.MaxRedrives)
		s.work()
		equal(t, "redrives after a run", s.only().Redrives, 0)
	})
	t.Run("comes_back_while_the_database_is_down", func(t *testing.T) {
		s, _ := quick(t)
		s.call("quick")
		records := s.receive()
		s.faults.Inject(failing("dynamodb"))
		equal(t, "come back", len(s.handle(t.Context(), s.DeadLetter, records)), 1)
	})
}
