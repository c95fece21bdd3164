package worker_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"toolhost/pkg/store"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
	"toolhost/pkg/worker"
)

// panicking is a store with a defect for one task.
type panicking struct {
	store.Store
	id string
}

func (p panicking) Load(ctx context.Context, id string) (task.Task, error) {
	if id == p.id {
		panic("defect")
	}
	return p.Store.Load(ctx, id)
}

func TestBatch(t *testing.T) { // case 19
	t.Run("a_panic_fails_its_own_record_alone", func(t *testing.T) {
		s, runs := quick(t)
		var made []task.Task
		for range 3 {
			made = append(made, s.call("quick"))
		}
		w, err := worker.New(worker.Options{Tools: s.tools, Store: panicking{s.store, made[1].ID}, Queue: s.queue, Clock: s.clock})
		if err != nil {
			t.Fatal(err)
		}
		records := s.receive()
		failed := s.handle(t.Context(), w.Handle, records)
		var bad string
		for _, r := range records {
			if strings.Contains(r.Body, made[1].ID) {
				bad = r.MessageId
			}
		}
		if len(failed) != 1 || failed[0] != bad {
			t.Errorf("failed: %v, want %v", failed, bad)
		}
		s.status(made[0], task.Completed)
		s.status(made[1], task.Working)
		s.status(made[2], task.Completed)
		_ = runs
	})
	t.Run("a_tool_that_panics_or_exits_its_goroutine_fails_its_task_alone", func(t *testing.T) {
		s, _ := quick(t)
		s.host("panics", tool.Options{}, func(context.Context) error { panic("oh") })
		s.host("exits", tool.Options{}, func(context.Context) error { runtime.Goexit(); return nil })
		a, b, c := s.call("panics"), s.call("quick"), s.call("exits")
		s.work()
		s.status(a, task.Failed)
		s.status(b, task.Completed)
		s.status(c, task.Failed)
		s.none()
	})
	t.Run("a_malformed_message_is_logged_and_not_looped", func(t *testing.T) {
		s := newStage(t)
		for _, handler := range []func(context.Context, events.SQSEvent) (events.SQSEventResponse, error){s.Handle, s.DeadLetter} {
			for _, body := range []string{"", "{", "[]", `{"version":99,"taskId":"t","birth":"b"}`, `{"version":1}`, `{"version":1,"taskId":"t","birth":"b","hops":-1}`} {
				answer, err := handler(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", Body: body}}})
				if err != nil || len(answer.BatchItemFailures) > 0 {
					t.Errorf("%q: %v, %v", body, answer, err)
				}
			}
		}
		equal(t, "logged", strings.Count(s.log.String(), "malformed message dropped"), 12)
	})
	t.Run("an_empty_batch_is_answered", func(t *testing.T) {
		answer, err := newStage(t).Handle(t.Context(), events.SQSEvent{})
		if err != nil || answer.BatchItemFailures == nil || len(answer.BatchItemFailures) > 0 {
			t.Errorf("%v, %v", answer, err)
		}
	})
}
