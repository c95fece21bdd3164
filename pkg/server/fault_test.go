package server_test

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolhost/infra/emulator"
	"toolhost/pkg/server"
)

// during makes every call of the operation meet the effect while do runs; first
// limits it to the first call.
func (h *host) during(operation string, effect emulator.Effect, first bool, do func()) {
	h.t.Helper()
	var mu sync.Mutex
	met := 0
	h.faults.Inject(func(c emulator.Call) emulator.Effect {
		mu.Lock()
		defer mu.Unlock()
		if c.Operation != operation || first && met > 0 {
			return emulator.Serve
		}
		met++
		return effect
	})
	do()
	h.faults.Inject(nil)
	mu.Lock() // a call whose connection was cut may still be under way
	defer mu.Unlock()
	if met == 0 {
		h.t.Fatalf("no %s was called", operation)
	}
}

// calls are the AWS calls that do makes.
func (h *host) calls(do func()) map[string]int {
	before := h.faults.Counts()
	do()
	after := h.faults.Counts()
	for k, n := range before {
		if after[k] -= n; after[k] == 0 {
			delete(after, k)
		}
	}
	return after
}

func (h *host) hello() answer {
	h.t.Helper()
	return h.call("", "tools/call", map[string]any{"name": "hello_world", "arguments": map[string]any{}})
}

func (h *host) get(id string) answer {
	h.t.Helper()
	return h.call("", "tasks/get", map[string]any{"taskId": id})
}

func (h *host) answer(id, name string) answer {
	h.t.Helper()
	return h.call("", "tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{
		"name": map[string]any{"action": "accept", "content": map[string]any{"name": name}}}})
}

// R-C1, R-C2: invariant 1, with each step failing (cases 1 and 2).
func TestCreation(t *testing.T) {
	for _, c := range []struct {
		name, operation string
		effect          emulator.Effect
		first           bool
		created         bool
	}{
		{"a put that fails gives an error and no id", "PutItem", emulator.Fail, false, false},
		{"a send that fails gives an error and no id", "SendMessage", emulator.Fail, false, false},
		{"a put whose replies are all lost gives an error and no id", "PutItem", emulator.Drop, false, false},
		{"a put whose reply is lost once is recognised as ours", "PutItem", emulator.Drop, true, true},
		{"a send whose reply is lost once sends twice, which does no harm", "SendMessage", emulator.Drop, true, true},
		{"a put that fails once is repeated", "PutItem", emulator.Fail, true, true},
		{"a send that fails once is repeated", "SendMessage", emulator.Fail, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, server.Limits{})
			var made answer
			h.during(c.operation, c.effect, c.first, func() { made = h.hello() })
			if !c.created {
				if made.code() != -32603 || made.Status != 200 || strings.Contains(string(made.Body), "taskId") {
					t.Fatalf("%d %s", made.Status, made.Body)
				}
				h.work() // whatever was left behind harms nobody
				return
			}
			id := made.field("taskId")
			if id == "" {
				t.Fatalf("%d %s", made.Status, made.Body)
			}
			if got := h.get(id); got.field("status") != "working" {
				t.Errorf("the task can't be found at once: %s", got.Body)
			}
			h.work()
			if got := h.get(id); got.field("status") != "input_required" {
				t.Errorf("the task did not move: %s", got.Body)
			}
		})
	}
	t.Run("throttling is 429 with Retry-After and no id", func(t *testing.T) {
		h := start(t, server.Limits{})
		h.during("PutItem", emulator.Throttle, false, func() {
			if made := h.hello(); made.Status != 429 || made.code() == 0 {
				t.Errorf("%d %s", made.Status, made.Body)
			}
		})
	})
	t.Run("ids are random UUIDs", func(t *testing.T) { // R-C3
		h := start(t, server.Limits{})
		form, seen := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), map[string]bool{}
		for range 20 {
			id := h.hello().field("taskId")
			if !form.MatchString(id) || seen[id] {
				t.Fatalf("id %q", id)
			}
			seen[id] = true
		}
	})
}

// R-V4
func TestInternalErrors(t *testing.T) {
	h := start(t, server.Limits{})
	var got answer
	h.during("GetItem", emulator.Fail, false, func() { got = h.get("7b2e4a6e-0000-4000-8000-000000000000") })
	reference := regexp.MustCompile(`^Internal error \(reference ([A-Z0-9]{12})\)$`).FindStringSubmatch(got.Error.Message)
	if got.code() != -32603 || reference == nil || got.Error.Data != nil {
		t.Fatalf("%s", got.Body)
	}
	if log := h.log.String(); !strings.Contains(log, reference[1]) || !strings.Contains(log, "InternalServerError") {
		t.Errorf("the log does not say what the reference stands for: %s", log)
	}
	for _, internal := range []string{tableName, "dynamo", "AWS", "http", "goroutine"} {
		if strings.Contains(string(got.Body), internal) {
			t.Errorf("%q left the server: %s", internal, got.Body)
		}
	}
}

func TestUpdate(t *testing.T) {
	asked := func(t *testing.T) (*host, string) {
		h := start(t, server.Limits{})
		id := h.hello().field("taskId")
		h.work()
		return h, id
	}
	t.Run("an update that died before its wake-up sends it when it is repeated", func(t *testing.T) { // case 61, R-U5
		h, id := asked(t)
		h.during("SendMessage", emulator.Fail, false, func() {
			if got := h.answer(id, "Luca"); got.code() != -32603 {
				t.Errorf("%s", got.Body)
			}
		})
		if n := h.waiting(); n != 0 {
			t.Fatalf("%d messages", n)
		}
		if got := h.answer(id, "Mara"); got.code() != 0 || h.waiting() != 1 {
			t.Fatalf("%s, %d messages", got.Body, h.waiting())
		}
		h.work()
		if got := h.get(id); !strings.Contains(string(got.Body), "Hello, Luca!") {
			t.Errorf("%s", got.Body)
		}
		if h.answer(id, "Luca"); h.waiting() != 0 {
			t.Error("a wake-up for a terminal task")
		}
	})
	t.Run("a client that hangs up during the save leaves a task that is woken", func(t *testing.T) { // invariant 2
		h, id := asked(t)
		s, err := server.New(h.options)
		h.must(err)
		r := request("tasks/update", `"taskId":"`+id+`","inputResponses":{"name":{"action":"accept","content":{"name":"Luca"}}},`)
		ctx, hangUp := context.WithCancel(t.Context())
		h.faults.Inject(func(c emulator.Call) emulator.Effect {
			if c.Operation == "PutItem" {
				hangUp()
			}
			return emulator.Serve
		})
		s.Handle(ctx, r, nil)
		h.faults.Inject(nil)
		h.work()
		if got := h.get(id); !strings.Contains(string(got.Body), "Hello, Luca!") {
			t.Errorf("%s", got.Body)
		}
	})
	t.Run("a save whose reply is lost is done once", func(t *testing.T) { // case 2
		h, id := asked(t)
		h.during("PutItem", emulator.Drop, true, func() {
			if got := h.answer(id, "Luca"); got.code() != 0 {
				t.Errorf("%s", got.Body)
			}
		})
		h.work()
		if got := h.get(id); !strings.Contains(string(got.Body), "Hello, Luca!") {
			t.Errorf("%s", got.Body)
		}
	})
	t.Run("two updates at the same moment are both stored, and wake the tool once", func(t *testing.T) { // case 54
		h := start(t, server.Limits{})
		id := h.call("", "tools/call", map[string]any{"name": "two_questions"}).field("taskId")
		h.work()
		var both sync.WaitGroup
		for key, response := range map[string]map[string]any{
			"name": {"action": "accept", "content": map[string]any{"name": "Luca"}}, "where": {"roots": []any{}},
		} {
			both.Go(func() {
				got := h.call("", "tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{key: response}})
				if got.code() != 0 {
					t.Errorf("%s", got.Body)
				}
			})
		}
		both.Wait()
		if n := h.waiting(); n != 1 {
			t.Errorf("%d wake-ups", n)
		}
		h.work()
		if got := h.get(id); got.field("status") != "completed" {
			t.Errorf("%s", got.Body)
		}
	})
	t.Run("an answer over the limit is refused by its number, and the question stays open", func(t *testing.T) { // case 25
		h := start(t, server.Limits{MaxAnswer: 200})
		id := h.hello().field("taskId")
		h.work()
		got := h.answer(id, strings.Repeat("x", 200))
		if got.code() != -32602 || !strings.Contains(got.Error.Message, "limit is 200") {
			t.Errorf("%s", got.Body)
		}
		if got := h.get(id); got.field("status") != "input_required" {
			t.Errorf("%s", got.Body)
		}
	})
	t.Run("an expired question takes no answer, and nothing is queued", func(t *testing.T) { // case 5, R-G8
		h, id := asked(t)
		h.clock.Advance(time.Hour)
		cancelled := h.call("", "tasks/cancel", map[string]any{"taskId": id})
		if h.answer(id, "Luca").code() != -32602 || cancelled.code() != -32602 || h.waiting() != 0 {
			t.Error("the task lives on")
		}
	})
}

// Invariant 2, second line: a read that sees a lost wake-up sends it again.
func TestOverdue(t *testing.T) {
	h := start(t, server.Limits{})
	id := h.hello().field("taskId")
	h.drop()
	h.clock.Advance(14 * time.Minute)
	if h.get(id); h.waiting() != 0 {
		t.Fatal("woken before it was overdue")
	}
	h.clock.Advance(time.Minute)
	t.Run("a read does not fail because the wake-up does", func(t *testing.T) {
		h.during("PutItem", emulator.Fail, false, func() {
			if got := h.get(id); got.field("status") != "working" {
				t.Errorf("%s", got.Body)
			}
		})
	})
	t.Run("of many readers one sends", func(t *testing.T) {
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { h.get(id) })
		}
		all.Wait()
		if n := h.waiting(); n != 1 {
			t.Errorf("%d wake-ups", n)
		}
	})
	t.Run("it moves on", func(t *testing.T) {
		before := h.get(id)
		h.work()
		if got := h.get(id); before.field("status") != "working" || got.field("status") != "input_required" {
			t.Errorf("%s, then %s", before.Body, got.Body)
		}
	})
}

// What a call costs, in AWS calls.
func TestCost(t *testing.T) {
	h := start(t, server.Limits{})
	id := h.hello().field("taskId")
	for _, c := range []struct {
		name string
		do   func()
		want map[string]int
	}{
		{"a call that becomes a task is one put and one send", func() { h.hello() }, map[string]int{"dynamodb/PutItem": 1, "sqs/SendMessage": 1}},
		{"a poll is one read", func() { h.get(id) }, map[string]int{"dynamodb/GetItem": 1}},
		{"a cancel is one read and one put", func() { h.call("", "tasks/cancel", map[string]any{"taskId": id}) },
			map[string]int{"dynamodb/GetItem": 1, "dynamodb/PutItem": 1}},
		{"an instant call writes nothing", func() { h.call("", "tools/call", map[string]any{"name": "instant"}) }, nil}, // R-C5
		{"a synchronous call touches nothing", func() {
			h.call("", "tools/call", map[string]any{"name": "greet", "arguments": map[string]any{"name": "Luca"}})
		}, nil},
		{"a refused method touches nothing", func() { h.callDeclaring("{}", "", "tasks/get", map[string]any{"taskId": id}) }, nil}, // R-N5
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := h.calls(c.do); !maps.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// R-V1, R-G7: a foreign id gets the same bytes as an unknown one (case 13).
func TestForeign(t *testing.T) {
	h := start(t, server.Limits{})
	id := h.call("ada", "tools/call", map[string]any{"name": "hello_world"}).field("taskId")
	h.work()
	before := h.call("ada", "tasks/get", map[string]any{"taskId": id})
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		var bodies []string
		for _, id := range []string{id, "7b2e4a6e-0000-4000-8000-000000000000", "", strings.Repeat("x", 5000), "\u0000", "../..", "💥"} {
			got := h.call("bob", method, map[string]any{"taskId": id, "inputResponses": map[string]any{"name": 5}})
			bodies = append(bodies, string(got.Body))
		}
		if same := slices.Compact(bodies); len(same) != 1 || !strings.Contains(same[0], "-32602") {
			t.Errorf("%s: %q", method, same)
		}
	}
	if after := h.call("ada", "tasks/get", map[string]any{"taskId": id}); string(after.Body) != string(before.Body) {
		t.Errorf("the task moved: %s", after.Body)
	}
}

// Case 25: a result is whole, or says its size and the limit.
func TestSizes(t *testing.T) {
	h := start(t, server.Limits{})
	for _, bytes := range []int{390_000, 450_000, 4_000_000, 7_000_000} {
		arguments := map[string]any{"bytes": bytes}
		now := h.callDeclaring("{}", "", "tools/call", map[string]any{"name": "big", "arguments": arguments})
		id := h.call("", "tools/call", map[string]any{"name": "big", "arguments": arguments}).field("taskId")
		h.work()
		later := h.get(id)
		whole := bytes < 4<<20
		for _, got := range []answer{now, later} {
			text := string(got.Body)
			if strings.Contains(text, strings.Repeat("x", bytes)) != whole || strings.Contains(text, `"isError":true`) == whole ||
				!whole && (!strings.Contains(text, "7000") || !strings.Contains(text, "4194304")) {
				t.Errorf("%d bytes: %d %.300s", bytes, len(text), text)
			}
		}
		if later.field("status") != "completed" {
			t.Errorf("%d bytes: %q", bytes, later.field("status"))
		}
	}
}

// Case 52: arguments nested too deep are a matter of the model's, up to where
// they are no message any more (case 53).
func TestDepth(t *testing.T) {
	h := start(t, server.Limits{})
	deep := func(levels int) answer {
		value := json.RawMessage(strings.Repeat("[", levels) + strings.Repeat("]", levels))
		return h.call("", "tools/call", map[string]any{"name": "greet", "arguments": map[string]any{"name": value}})
	}
	if got := deep(100); got.Status != 200 || !strings.Contains(string(got.Result), `"isError":true`) || !strings.Contains(string(got.Result), "64 levels") {
		t.Errorf("%d %s", got.Status, got.Body)
	}
	if got := deep(9_000); got.Status != 400 || got.code() != -32700 || !strings.Contains(string(got.Body), `"id":1`) {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// R-G3: a task's result is, byte for byte, what the call would have returned.
func TestInlinedResult(t *testing.T) {
	h := start(t, server.Limits{})
	for name, params := range map[string]map[string]any{
		"a tool error": {"name": "fails", "arguments": map[string]any{"how": "tool"}},
		"a result":     {"name": "big", "arguments": map[string]any{"bytes": 100_000}},
	} {
		t.Run(name, func(t *testing.T) {
			now := h.callDeclaring("{}", "", "tools/call", params)
			id := h.call("", "tools/call", params).field("taskId")
			h.work()
			var later struct {
				Result json.RawMessage `json:"result"`
			}
			h.must(json.Unmarshal(h.get(id).Result, &later))
			if string(later.Result) != string(now.Result) {
				t.Errorf("%.300s\n%.300s", later.Result, now.Result)
			}
		})
	}
}
