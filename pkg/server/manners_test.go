package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"toolhost/pkg/limits"
	"toolhost/pkg/server"
)

// Case 26.
func TestPolling(t *testing.T) {
	get := func(h *host, caller, id string) answer {
		h.t.Helper()
		return h.call(caller, "tasks/get", map[string]any{"taskId": id})
	}
	t.Run("2,000 polls at once are throttled, and nobody else notices", func(t *testing.T) {
		h := start(t, server.Limits{})
		id, other := h.startTask("ada", "big", map[string]any{"bytes": 200 << 10}), h.startTask("bob", "hello_world", nil)
		h.work()
		reads := h.faults.Counts()["dynamodb/GetItem"]
		throttled := 0
		for i := range 2000 {
			if a := get(h, "ada", id); a.Status == 429 {
				throttled++
				if !strings.Contains(a.Error.Message, "the limit is 20 times a second") {
					t.Fatalf("the limit is not named: %s", a.Body)
				}
				checkSchemas(t, nil, a.Body)
			} else if a.Status != 200 || a.code() != 0 {
				t.Fatalf("HTTP %d", a.Status)
			}
			if i%500 == 0 {
				if a := get(h, "bob", other); a.code() != 0 {
					t.Fatalf("another caller gets %s", a.Body)
				}
			}
		}
		answered := 3 * limits.PollRate
		if throttled != 2000-answered {
			t.Errorf("%d of 2,000 throttled, want %d", throttled, 2000-answered)
		}
		if got := h.faults.Counts()["dynamodb/GetItem"] - reads; got != answered+4 {
			t.Errorf("%d reads", got)
		}
		if a := get(h, "ada", h.startTask("ada", "hello_world", nil)); a.Status != 200 {
			t.Errorf("the caller's other task: HTTP %d", a.Status)
		}
		h.clock.Advance(time.Second) // as Retry-After says
		if a := get(h, "ada", id); a.Status != 200 || a.field("status") != "completed" {
			t.Errorf("a second later: HTTP %d", a.Status)
		}
	})
	t.Run("ten polls a second are fine for as long as one likes", func(t *testing.T) {
		h := start(t, server.Limits{})
		id := h.startTask("ada", "hello_world", nil)
		for range 600 {
			if a := get(h, "ada", id); a.Status != 200 {
				t.Fatalf("HTTP %d: %s", a.Status, a.Body)
			}
			h.clock.Advance(100 * time.Millisecond)
		}
	})
	t.Run("a task that is not there is throttled alike", func(t *testing.T) { // R-G7
		h := start(t, server.Limits{PollRate: 1})
		mine := h.startTask("ada", "hello_world", nil)
		for range 5 {
			foreign, unknown := get(h, "bob", mine), get(h, "bob", "unknown")
			if foreign.Status != unknown.Status || string(foreign.Body) != string(unknown.Body) {
				t.Errorf("%d %s, but %d %s", foreign.Status, foreign.Body, unknown.Status, unknown.Body)
			}
		}
		if a := get(h, "ada", mine); a.Status != 200 {
			t.Errorf("the owner is throttled by another: %s", a.Body)
		}
	})
	t.Run("what is counted is bounded", func(t *testing.T) {
		h := start(t, server.Limits{PollRate: 1})
		s := must(server.New(h.options))
		for i := range 10_000 {
			if r := s.Handle(t.Context(), request("tasks/get", fmt.Sprintf(`"taskId":"%d",`, i)), nil); r.Status != 200 {
				t.Fatalf("HTTP %d", r.Status)
			}
		}
	})
	t.Run("the interval grows with a task's age and shrinks after an answer", func(t *testing.T) {
		h := start(t, server.Limits{})
		id := h.startTask("ada", "hello_world", nil) // 5 s at least
		interval := func() string {
			h.t.Helper()
			var shown struct {
				PollIntervalMs int `json:"pollIntervalMs"`
			}
			h.must(json.Unmarshal(get(h, "ada", id).Result, &shown))
			return fmt.Sprint(shown.PollIntervalMs)
		}
		h.work()
		got := []string{interval()}
		for range 2 {
			h.clock.Advance(100 * time.Second)
			got = append(got, interval())
		}
		h.answerName("ada", id)
		if got = append(got, interval()); fmt.Sprint(got) != "[5000 10000 15000 5000]" {
			t.Errorf("the intervals are %v", got)
		}
	})
}
