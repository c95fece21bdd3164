package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"toolhost/infra/emulator"
	"toolhost/pkg/auth"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/quota"
	"toolhost/pkg/server"
	"toolhost/pkg/store/dynamostore"
	"toolhost/pkg/task"
)

// startQuota is a host whose callers have these limits, and its tool "count".
func startQuota(t *testing.T, creations, openTasks int) *host {
	t.Helper()
	h, _ := counted(t)
	h.options.Quota = quota.New(quota.Options{Ledger: dynamostore.NewLedger(h.tables, tableName), Store: h.store, Clock: h.clock,
		Creations: creations, OpenTasks: openTasks})
	h.serve()
	return h
}

// open are the caller's open tasks, as the table has them.
func (h *host) open(caller string) (all []task.Task) {
	h.t.Helper()
	pages := dynamodb.NewScanPaginator(h.tables, &dynamodb.ScanInput{TableName: aws.String(tableName)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(h.t.Context())
		h.must(err)
		for _, item := range page.Items {
			if item["sk"].(*types.AttributeValueMemberS).Value != "task" {
				continue
			}
			v, err := h.store.Load(h.t.Context(), item["pk"].(*types.AttributeValueMemberS).Value)
			h.must(err)
			if v.Owner.Subject == caller && !v.Status.Terminal() && !v.Expired(h.clock.Now()) {
				all = append(all, v)
			}
		}
	}
	return all
}

func (h *host) count(caller string) answer {
	h.t.Helper()
	return h.call(caller, "tools/call", map[string]any{"name": "count"})
}

// limited reports whether the answer refuses for the limit, as it should.
func (a answer) limited(limit quota.Limit, most int) bool {
	return a.Status == http.StatusTooManyRequests && a.code() == -32603 && string(a.Error.Data) == fmt.Sprintf(`{"limit":%q,"max":%d}`, limit, most) &&
		strings.Contains(a.Error.Message, fmt.Sprintf("the limit is %d", most))
}

func TestQuota(t *testing.T) {
	t.Run("one caller who would open 10,000 tasks is told its limit, and others don't notice", func(t *testing.T) { // case 45
		h := startQuota(t, 12, 10)
		ctx := auth.With(t.Context(), auth.Principal{Issuer: "https://issuer.example", Subject: "ada"})
		s := must(server.New(h.options))
		made := 0
		for i := range 10_000 {
			r := s.Handle(ctx, request("tools/call", `"name":"count",`), nil)
			a := answer{Status: r.Status, Body: r.Body}
			h.must(json.Unmarshal(r.Body, &a))
			switch {
			case a.field("taskId") != "":
				made++
			case i < 12 && (!a.limited(quota.OpenTasks, 10) || r.RetryAfter != 0):
				t.Fatalf("%d after %v: %s", r.Status, r.RetryAfter, r.Body)
			case i >= 12 && (!a.limited(quota.Creations, 12) || r.RetryAfter != time.Minute):
				t.Fatalf("%d after %v: %s", r.Status, r.RetryAfter, r.Body)
			}
			if i%1000 == 999 {
				checkSchemas(t, nil, r.Body)
				if b := h.count("bob"); b.field("taskId") == "" {
					t.Fatalf("another caller gets %s", b.Body)
				}
			}
		}
		if made != 10 || len(h.open("ada")) != 10 || len(h.open("bob")) != 10 {
			t.Errorf("%d were made, %d are open, and %d of the other", made, len(h.open("ada")), len(h.open("bob")))
		}
	})
	t.Run("Retry-After says when the next minute begins", func(t *testing.T) {
		h := startQuota(t, 1, 0)
		h.clock.Advance(18 * time.Second)
		h.count("ada")
		body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","_meta":{"` + protocol.MetaProtocolVersion + `":"2026-07-28","` + protocol.MetaClientCapabilities + `":` + everything + `}}}`)
		header := mirror(body)
		header.Set("Test-Caller", "ada")
		response, got := h.send(http.MethodPost, header, body)
		if response.StatusCode != 429 || response.Header.Get("Retry-After") != "42" {
			t.Fatalf("%d after %q: %s", response.StatusCode, response.Header.Get("Retry-After"), got)
		}
		h.clock.Advance(42 * time.Second)
		if a := h.count("ada"); a.field("taskId") == "" {
			t.Errorf("%s", a.Body)
		}
	})
	t.Run("fifty at once make as many as there may be", func(t *testing.T) {
		h := startQuota(t, 0, 10)
		var made, refused atomic.Int32
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				switch a := h.count("ada"); {
				case a.field("taskId") != "":
					made.Add(1)
				case a.limited(quota.OpenTasks, 10):
					refused.Add(1)
				}
			})
		}
		all.Wait()
		if made.Load() != 10 || refused.Load() != 40 || len(h.open("ada")) != 10 {
			t.Errorf("%d were made, %d refused, %d are open", made.Load(), refused.Load(), len(h.open("ada")))
		}
	})
	t.Run("a task that has ended, however, leaves room", func(t *testing.T) {
		h := startQuota(t, 0, 2)
		first, second := h.startTask("ada", "count", nil), h.startTask("ada", "hello_world", nil)
		if a := h.count("ada"); !a.limited(quota.OpenTasks, 2) {
			t.Fatalf("%s", a.Body)
		}
		h.work() // completes the first, and lets the second ask
		h.startTask("ada", "count", nil)
		if a := h.count("ada"); !a.limited(quota.OpenTasks, 2) {
			t.Fatalf("%s", a.Body)
		}
		h.call("ada", "tasks/cancel", map[string]any{"taskId": second})
		h.startTask("ada", "hello_world", nil)
		if a := h.count("ada"); !a.limited(quota.OpenTasks, 2) {
			t.Fatalf("%s", a.Body)
		}
		h.clock.Advance(time.Hour) // the longest of them expires
		h.startTask("ada", "count", nil)
		if got := h.call("ada", "tasks/get", map[string]any{"taskId": first}); got.code() == 0 && got.field("status") != "completed" {
			t.Errorf("%s", got.Body)
		}
	})
	t.Run("calls that are no tasks take none", func(t *testing.T) { // R-C5
		h := startQuota(t, 1, 1)
		h.startTask("ada", "count", nil)
		for range 3 {
			for _, params := range []map[string]any{{"name": "instant"}, {"name": "greet", "arguments": map[string]any{"name": "Luca"}}, {"name": "count", "arguments": map[string]any{"a": "x"}}} {
				if a := h.call("ada", "tools/call", params); a.Error != nil {
					t.Fatalf("%s", a.Body)
				}
			}
		}
	})
	t.Run("all anonymous callers are one", func(t *testing.T) {
		h := startQuota(t, 0, 1)
		h.startTask("", "count", nil)
		if a := h.count(""); !a.limited(quota.OpenTasks, 1) {
			t.Errorf("%s", a.Body)
		}
		h.startTask("ada", "count", nil)
	})
	t.Run("a task of 2025-11-25 counts, and its client is told in a body that it reads", func(t *testing.T) { // R-B3
		h := startQuota(t, 0, 1)
		h.legacyStart("count", map[string]any{})
		a := h.legacyCall("ada", protocol.MethodToolsCall, map[string]any{"name": "count", "arguments": map[string]any{}, "task": map[string]any{}})
		if a.Status != http.StatusOK || a.code() != -32603 || string(a.Error.Data) != `{"limit":"openTasks","max":1}` {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := h.count("ada"); !a.limited(quota.OpenTasks, 1) {
			t.Errorf("%s", a.Body)
		}
	})
	t.Run("a repeated idempotent call takes none", func(t *testing.T) { // case 11
		h := startQuota(t, 1, 1)
		id := h.keyed("ada", "k", "count", nil).field("taskId")
		for range 3 {
			if again := h.keyed("ada", "k", "count", nil); id == "" || again.field("taskId") != id {
				t.Fatalf("%s", again.Body)
			}
		}
		h.work()
		if again := h.keyed("ada", "k", "count", nil); again.field("status") != "completed" {
			t.Errorf("%s", again.Body)
		}
	})
	t.Run("fifty of one idempotency key at once are one task that holds one slot", func(t *testing.T) {
		h := startQuota(t, 0, 3)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { h.keyed("ada", "k", "count", nil) }) // some find no slot while others hold theirs, and would repeat it
		}
		all.Wait()
		if n := len(h.open("ada")); n != 1 {
			t.Fatalf("%d open tasks", n)
		}
		h.startTask("ada", "count", nil)
		h.startTask("ada", "count", nil)
		if a := h.count("ada"); !a.limited(quota.OpenTasks, 3) {
			t.Errorf("%s", a.Body)
		}
	})
	t.Run("a creation so slow that its slot is given away does not become a task", func(t *testing.T) {
		h := startQuota(t, 0, 1)
		ctx, s := auth.With(t.Context(), auth.Principal{Issuer: "https://issuer.example", Subject: "ada"}), must(server.New(h.options))
		var slow atomic.Bool
		other := make(chan answer, 1)
		h.faults.Inject(func(c emulator.Call) emulator.Effect {
			if strings.Contains(string(c.Body), `"sk":{"S":"task"}`) && c.Operation == "PutItem" && slow.CompareAndSwap(false, true) {
				h.clock.Advance(limits.CreationTime)
				other <- h.count("ada")
			}
			return emulator.Serve
		})
		r := s.Handle(ctx, request("tools/call", `"name":"count",`), nil)
		h.faults.Inject(nil)
		if a := <-other; r.Status != 429 || a.field("taskId") == "" || len(h.open("ada")) != 1 {
			t.Errorf("%d %s, and %s; %d are open", r.Status, r.Body, a.Body, len(h.open("ada")))
		}
	})
	t.Run("a lost reply counts once", func(t *testing.T) { // case 2
		h := startQuota(t, 1, 1)
		for _, operation := range []string{"UpdateItem", "PutItem"} {
			h.during(operation, emulator.Drop, true, func() { h.startTask(operation, "count", nil) })
		}
	})
}

// What creations take with quotas, in AWS calls; without, see TestCost.
func TestQuotaCost(t *testing.T) {
	for _, c := range []struct {
		name                string
		creations, openTask int
		do                  func(*host)
		want                map[string]int
	}{
		{"a limit of creations is one update", 100, 0, func(h *host) { h.count("ada") }, map[string]int{"dynamodb/UpdateItem": 1, "dynamodb/PutItem": 1, "sqs/SendMessage": 1}},
		{"a limit of open tasks is one put", 0, 100, func(h *host) { h.count("ada") }, map[string]int{"dynamodb/PutItem": 2, "sqs/SendMessage": 1}},
		{"an idempotency key is one read", 100, 100, func(h *host) { h.keyed("ada", "k", "count", nil) },
			map[string]int{"dynamodb/GetItem": 1, "dynamodb/UpdateItem": 1, "dynamodb/PutItem": 2, "sqs/SendMessage": 1}},
		{"a poll, an instant and a synchronous call are none", 100, 100, func(h *host) {
			h.get("unknown")
			h.call("ada", "tools/call", map[string]any{"name": "instant"})
		}, map[string]int{"dynamodb/GetItem": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := startQuota(t, c.creations, c.openTask)
			if got := h.calls(func() { c.do(h) }); !maps.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Every fault at every call of a creation: the quota is exact afterwards. Nobody
// gets past it, and a minute later every slot that no open task holds can be had.
func TestQuotaFaults(t *testing.T) {
	const most = 3
	faults := map[string]func(n int) emulator.Effect{ // of the nth call from the one that it befalls
		"its reply is lost":        func(n int) emulator.Effect { return when(n == 0, emulator.Drop) },
		"it is lost":               func(n int) emulator.Effect { return when(n == 0, emulator.Lose) },
		"it and all later fail":    func(int) emulator.Effect { return emulator.Fail },
		"killed before it":         func(int) emulator.Effect { return emulator.Lose },
		"killed after it":          func(n int) emulator.Effect { return max(when(n == 0, emulator.Drop), when(n > 0, emulator.Lose)) },
		"it fails for good, alone": nil,
	}
	for _, life := range []struct {
		name  string
		ended int // slots that ended tasks hold
		calls int // of the creation, written down so that none is left out
		keyed bool
	}{
		{"a creation", 0, 4, false},
		{"one with an idempotency key", 0, 5, true},
		{"one that has to look at the slots", most, 11, false},
	} {
		prepare := func(t *testing.T) *host {
			h := startQuota(t, 1000, most)
			for range life.ended {
				h.startTask("ada", "count", nil)
			}
			h.work()
			return h
		}
		create := func(h *host) answer {
			if life.keyed {
				return h.keyed("ada", "k", "count", nil)
			}
			return h.count("ada")
		}
		t.Run(life.name, func(t *testing.T) {
			h, calls := prepare(t), 0
			for _, n := range h.calls(func() { create(h) }) {
				calls += n
			}
			if calls != life.calls {
				t.Fatalf("%d calls, %d are written down", calls, life.calls)
			}
			for at := 1; at <= life.calls; at++ {
				for name, effect := range faults {
					t.Run(fmt.Sprintf("%d: %s", at, name), func(t *testing.T) {
						h := prepare(t)
						var mu sync.Mutex
						seen, struck := 0, ""
						h.faults.Inject(func(c emulator.Call) emulator.Effect {
							mu.Lock()
							defer mu.Unlock()
							if seen++; seen == at {
								struck = c.Operation + string(c.Body)
							}
							switch {
							case seen < at:
								return emulator.Serve
							case effect == nil:
								return when(c.Operation+string(c.Body) == struck, emulator.Fail)
							}
							return effect(seen - at)
						})
						got := create(h)
						h.faults.Inject(nil)
						id := got.field("taskId")
						if id != "" {
							if open := h.open("ada"); len(open) != 1 || open[0].ID != id { // R-C1
								t.Errorf("%v are open, not %s", open, id)
							}
						}
						if life.keyed {
							h.clock.Advance(time.Millisecond) // past what keeps the given up one out
							if again := create(h); again.field("taskId") == "" || id != "" && again.field("taskId") != id {
								t.Errorf("again: %s", again.Body)
							}
						}
						h.clock.Advance(limits.CreationTime)
						for n := len(h.open("ada")); n < most; n++ {
							if a := h.count("ada"); a.field("taskId") == "" {
								t.Fatalf("with %d of %d open: %s", n, most, a.Body)
							}
						}
						if a := h.count("ada"); !a.limited(quota.OpenTasks, most) || len(h.open("ada")) != most {
							t.Errorf("with %d open: %s", len(h.open("ada")), a.Body)
						}
					})
				}
			}
		})
	}
	t.Run("a send that fails gives everything back at once", func(t *testing.T) { // case 1
		h := startQuota(t, 0, 1)
		h.during("SendMessage", emulator.Fail, false, func() { h.count("ada") })
		if n := len(h.open("ada")); n != 0 {
			t.Errorf("%d are open", n)
		}
		if got := h.calls(func() { h.startTask("ada", "count", nil) }); got["dynamodb/Query"] != 0 {
			t.Errorf("%v", got)
		}
	})
	t.Run("a client that hangs up gives back what it took", func(t *testing.T) {
		for _, part := range []string{`"slot#`, `"task"`, "SendMessage"} {
			h := startQuota(t, 0, 1)
			s := must(server.New(h.options))
			ctx, hangUp := context.WithCancel(auth.With(t.Context(), auth.Principal{Issuer: "https://issuer.example", Subject: "ada"}))
			h.faults.Inject(func(c emulator.Call) emulator.Effect {
				if strings.Contains(c.Operation+string(c.Body), part) {
					hangUp()
				}
				return emulator.Serve
			})
			s.Handle(ctx, request("tools/call", `"name":"count",`), nil)
			h.faults.Inject(nil)
			h.work() // whatever was sent all the same
			h.clock.Advance(limits.CreationTime)
			if a := h.count("ada"); a.field("taskId") == "" {
				t.Errorf("%s: %s", part, a.Body)
			}
		}
	})
}

func when(holds bool, e emulator.Effect) emulator.Effect {
	if holds {
		return e
	}
	return emulator.Serve
}
