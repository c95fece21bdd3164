package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/server"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// legacyCall makes a request as a client of 2025-11-25.
func (h *host) legacyCall(caller, method string, params map[string]any) answer {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	h.must(err)
	header := legacyHeader(protocol.Revision20251125)
	header.Set("Test-Caller", caller)
	response, got := h.send(http.MethodPost, header, body)
	if id := response.Header.Get("Mcp-Session-Id"); id != "" { // R-B2
		h.t.Errorf("a session id was minted: %s", id)
	}
	checkLegacySchemas(h.t, body, got)
	a := answer{Status: response.StatusCode, Body: got}
	h.must(json.Unmarshal(got, &a))
	return a
}

// legacyStart calls a tool as a task and returns its id.
func (h *host) legacyStart(name string, arguments map[string]any) string {
	h.t.Helper()
	made := h.legacyCall("ada", protocol.MethodToolsCall, map[string]any{"name": name, "arguments": arguments, "task": map[string]any{}})
	var result struct {
		Task struct{ TaskID, Status string }
	}
	if made.Error != nil || json.Unmarshal(made.Result, &result) != nil || result.Task.Status != "working" {
		h.t.Fatalf("no working task: %s", made.Body)
	}
	return result.Task.TaskID
}

// R-B3: one task, two views.
func TestViews(t *testing.T) {
	id := func(task string) map[string]any { return map[string]any{"taskId": task} }
	t.Run("a task made the legacy way is read by both", func(t *testing.T) {
		h := start(t, server.Limits{})
		made := h.legacyStart("fails", map[string]any{"how": "tool"})
		if got := h.call("ada", protocol.MethodTasksGet, id(made)).field("status"); got != "working" {
			t.Errorf("the modern view says %s", got)
		}
		h.work()
		if got := h.call("ada", protocol.MethodTasksGet, id(made)); got.field("status") != "completed" || !strings.Contains(string(got.Result), `"isError":true`) {
			t.Errorf("the modern view of a tool error is %s", got.Result) // R-G3
		} else if strings.Contains(string(got.Result), protocol.MetaRelatedTask) {
			t.Errorf("related-task in %s", got.Result) // R-P6
		}
		if got := h.legacyCall("ada", protocol.MethodTasksGet, id(made)).field("status"); got != "failed" {
			t.Errorf("the legacy view of a tool error says %s", got)
		}
	})
	t.Run("a task made the modern way is read by both", func(t *testing.T) {
		h := start(t, server.Limits{})
		made := h.call("ada", protocol.MethodToolsCall, map[string]any{"name": "hello_world", "arguments": map[string]any{}}).field("taskId")
		h.work()
		if got := h.legacyCall("ada", protocol.MethodTasksGet, id(made)).field("status"); got != "input_required" {
			t.Errorf("the legacy view says %s", got)
		}
		h.call("ada", protocol.MethodTasksUpdate, map[string]any{"taskId": made,
			"inputResponses": map[string]any{"name": map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}}})
		h.work()
		if got := h.legacyCall("ada", protocol.MethodTasksResult, id(made)); !strings.Contains(string(got.Result), "Hello, Ada!") {
			t.Errorf("its result is %s", got.Body)
		}
	})
	t.Run("neither shows it to another caller", func(t *testing.T) { // R-V1
		h := start(t, server.Limits{})
		made := h.legacyStart("big", map[string]any{"bytes": 1})
		for _, method := range []string{protocol.MethodTasksGet, protocol.MethodTasksResult, protocol.MethodTasksCancel} {
			theirs, none := h.legacyCall("bob", method, id(made)), h.legacyCall("bob", method, id("unknown"))
			if theirs.code() != -32602 || string(theirs.Body) != string(none.Body) {
				t.Errorf("%s: %s, and of an unknown task %s", method, theirs.Body, none.Body)
			}
		}
	})
	t.Run("the same idempotent call is the same task", func(t *testing.T) {
		h := start(t, server.Limits{})
		params := map[string]any{"name": "fails", "arguments": map[string]any{"how": "tool"}, "task": map[string]any{},
			"_meta": map[string]any{protocol.MetaIdempotencyKey: "k"}}
		first := h.legacyCall("ada", protocol.MethodToolsCall, params)
		h.work()
		second := h.legacyCall("ada", protocol.MethodToolsCall, params)
		var a, b protocol.LegacyCreateTaskResult
		h.must(json.Unmarshal(first.Result, &a))
		h.must(json.Unmarshal(second.Result, &b))
		if a.Task.TaskID != b.Task.TaskID || b.Task.Status != task.Failed {
			t.Errorf("%s, then %s", first.Result, second.Result)
		}
	})
}

// R-B3: cancelled with the answer, and for good, whatever the tool comes to.
func TestLegacyCancel(t *testing.T) {
	tools, running, finish := tool.New(), make(chan struct{}), make(chan struct{})
	tool.Add(tools, &mcp.Tool{Name: "stubborn"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		close(running)
		<-finish
		return text("done all the same"), nil, nil
	}, tool.Options{Task: tool.Required})
	h := startWith(t, tools, server.Limits{})
	id := map[string]any{"taskId": h.legacyStart("stubborn", map[string]any{})}
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		h.work()
	}()
	<-running
	if got := h.legacyCall("ada", protocol.MethodTasksCancel, id); got.field("status") != "cancelled" {
		t.Errorf("the answer is %s", got.Body)
	}
	close(finish)
	<-worked
	if got := h.legacyCall("ada", protocol.MethodTasksGet, id); got.field("status") != "cancelled" {
		t.Errorf("after its tool has finished it is %s", got.Body)
	}
	if got := h.legacyCall("ada", protocol.MethodTasksCancel, id); got.code() != -32602 {
		t.Errorf("a second cancel gets %s", got.Body)
	}
	if n := h.waiting(); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// watched is a database with one task, which counts its readers.
type watched struct {
	store.Store
	load  func() task.Task
	loads int
}

func (s *watched) Load(context.Context, string) (task.Task, error) {
	s.loads++
	return s.load(), nil
}

func (s *watched) Payload(_ context.Context, _ task.Task, p task.Payload) (json.RawMessage, error) {
	return p.Inline, nil
}

// R-B3
func TestTaskResult(t *testing.T) {
	result := func(t *testing.T, ctx context.Context, db *watched) answer {
		t.Helper()
		var a answer
		got := alone(t, fixtures(), db, nil).Handle(ctx, legacy("2025-11-25", protocol.MethodTasksResult, `"taskId":"t"`), nil)
		if err := json.Unmarshal(got.Body, &a); err != nil || got.Status != http.StatusOK {
			t.Fatalf("%d %s", got.Status, got.Body)
		}
		return a
	}
	// until is a task that works until then.
	until := func(end time.Time) *watched {
		made := task.Create(task.Spec{ID: "t", Birth: "b"}, time.Now())
		return &watched{load: func() task.Task {
			if time.Now().Before(end) {
				return made
			}
			held, err := task.Claim(made, "me", limits.Lease, end)
			if err != nil {
				panic(err)
			}
			done, err := task.Complete(held, "me", task.NewPayload([]byte(`{"resultType":"complete","content":[],"isError":false}`)), end)
			if err != nil {
				panic(err)
			}
			return done
		}}
	}
	t.Run("waits for the end of the task, with few reads", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			db := until(began.Add(10 * time.Second))
			got := result(t, t.Context(), db)
			if took := time.Since(began); took < 10*time.Second || took > 12*time.Second || db.loads > 10 {
				t.Errorf("it took %v and %d reads", took, db.loads)
			}
			if want := `{"content":[],"isError":false,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}`; string(got.Result) != want {
				t.Errorf("%s, want %s", got.Body, want)
			}
		})
	})
	t.Run("says after a while that the task is not over, and how it is", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			db := until(began.Add(time.Hour))
			got := result(t, t.Context(), db)
			if took := time.Since(began); took != limits.ResultWait || db.loads > 15 {
				t.Errorf("it took %v and %d reads", took, db.loads)
			}
			if got.code() != -32603 || !strings.Contains(got.Error.Message, "tasks/get") {
				t.Fatalf("%s", got.Body)
			}
			conform(t, "legacy/CreateTaskResult", got.Error.Data)
		})
	})
	t.Run("leaves a short function the time to answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
			defer cancel()
			began := time.Now()
			if got := result(t, ctx, until(began.Add(time.Hour))); got.code() != -32603 || got.Error.Data == nil || time.Since(began) != 5*time.Second {
				t.Errorf("after %v: %s", time.Since(began), got.Body)
			}
		})
	})
	t.Run("waits no longer than its client does", func(t *testing.T) { // R-H10
		synctest.Test(t, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(1100*time.Millisecond, leave)
			began, db := time.Now(), until(time.Now().Add(time.Hour))
			if result(t, ctx, db); time.Since(began) != 1100*time.Millisecond {
				t.Errorf("it took %v", time.Since(began))
			}
		})
	})
}
