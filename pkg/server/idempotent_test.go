package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/infra/emulator"
	"toolhost/pkg/auth"
	"toolhost/pkg/protocol"
	"toolhost/pkg/server"
	"toolhost/pkg/tool"
)

// keyed calls a tool with an idempotency key, which is any JSON value.
func (h *host) keyed(caller string, key any, name string, arguments map[string]any) answer {
	h.t.Helper()
	if arguments == nil {
		arguments = map[string]any{}
	}
	return h.call(caller, "tools/call", map[string]any{"name": name, "arguments": arguments, "_meta": map[string]any{
		protocol.MetaProtocolVersion: protocol.Revision20260728, protocol.MetaClientCapabilities: json.RawMessage(everything),
		protocol.MetaIdempotencyKey: key,
	}})
}

// counted is a host with a tool "count" that says how often it has run.
func counted(t *testing.T) (*host, *atomic.Int64) {
	runs, tools := new(atomic.Int64), fixtures()
	tool.Add(tools, &mcp.Tool{Name: "count"}, func(context.Context, *mcp.CallToolRequest, struct {
		A int `json:"a,omitempty"`
		B int `json:"b,omitempty"`
	}) (*mcp.CallToolResult, any, error) {
		return text("run %d", runs.Add(1)), nil, nil
	}, tool.Options{Task: tool.Required, TTL: time.Hour, Retention: time.Hour})
	return startWith(t, tools, server.Limits{}), runs
}

var macID = regexp.MustCompile(`^[0-9a-f]{32}$`)

func TestIdempotentCreation(t *testing.T) { // case 11
	t.Run("a repeated call is the same task, for its whole life", func(t *testing.T) {
		h, runs := counted(t)
		first := h.keyed("ada", "k", "count", map[string]any{"a": 1, "b": 2})
		id := first.field("taskId")
		if !macID.MatchString(id) { // R-C3
			t.Fatalf("%s", first.Body)
		}
		for _, status := range []string{"working", "completed"} {
			again := h.keyed("ada", "k", "count", map[string]any{"b": 2, "a": 1})
			if again.field("taskId") != id || again.field("status") != status || again.field("resultType") != "task" {
				t.Errorf("want %s: %s", status, again.Body)
			}
			h.work()
		}
		if n := runs.Load(); n != 1 || h.waiting() != 0 {
			t.Errorf("%d runs, %d messages left", n, h.waiting())
		}
	})
	t.Run("costs no more than any creation", func(t *testing.T) {
		h, _ := counted(t)
		got := h.calls(func() { h.keyed("ada", "k", "count", nil) })
		if got["dynamodb/PutItem"] != 1 || got["sqs/SendMessage"] != 1 || len(got) != 2 {
			t.Errorf("%v", got)
		}
		h.work()
		if got = h.calls(func() { h.keyed("ada", "k", "count", nil) }); got["dynamodb/PutItem"] != 1 || len(got) != 1 {
			t.Errorf("again, after it was claimed: %v", got)
		}
	})
	t.Run("fifty at once make one task", func(t *testing.T) {
		h, runs := counted(t)
		var all sync.WaitGroup
		answers := make([]answer, 50)
		sent := h.calls(func() {
			for i := range answers {
				all.Go(func() { answers[i] = h.keyed("ada", "k", "count", nil) })
			}
			all.Wait()
		})
		for _, a := range answers {
			if id := a.field("taskId"); id == "" || id != answers[0].field("taskId") {
				t.Fatalf("%s, and %s", a.Body, answers[0].Body)
			}
		}
		if n := sent["sqs/SendMessage"]; n > len(answers) { // one each at most: nobody promises what another may not have sent
			t.Errorf("%d messages", n)
		}
		h.work()
		if n := runs.Load(); n != 1 || h.waiting() != 0 {
			t.Errorf("%d runs, %d messages left", n, h.waiting())
		}
	})
	t.Run("other arguments or another tool are refused", func(t *testing.T) {
		h, _ := counted(t)
		h.keyed("ada", "k", "count", map[string]any{"a": 1})
		for _, other := range []answer{h.keyed("ada", "k", "count", map[string]any{"a": 2}), h.keyed("ada", "k", "hello_world", map[string]any{})} {
			if other.code() != -32602 || !strings.Contains(other.Error.Message, "was used before") {
				t.Errorf("%s", other.Body)
			}
		}
	})
	t.Run("another caller, and another key, is another task", func(t *testing.T) {
		h, _ := counted(t)
		seen := map[string]bool{}
		for _, a := range []answer{h.keyed("ada", "k", "count", nil), h.keyed("bob", "k", "count", nil), h.keyed("ada", "l", "count", nil)} {
			seen[a.field("taskId")] = true
		}
		if len(seen) != 3 || seen[""] {
			t.Errorf("%v", seen)
		}
	})
	t.Run("an anonymous caller is refused, and told why", func(t *testing.T) {
		h, _ := counted(t)
		got := h.calls(func() {
			if a := h.keyed("", "k", "count", nil); a.code() != -32602 || !strings.Contains(a.Error.Message, "authenticated") {
				t.Errorf("%s", a.Body)
			}
		})
		if len(got) != 0 {
			t.Errorf("%v", got)
		}
	})
	t.Run("a key is a string of 1 to 256 bytes", func(t *testing.T) {
		h, _ := counted(t)
		for _, bad := range []any{"", strings.Repeat("k", 257), 7, nil, []string{"k"}} {
			if a := h.keyed("ada", bad, "count", nil); a.code() != -32602 || !strings.Contains(a.Error.Message, protocol.MetaIdempotencyKey) {
				t.Errorf("%v: %s", bad, a.Body)
			}
		}
		if a := h.keyed("ada", strings.Repeat("k", 256), "count", nil); a.field("taskId") == "" {
			t.Errorf("%s", a.Body)
		}
	})
	t.Run("a call that becomes no task has no use for a key", func(t *testing.T) {
		h, _ := counted(t)
		for _, call := range []answer{h.keyed("", "k", "greet", map[string]any{"name": "Ada"}), h.keyed("", 7, "instant", nil)} {
			if call.code() != 0 || call.field("resultType") != "complete" {
				t.Errorf("%s", call.Body)
			}
		}
	})
	t.Run("what was asked before it was a task is not asked again", func(t *testing.T) { // R-C4
		h, _ := counted(t)
		asked := h.keyed("ada", "k", "prepared", map[string]any{})
		made := h.call("ada", "tools/call", map[string]any{
			"name": "prepared", "arguments": map[string]any{}, "requestState": asked.field("requestState"),
			"inputResponses": map[string]any{"name": map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}},
			"_meta": map[string]any{
				protocol.MetaProtocolVersion: protocol.Revision20260728, protocol.MetaClientCapabilities: json.RawMessage(everything),
				protocol.MetaIdempotencyKey: "k",
			}})
		if again := h.keyed("ada", "k", "prepared", map[string]any{}); made.field("taskId") == "" || again.field("taskId") != made.field("taskId") {
			t.Errorf("%s, and %s", made.Body, again.Body)
		}
		h.clock.Advance(24 * time.Hour)
		if anew := h.keyed("ada", "k", "prepared", map[string]any{}); anew.field("resultType") != "input_required" { // case 23
			t.Errorf("after the task's time: %s", anew.Body)
		}
	})
	t.Run("a task that has run and waits gets no message", func(t *testing.T) { // invariant 5
		s := newStudio(t)
		for range 2 {
			if made := s.keyed("ada", "k", "render", map[string]any{"name": "x"}); made.field("status") != "working" {
				t.Errorf("%s", made.Body)
			}
			s.work()
		}
		if s.runs != 1 {
			t.Errorf("%d runs", s.runs)
		}
		sent := s.calls(func() { s.keyed("ada", "k", "render", map[string]any{"name": "x"}) })
		if sent["sqs/SendMessage"] != 0 {
			t.Errorf("%v", sent)
		}
	})
	t.Run("ids change with the key that makes them alone", func(t *testing.T) { // R-C3
		h, _ := counted(t)
		id := func(change func(*server.Options)) string {
			h.drop()
			o := h.options
			change(&o)
			s, err := server.New(o)
			h.must(err)
			r := request("tools/call", `"name":"count",`)
			r.Body = []byte(strings.Replace(string(r.Body), `"_meta":{`, `"_meta":{"toolhost/idempotencyKey":"k",`, 1))
			ctx := auth.With(t.Context(), auth.Principal{Issuer: "https://issuer.example", Subject: "ada"})
			var a answer
			h.must(json.Unmarshal(s.Handle(ctx, r, nil).Body, &a))
			if a.Error != nil {
				return a.Error.Message
			}
			return a.field("taskId")
		}
		want := h.keyed("ada", "k", "count", nil).field("taskId")
		if got := id(func(o *server.Options) { o.Keys = [][]byte{secret("new")} }); got != want {
			t.Errorf("after a rotation %s, want %s", got, want)
		}
		if got := id(func(o *server.Options) { o.IDKey = secret("new") }); got == want || !macID.MatchString(got) {
			t.Errorf("under another key %s", got)
		}
		if got := id(func(o *server.Options) { o.IDKey = nil }); !strings.Contains(got, "not accepted") {
			t.Errorf("without a key %s", got)
		}
	})
}

// Invariant 1, where the second call mends what the first one left.
func TestIdempotentFaults(t *testing.T) {
	for _, c := range []struct {
		name, operation string
		effect          emulator.Effect
	}{
		{"a call that died between put and send", "SendMessage", emulator.Fail},
		{"a call that lost the replies of its put", "PutItem", emulator.Drop},
		{"a call that lost the replies of its send", "SendMessage", emulator.Drop},
		{"a call whose put failed", "PutItem", emulator.Fail},
	} {
		t.Run(c.name+" is mended by the next", func(t *testing.T) {
			h, runs := counted(t)
			h.during(c.operation, c.effect, false, func() {
				if made := h.keyed("ada", "k", "count", nil); made.code() != -32603 || strings.Contains(string(made.Body), "taskId") {
					t.Fatalf("%s", made.Body)
				}
			})
			made := h.keyed("ada", "k", "count", nil)
			if made.field("status") != "working" {
				t.Fatalf("%s", made.Body)
			}
			h.work()
			if got := h.call("ada", "tasks/get", map[string]any{"taskId": made.field("taskId")}); got.field("status") != "completed" || runs.Load() != 1 {
				t.Errorf("%d runs: %s", runs.Load(), got.Body)
			}
		})
	}
	t.Run("a put whose reply is lost once is recognised as ours", func(t *testing.T) {
		h, _ := counted(t)
		h.during("PutItem", emulator.Drop, true, func() {
			if made := h.keyed("ada", "k", "count", nil); made.field("taskId") == "" {
				t.Errorf("%s", made.Body)
			}
		})
		if n := h.waiting(); n != 1 {
			t.Errorf("%d messages", n)
		}
	})
	t.Run("without a message nothing is promised to the second call either", func(t *testing.T) {
		h, _ := counted(t)
		h.during("SendMessage", emulator.Fail, false, func() {
			for range 2 {
				if made := h.keyed("ada", "k", "count", nil); made.code() != -32603 || strings.Contains(string(made.Body), "taskId") {
					t.Errorf("%s", made.Body)
				}
			}
		})
	})
}

// Case 23: an expired task that is still in the table is no part of its successor.
func TestIdempotentAfterExpiry(t *testing.T) {
	tools := tool.New()
	var jobs []string // the URLs given to them
	tool.Add(tools, &mcp.Tool{Name: "render"}, func(ctx context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
		done, err := tool.NewCallback(ctx, "rendered")
		if err != nil {
			return nil, nil, err
		}
		n, err := tool.Step(ctx, "start", func(context.Context) (string, error) {
			jobs = append(jobs, done.URL)
			return strings.Repeat(fmt.Sprint(len(jobs)), 10<<10), nil // a blob
		})
		if err != nil {
			return nil, nil, err
		}
		film, err := done.Wait(ctx)
		return text("%s of job %s", film, n[:1]), nil, err
	}, tool.Options{Task: tool.Required, TTL: time.Hour, Retention: time.Hour})
	s := &studio{host: startWith(t, tools, server.Limits{})}
	arguments := map[string]any{"name": strings.Repeat("x", 10<<10)} // a blob, too

	create := func() (id, birth string) {
		made := s.keyed("ada", "k", "render", arguments)
		id = made.field("taskId")
		s.work()
		return id, s.load(id).Birth
	}
	id, birth := create()
	s.clock.Advance(time.Hour)
	if got := s.call("ada", "tasks/get", map[string]any{"taskId": id}); got.code() != -32602 {
		t.Fatalf("not expired: %s", got.Body)
	}
	again, born := create()
	if again != id || born == birth || len(jobs) != 2 || jobs[0] == jobs[1] {
		t.Fatalf("task %s, then %s; birth %s, then %s; jobs %q", id, again, birth, born, jobs)
	}
	s.takes("the old task's callback", jobs[0], `"old"`, 404)
	if n := len(s.load(id).Callbacks); n != 0 {
		t.Errorf("the new task has %d callbacks", n)
	}
	s.takes("its own", jobs[1], `"new"`, 204)
	s.work()
	got := s.call("ada", "tasks/get", map[string]any{"taskId": id})
	if want := `\"new\" of job 2`; !strings.Contains(string(got.Body), want) {
		t.Errorf("want %s: %s", want, got.Body)
	}
}
