package server_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"toolhost/infra/emulator"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/server"
	"toolhost/pkg/task"
)

// R-L1, R-L3, case 31.
func TestListen(t *testing.T) {
	t.Run("each change of fifty tasks, to two listeners, as tasks/get shows it", func(t *testing.T) {
		h := start(t, server.Limits{})
		var all []string
		for range 47 {
			all = append(all, h.startTask("ada", "hello_world", nil))
		}
		for _, how := range []string{"tool", "protocol"} {
			all = append(all, h.startTask("ada", "fails", map[string]any{"how": how}))
		}
		all = append(all, h.startTask("ada", "big", map[string]any{"bytes": 200 << 10}))
		foreign := h.startTask("bob", "hello_world", nil)
		// Before: one is over when the client begins to listen.
		h.call("ada", "tasks/cancel", map[string]any{"taskId": all[0]})

		reads := h.faults.Counts()["dynamodb/BatchGetItem"]
		wide, narrow := h.listen("ada", `"wide"`, slices.Concat(all, []string{foreign, "unknown"})...), h.listen("ada", `7`, all[2], foreign, all[1])
		wide.acknowledges(all...)
		if statuses := wide.tells(all...); statuses[all[0]] != "cancelled" || statuses[all[1]] != "working" {
			t.Fatalf("at first %v", statuses)
		}
		narrow.acknowledges(all[2], all[1])
		narrow.tells(all[1], all[2])

		// Between two looks nothing is told; then all at once.
		h.settled(2 * asleep)
		h.work()
		wide.quiet()
		h.after(time.Second, 2)
		if statuses := wide.tells(all[47:]...); statuses[all[47]] != "completed" || statuses[all[48]] != "failed" || statuses[all[49]] != "completed" {
			t.Fatalf("ended %v", statuses)
		}
		h.after(4*time.Second, 2)
		for _, status := range wide.tells(all[1:47]...) {
			if status != "input_required" {
				t.Fatalf("a task that asks is %s", status)
			}
		}
		narrow.tells(all[1], all[2])

		for _, id := range all[1:20] {
			h.answerName("ada", id)
		}
		h.work()
		h.settled(2 * asleep)
		h.clock.Advance(5 * time.Second)
		for _, status := range wide.tells(all[1:20]...) {
			if status != "completed" {
				t.Fatalf("an answered task is %s", status)
			}
		}
		narrow.tells(all[1], all[2])
		narrow.ends()

		for _, id := range all[20:47] {
			h.call("ada", "tasks/cancel", map[string]any{"taskId": id})
		}
		h.settled(asleep)
		h.clock.Advance(5 * time.Second)
		wide.tells(all[20:47]...)
		wide.ends()
		h.settled(0)
		// Seven looks of one listener, five of the other, and the payload of one task
		// for one listener and for its own get.
		if got := h.faults.Counts()["dynamodb/BatchGetItem"] - reads; got > 12 {
			t.Errorf("%d reads", got)
		}
	})

	t.Run("what the client can't see is not told, what it can is", func(t *testing.T) { // R-L4, case 32
		h := start(t, server.Limits{})
		id := h.startTask("ada", "two_questions", nil)
		l := h.listen("ada", `1`, id)
		l.acknowledges(id)
		l.tells(id)
		h.settled(asleep)
		change := func(do func(task.Task) (task.Task, error)) {
			t.Helper()
			v, err := h.store.Load(t.Context(), id)
			h.must(err)
			v, err = do(v)
			h.must(err)
			_, err = h.store.Save(t.Context(), v)
			h.must(err)
		}
		change(func(v task.Task) (task.Task, error) { return task.Claim(v, "w", limits.Lease, h.clock.Now()) })
		h.after(time.Second, 1)
		l.quiet()
		change(func(v task.Task) (task.Task, error) { return task.Report(v, "w", "12 of 40", h.clock.Now()) })
		h.after(time.Second, 1)
		l.tells(id)
		change(func(v task.Task) (task.Task, error) { return task.Renew(v, "w", limits.Lease, h.clock.Now()) })
		h.after(time.Second, 1)
		l.quiet()
		change(func(v task.Task) (task.Task, error) {
			return task.Complete(v, "w", task.NewPayload([]byte(`{"resultType":"complete","content":[]}`)), h.clock.Now())
		})
		h.settled(asleep)
		h.clock.Advance(time.Second)
		l.tells(id)
		l.ends()
	})

	t.Run("an answer to one of two questions is told", func(t *testing.T) { // R-G2, R-U3
		h := start(t, server.Limits{})
		id := h.startTask("ada", "two_questions", nil)
		h.work()
		l := h.listen("ada", `1`, id)
		l.acknowledges(id)
		l.tells(id)
		h.answerName("ada", id)
		h.after(time.Second, 1)
		l.tells(id)
	})

	t.Run("a task whose time is over is told no more", func(t *testing.T) { // R-G8
		h := start(t, server.Limits{})
		id := h.startTask("ada", "hello_world", nil) // lives an hour
		h.work()
		h.clock.Advance(55 * time.Minute)
		l := h.listen("ada", `1`, id)
		l.acknowledges(id)
		l.tells(id)
		h.after(4*time.Minute, 1)
		l.quiet()
		h.clock.Advance(time.Minute)
		for f := range l.frames {
			if f.Method != "" || f.Error != nil {
				t.Errorf("%+v", f)
			}
		}
		h.settled(0)
	})

	t.Run("an overdue task is woken", func(t *testing.T) { // invariant 2
		h := start(t, server.Limits{})
		id := h.startTask("ada", "hello_world", nil)
		h.drop()
		h.clock.Advance(limits.OverdueAfter - time.Minute)
		l := h.listen("ada", `1`, id)
		l.acknowledges(id)
		l.tells(id)
		if h.after(30*time.Second, 1); h.waiting() != 0 {
			t.Fatal("woken too early")
		}
		if h.after(30*time.Second, 1); h.waiting() != 1 {
			t.Fatalf("%d wake-ups", h.waiting())
		}
		h.work()
		h.after(5*time.Second, 1)
		l.tells(id)
	})

	t.Run("a client that hangs up leaves nothing", func(t *testing.T) { // R-H10
		h := start(t, server.Limits{})
		id := h.startTask("ada", "hello_world", nil)
		l := h.listen("ada", `1`, id)
		l.acknowledges(id)
		h.settled(asleep)
		l.hangUp()
		h.settled(0)
		before := h.faults.Counts()
		h.clock.Advance(time.Hour)
		h.settled(0)
		if after := h.faults.Counts(); !maps.Equal(before, after) {
			t.Errorf("%v became %v", before, after)
		}
		if h.log.Len() > 0 {
			t.Errorf("logged %s", h.log)
		}
	})

	t.Run("at the end of the time the client may listen again and misses nothing", func(t *testing.T) { // R-L3, R-L5
		h := start(t, server.Limits{})
		id := h.startTask("ada", "hello_world", nil)
		l := h.listen("ada", `1`, id)
		l.acknowledges(id)
		l.tells(id)
		comments := 0
		for at := time.Duration(0); at < limits.MaxListen; at += limits.KeepAlive {
			h.settled(asleep)
			h.clock.Advance(limits.KeepAlive)
			if f := <-l.frames; f.comment() {
				comments++
			}
		}
		if want := int(limits.MaxListen/limits.KeepAlive) - 1; comments < want {
			t.Errorf("%d comments, want %d", comments, want)
		}
		for f := range l.frames {
			if f.Method != "" || f.Error != nil {
				t.Errorf("%+v", f)
			}
		}
		h.settled(0)
		h.work()
		again := h.listen("ada", `2`, id)
		again.acknowledges(id)
		if got := again.tells(id)[id]; got != "input_required" {
			t.Errorf("then it is %s", got)
		}
	})

	t.Run("it ends in good order before the function's own time does", func(t *testing.T) { // R-L3
		h := start(t, server.Limits{})
		id := h.startTask("", "hello_world", nil)
		s, err := server.New(h.options)
		h.must(err)
		ctx, cancel := context.WithTimeout(t.Context(), 1100*time.Millisecond) // a second of it is the margin
		defer cancel()
		body := listenBody(`1`, []string{id})
		told := 0
		response := s.Handle(ctx, server.Request{Headers: protocol.ReadHeaders(mirror(body)), Body: body, Live: true}, func([]byte) { told++ })
		if ctx.Err() != nil || told != 2 {
			t.Errorf("told %d things; %v", told, ctx.Err())
		}
		checkSchemas(t, body, response.Body)
	})

	t.Run("a database that is busy for a while delays what is told", func(t *testing.T) {
		h := start(t, server.Limits{})
		id := h.startTask("ada", "hello_world", nil)
		l := h.listen("ada", `1`, id)
		l.acknowledges(id)
		l.tells(id)
		h.settled(asleep)
		h.work()
		h.faults.Inject(func(c emulator.Call) emulator.Effect {
			if c.Operation == "BatchGetItem" {
				return emulator.Throttle
			}
			return emulator.Serve
		})
		h.after(5*time.Second, 1)
		l.quiet()
		h.faults.Inject(nil)
		h.after(time.Second, 1)
		l.tells(id)
	})

	t.Run("a database that fails ends it with an error", func(t *testing.T) { // R-V4
		h := start(t, server.Limits{})
		id := h.startTask("ada", "hello_world", nil)
		l := h.listen("ada", `1`, id)
		l.acknowledges(id)
		l.tells(id)
		h.settled(asleep)
		h.faults.Inject(func(emulator.Call) emulator.Effect { return emulator.Fail })
		h.clock.Advance(5 * time.Second)
		for f := range l.frames {
			if !f.comment() && !bytes.Contains(f.Error, []byte("-32603")) {
				t.Errorf("%+v", f)
			}
		}
	})
}

// R-L6 and what is refused before anything is sent.
func TestListenRefused(t *testing.T) {
	var many []string
	for i := range limits.MaxWatched + 1 {
		many = append(many, fmt.Sprint(i))
	}
	h := start(t, server.Limits{})
	live, silent := must(server.New(h.options)), h.options
	silent.Limits.MaxListen = -1
	off := must(server.New(silent))
	for _, c := range []struct {
		name     string
		server   *server.Server
		live     bool
		tasks    []string
		notified int
		status   int
		says     string
	}{
		{"as many tasks as one listen watches", live, true, many[1:], 1, 200, `"resultType":"complete"`},
		{"one task more", live, true, many, 0, 200, `one listen watches at most 100`},
		{"an answer that is sent in one piece", live, false, many[:1], 0, 404, `-32601`},
		{"a deployment that does not offer it", off, true, many[:1], 0, 404, `-32601`},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := listenBody(`1`, c.tasks)
			notified := 0
			r := c.server.Handle(t.Context(), server.Request{Headers: protocol.ReadHeaders(mirror(body)), Body: body, Live: c.live}, func([]byte) { notified++ })
			if notified != c.notified || r.Status != c.status || !bytes.Contains(r.Body, []byte(c.says)) {
				t.Errorf("told %d things, then HTTP %d %s", notified, r.Status, r.Body)
			}
		})
	}
}
