package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"toolhost/pkg/auth"
	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
	"toolhost/pkg/worker"
)

func question(key string) tool.Question {
	return tool.Question{Key: key, Method: "elicitation/create", Params: json.RawMessage(`{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`)}
}

func (s *stage) answer(t task.Task, keys ...string) {
	s.t.Helper()
	responses := map[string]task.Payload{}
	for _, k := range keys {
		responses[k] = task.NewPayload([]byte(`{"action":"accept","content":{}}`))
	}
	s.wake(s.change(t, func(t task.Task) (task.Task, error) { return task.Answer(t, responses, s.clock.Now()) }))
}

// problem is the JSON-RPC error of a failed task.
func (s *stage) problem(t task.Task) (e struct {
	Code    int
	Message string
	Data    json.RawMessage
}) {
	s.t.Helper()
	raw, err := s.store.Payload(s.t.Context(), t, t.Outcome)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		s.t.Fatalf("%s: %v", raw, err)
	}
	return e
}

// TestOutcome is the table of what a run makes of its task (design §4).
func TestOutcome(t *testing.T) {
	t.Run("a_tool_error_completes", func(t *testing.T) { // R-G4
		s := newStage(t)
		s.host("tool", tool.Options{}, func(context.Context) error { return errors.New("no such city") })
		made := s.call("tool")
		s.work()
		now := s.status(made, task.Completed)
		raw, _ := s.store.Payload(t.Context(), now, now.Outcome)
		equal(t, "isError", strings.Contains(string(raw), `"isError":true`), true)
	})
	t.Run("a_result_over_the_limit_completes_as_an_error_that_names_it", func(t *testing.T) { // case 25
		s := newStage(t)
		s.host("tool", tool.Options{}, func(context.Context) error { return nil })
		w, err := worker.New(worker.Options{Tools: s.tools, Store: s.store, Queue: s.queue, Clock: s.clock, MaxResult: 20})
		if err != nil {
			t.Fatal(err)
		}
		made := s.call("tool")
		s.Worker = w
		s.work()
		now := s.status(made, task.Completed)
		raw, _ := s.store.Payload(t.Context(), now, now.Outcome)
		if text := string(raw); !strings.Contains(text, `"isError":true`) || !strings.Contains(text, "the limit is 20.") {
			t.Errorf("%s", text)
		}
	})
	t.Run("a_protocol_error_fails", func(t *testing.T) { // R-G4
		s := newStage(t)
		s.host("tool", tool.Options{}, func(context.Context) error {
			return &jsonrpc.Error{Code: 1234, Message: "out of paper", Data: json.RawMessage(`{"tray":2}`)}
		})
		made := s.call("tool")
		s.work()
		now := s.status(made, task.Failed)
		e := s.problem(now)
		equal(t, "error", fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data), `1234 out of paper {"tray":2}`)
		equal(t, "message", now.StatusMessage, "out of paper")
		s.none()
	})
	t.Run("a_panic_fails_and_shows_no_stack", func(t *testing.T) { // R-V4
		s := newStage(t)
		s.host("tool", tool.Options{}, func(context.Context) error { panic("table Users is locked") })
		made := s.call("tool")
		s.work()
		e := s.problem(s.status(made, task.Failed))
		equal(t, "code", e.Code, -32603)
		if shown := e.Message + string(e.Data); strings.Contains(shown, "Users") || strings.Contains(shown, "goroutine") {
			t.Errorf("shown: %s", shown)
		}
		equal(t, "its place is logged", strings.Contains(s.log.String(), "outcome_test.go"), true)
		equal(t, "its text is logged", strings.Contains(s.log.String(), "Users"), false) // R-V3
	})
	t.Run("a_capability_that_is_missing_fails_with_its_name", func(t *testing.T) { // R-U8
		s := newStage(t)
		s.host("tool", tool.Options{}, func(ctx context.Context) error { _, err := tool.Roots(ctx, "roots"); return err })
		made := s.call("tool")
		s.work()
		e := s.problem(s.status(made, task.Failed))
		equal(t, "code", e.Code, -32021) // the server renumbers it for 2026-06-30
		equal(t, "data", string(e.Data), `{"requiredCapabilities":{"roots":{}}}`)
	})
	t.Run("questions_park_it_and_nothing_is_sent", func(t *testing.T) { // invariant 5
		s := newStage(t)
		runs := 0
		s.host("tool", tool.Options{}, func(ctx context.Context) error {
			runs++
			_, err := tool.AskAllRaw(ctx, question("a"), question("b"))
			return err
		})
		made := s.call("tool")
		s.work()
		now := s.status(made, task.InputRequired)
		equal(t, "lease", now.Lease, nil)
		equal(t, "questions", now.Outstanding()[0].Key+now.Outstanding()[1].Key, "ab")
		s.none()
		s.answer(made, "a", "b")
		s.work()
		s.status(made, task.Completed)
		equal(t, "runs", runs, 2)
	})
	t.Run("a_sleep_sends_one_delayed_message", func(t *testing.T) {
		for sleep, delay := range map[time.Duration]time.Duration{30 * time.Second: 30 * time.Second, time.Hour: limits.MaxDelay} {
			s := newStage(t)
			s.host("tool", tool.Options{}, func(ctx context.Context) error { return tool.Sleep(ctx, "nap", sleep) })
			made := s.call("tool", func(s *task.Spec) { s.Trace = "trace" })
			s.work()
			now := s.status(made, task.Working)
			equal(t, "wakes", now.WakeAt, s.clock.Now().Add(sleep))
			m := s.only()
			equal(t, "delay", m.delay, delay)
			equal(t, "cause", m.Cause, queue.Slept)
			equal(t, "hops", m.Hops, 1)
			for range sleep / delay {
				s.clock.Advance(delay)
				s.work()
			}
			s.status(made, task.Completed)
			s.none()
		}
	})
	t.Run("a_retry_waits_and_costs_an_attempt_until_the_last_fails", func(t *testing.T) {
		s := newStage(t)
		s.host("tool", tool.Options{}, func(context.Context) error { return tool.Retry(errors.New("the printer is off"), time.Minute) })
		made := s.call("tool")
		for attempt := 1; attempt < limits.Attempts; attempt++ {
			s.work()
			equal(t, "attempts", s.status(made, task.Working).Attempts, attempt)
			m := s.only()
			equal(t, "cause", m.Cause, queue.Retried)
			if m.delay < time.Minute || m.delay > 90*time.Second+time.Second {
				t.Errorf("delay %v", m.delay)
			}
			s.clock.Advance(m.delay)
		}
		s.work()
		equal(t, "message", s.status(made, task.Failed).StatusMessage, "the tool gave up after its last attempt: the printer is off")
		s.none()
	})
	t.Run("an_answer_to_every_question_is_not_an_attempt", func(t *testing.T) { // case 58
		s := newStage(t)
		s.host("tool", tool.Options{Attempts: 3}, func(ctx context.Context) error {
			for i := range 12 {
				if i%4 == 0 {
					if _, err := tool.AskRaw(ctx, question(fmt.Sprint("q", i))); err != nil {
						return err
					}
				} else if err := tool.Sleep(ctx, fmt.Sprint("s", i), time.Minute); err != nil {
					return err
				}
			}
			return nil
		})
		made := s.call("tool")
		for leg := range 12 {
			s.work()
			if leg%4 == 0 {
				s.answer(made, fmt.Sprint("q", leg))
			}
			s.clock.Advance(time.Minute)
		}
		s.work()
		equal(t, "claims", s.status(made, task.Completed).Claims, 13)
	})
	t.Run("a_swallowed_suspension_fails", func(t *testing.T) { // case 56
		s := newStage(t)
		s.host("tool", tool.Options{}, func(ctx context.Context) error { tool.AskRaw(ctx, question("a")); return nil })
		made := s.call("tool")
		s.work()
		s.status(made, task.Failed)
	})
	t.Run("a_first_run_under_a_newer_version_is_no_resumption", func(t *testing.T) {
		s := newStage(t)
		s.host("tool", tool.Options{Version: "2"}, func(ctx context.Context) error { _, err := tool.AskRaw(ctx, question("a")); return err })
		made := s.call("tool", func(s *task.Spec) { s.ToolVersion = "1" })
		s.work()
		equal(t, "version", s.status(made, task.InputRequired).ToolVersion, "2")
		s.answer(made, "a")
		s.work()
		s.status(made, task.Completed)
	})
}

func TestRun(t *testing.T) {
	t.Run("is_made_by_the_task's_owner_and_knows_nothing_of_others", func(t *testing.T) { // R-V3
		s := newStage(t)
		seen := make(chan auth.Principal, 2)
		s.host("tool", tool.Options{}, func(ctx context.Context) error { seen <- auth.From(ctx); return nil })
		s.call("tool", func(s *task.Spec) { s.Owner = task.Owner{Issuer: "i", Subject: "ann", Tenant: "t"} })
		s.work()
		equal(t, "caller", (<-seen).Owner(), task.Owner{Issuer: "i", Subject: "ann", Tenant: "t"})
		s.call("tool")
		s.work()
		equal(t, "the next caller", (<-seen).Owner(), task.Owner{})
	})
	t.Run("has_the_sooner_deadline_of_the_function_and_the_task", func(t *testing.T) {
		s := newStage(t)
		left := make(chan time.Duration, 3)
		s.host("tool", tool.Options{}, func(ctx context.Context) error {
			at, _ := ctx.Deadline()
			left <- time.Until(at).Round(time.Second)
			return nil
		})
		for _, row := range []struct{ function, ttl, want time.Duration }{
			{0, time.Hour, time.Hour - limits.ExpiryMargin},
			{limits.WorkerTimeout, time.Hour, limits.WorkerTimeout - limits.LegMargin},
			{limits.WorkerTimeout, 10 * time.Minute, 10*time.Minute - limits.ExpiryMargin},
			{30 * time.Second, time.Hour, 20 * time.Second}, // little time: a third is the margin
		} {
			s.call("tool", func(s *task.Spec) { s.TTL = row.ttl })
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if row.function > 0 {
				ctx, cancel = context.WithTimeout(ctx, row.function)
			}
			s.handle(ctx, s.Handle, s.receive())
			cancel()
			equal(t, fmt.Sprint(row), <-left, row.want)
		}
	})
	t.Run("large_arguments_and_answers_arrive_whole", func(t *testing.T) { // case 25
		s := newStage(t)
		big := strings.Repeat("x", 300<<10)
		got := make(chan int, 2)
		s.host("tool", tool.Options{}, func(ctx context.Context) error {
			answer, err := tool.AskRaw(ctx, question("a"))
			got <- len(answer)
			return err
		})
		made := s.call("tool", func(s *task.Spec) { s.Arguments = task.NewPayload(fmt.Appendf(nil, `{"value":%q}`, big)) })
		s.work()
		<-got
		s.wake(s.change(made, func(t task.Task) (task.Task, error) {
			return task.Answer(t, map[string]task.Payload{"a": task.NewPayload(fmt.Appendf(nil, `{"action":"accept","content":{"a":%q}}`, big))}, s.clock.Now())
		}))
		s.work()
		s.status(made, task.Completed)
		equal(t, "whole", <-got > len(big), true)
	})
	t.Run("never_begins_with_less_than_it_was_given", func(t *testing.T) { // case 6
		s := newStage(t)
		runs := 0
		s.host("tool", tool.Options{}, func(ctx context.Context) error {
			runs++
			_, err := tool.AskRaw(ctx, question("a"))
			return err
		})
		made := s.call("tool", func(s *task.Spec) {
			s.Arguments = task.NewPayload(fmt.Appendf(nil, `{"value":%q}`, strings.Repeat("x", 300<<10)))
		})
		s.work()
		s.answer(made, "a")
		s.loseBlobs()
		s.work()
		now := s.status(made, task.Failed)
		equal(t, "runs", runs, 1)
		equal(t, "message", now.StatusMessage, "stored data of the task is gone, so its tool can't run")
		s.none()
	})
	t.Run("logs_neither_arguments_nor_results_nor_answers", func(t *testing.T) {
		s := newStage(t)
		s.host("tool", tool.Options{}, func(ctx context.Context) error {
			if _, err := tool.AskRaw(ctx, question("a")); err != nil {
				return err
			}
			return errors.New("secret-result")
		})
		made := s.call("tool", func(s *task.Spec) { s.Arguments = task.NewPayload([]byte(`{"value":"secret-argument"}`)) })
		s.work()
		s.wake(s.change(made, func(t task.Task) (task.Task, error) {
			return task.Answer(t, map[string]task.Payload{"a": task.NewPayload([]byte(`{"action":"accept","content":{"a":"secret-answer"}}`))}, s.clock.Now())
		}))
		s.work()
		s.status(made, task.Completed)
		equal(t, "logged", strings.Contains(s.log.String(), made.ID), true)
		equal(t, "secret", strings.Contains(s.log.String(), "secret"), false)
	})
}
