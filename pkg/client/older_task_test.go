package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"toolhost/pkg/client"
)

// The tasks of 2025-11-25, as our own server offers them.
func TestOlderTasks(t *testing.T) { // R-B3, from the other side
	url := serve(t, nil)
	connect := func(o client.Options) (*client.Client, *traffic) {
		o.Clock, o.Revision = hasty{}, "2025-11-25"
		return connectOlder(t, url, o)
	}
	t.Run("are_followed_to_their_result", func(t *testing.T) {
		c, wire := connect(client.Options{})
		var seen []client.Task
		got, err := c.Call(t.Context(), "slow_compute", json.RawMessage(`{"seconds":1}`),
			client.Watch{Task: func(task client.Task) { seen = append(seen, task) }})
		if err != nil || !strings.Contains(text(t, got), "1 seconds") || strings.Contains(string(got), "resultType") {
			t.Fatalf("%s, %v", got, err)
		}
		if first := seen[0]; first.ID == "" || first.Status != client.Working || first.TTLMs == nil || first.PollIntervalMs == 0 {
			t.Errorf("told %+v", first)
		}
		if last := seen[len(seen)-1]; last.Status != client.Completed || last.TTLMs == nil || !strings.Contains(string(last.Raw), `"ttlMs"`) {
			t.Errorf("told %s", last.Raw)
		}
		methods := wire.take()
		if slices.Contains(methods, "POST subscriptions/listen") || methods[len(methods)-1] != "POST tasks/result" {
			t.Errorf("requests %v", methods)
		}
	})
	t.Run("are_made_of_the_tools_that_say_so", func(t *testing.T) {
		c, wire := connect(client.Options{})
		if o, err := c.Start(t.Context(), "greet", json.RawMessage(`{"name":"Ada"}`), client.Watch{}); err != nil || o.Task != nil || text(t, o.Result) != "Hello, Ada!" {
			t.Errorf("%+v, %v", o, err)
		}
		if got := wire.take(); !slices.Equal(got, []string{"POST initialize", "POST notifications/initialized", "POST tools/list", "POST tools/call"}) {
			t.Errorf("requests %v", got)
		}
	})
	t.Run("that_end_with_a_tool_error_have_a_result", func(t *testing.T) {
		c, _ := connect(client.Options{})
		got, err := c.Call(t.Context(), "failing_job", nil, client.Watch{})
		if err != nil || !strings.Contains(string(got), `"isError":true`) {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("that_fail_are_their_error", func(t *testing.T) {
		c, wire := connect(client.Options{})
		_, err := c.Call(t.Context(), "protocol_error_job", nil, client.Watch{})
		var failed *client.FailedError
		if !errors.As(err, &failed) || failed.Code != -32603 || failed.TaskID == "" {
			t.Errorf("got %v", err)
		}
		var results int
		for _, m := range wire.take() {
			if m == "POST tasks/result" {
				results++
			}
		}
		if results != 1 {
			t.Errorf("asked %d times for the result", results)
		}
	})
	t.Run("are_come_back_to_by_their_id", func(t *testing.T) {
		first, _ := connect(client.Options{})
		o, err := first.Start(t.Context(), "slow_compute", json.RawMessage(`{"seconds":1}`), client.Watch{})
		if err != nil || o.Task == nil {
			t.Fatalf("%+v, %v", o, err)
		}
		second, _ := connect(client.Options{})
		if got, err := second.Wait(t.Context(), o.Task.ID, client.Watch{}); err != nil || !strings.Contains(text(t, got), "1 seconds") {
			t.Errorf("%s, %v", got, err)
		}
		if err := second.Cancel(t.Context(), o.Task.ID); err != nil {
			t.Errorf("a task that is over can't be cancelled: %v", err)
		}
		if _, err := second.Wait(t.Context(), "none", client.Watch{}); !errors.Is(err, client.ErrUnknownTask) {
			t.Errorf("got %v", err)
		}
		if err := second.Cancel(t.Context(), "none"); !errors.Is(err, client.ErrUnknownTask) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("that_are_cancelled_say_so", func(t *testing.T) { // R-X3
		c, _ := connect(client.Options{})
		o, err := c.Start(t.Context(), "slow_compute", json.RawMessage(`{"seconds":600}`), client.Watch{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Cancel(t.Context(), o.Task.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Wait(t.Context(), o.Task.ID, client.Watch{}); !errors.Is(err, client.ErrCancelled) {
			t.Errorf("got %v", err)
		}
	})
}

// A task of 2025-11-25 asks on the stream of its tasks/result.
func TestOlderTaskQuestions(t *testing.T) {
	const (
		asks  = `{"taskId":"1","status":"input_required","createdAt":"2026-12-01T00:00:00Z","lastUpdatedAt":"2026-12-01T00:00:00Z","ttl":null,"pollInterval":100}`
		over  = `{"taskId":"1","status":"completed","createdAt":"2026-12-01T00:00:00Z","lastUpdatedAt":"2026-12-01T00:00:01Z","ttl":null}`
		quest = `{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Who?"}}`
		final = `{"content":[{"type":"text","text":"done"}]}`
	)
	// server plays an older server whose task completes when its question is
	// answered; results are what tasks/result says, one after the other.
	server := func(t *testing.T, results ...reply) (*client.Client, *[]string) {
		asked := 0
		var mu sync.Mutex
		var replies []string // of its client
		state := asks
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			var m struct {
				ID     json.RawMessage
				Method string
				Result json.RawMessage
				Error  json.RawMessage
			}
			if err := json.Unmarshal(readAll(&r.Body), &m); err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			next := reply{status: 202}
			switch m.Method {
			case "initialize":
				next = result(`{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}}}`)
			case "tasks/get":
				next = result(state)
			case "tasks/result":
				next = result(final)
				if state == asks {
					next, results = results[0], results[min(1, len(results)-1):]
				}
			case "":
				replies = append(replies, string(m.Result)+string(m.Error))
				state = over
			}
			return next.answer(r, string(m.ID)), nil
		})
		c := client.New("http://script.example/mcp", client.Options{Revision: "2025-11-25", Clock: hasty{}, HTTP: &http.Client{Transport: transport},
			Answerer: func(context.Context, client.Question) (json.RawMessage, error) {
				asked++
				return json.RawMessage(`{"action":"accept"}`), nil
			}})
		t.Cleanup(func() {
			if asked != 1 {
				t.Errorf("asked %d times", asked)
			}
		})
		return c, &replies
	}
	t.Run("are_answered_once_though_their_stream_breaks", func(t *testing.T) {
		c, replies := server(t, stream(quest))
		got, err := c.Wait(t.Context(), "1", client.Watch{})
		if err != nil || text(t, got) != "done" || len(*replies) != 1 || (*replies)[0] != `{"action":"accept"}` {
			t.Errorf("%s, %v, replies %q", got, err, *replies)
		}
	})
	t.Run("may_come_after_streams_that_ended_without_any", func(t *testing.T) {
		c, replies := server(t, refusal(200, "-32603"), reply{status: 502}, stream(quest))
		got, err := c.Wait(t.Context(), "1", client.Watch{})
		if err != nil || text(t, got) != "done" || len(*replies) != 1 {
			t.Errorf("%s, %v, replies %q", got, err, *replies)
		}
	})
}
