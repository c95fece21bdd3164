package bench

import (
	"fmt"
	"strings"
	"testing"
)

// quotaLives are what quotas add, and whom they refuse.
var quotaLives = []life{
	{"a short task, both limits set", func(s *story) {
		var id string
		s.promiseCalls("create", s.step("tools/call: a task", func() { id = s.create("short", `{}`) }), map[kind]int{count: 1, takeSlot: 1, putTask: 1, send: 1})
		s.promise("a run", s.step("worker: runs the tool", s.deliver), map[kind]int{getTask: 1, putTask: 2, hide: 1})
		s.promise("the result", s.step("tasks/get: completed", func() { s.get(id, "done") }), map[kind]int{getTask: 1})
	}},
	{"ten tasks are open", func(s *story) {
		s.open(10)
		s.promiseCalls("a refusal", s.step("tools/call: over the limit", func() { s.refused("openTasks") }),
			map[kind]int{count: 1, takeSlot: 2, querySlots: 1, getTasks: 1})
	}},
	{"ten tasks have ended", func(s *story) {
		s.open(10)
		for range 10 {
			s.deliver()
		}
		s.promiseCalls("create", s.step("tools/call: a task; ten are freed", func() { s.create("short", `{}`) }),
			map[kind]int{count: 1, takeSlot: 3, querySlots: 1, getTasks: 1, freeSlot: 10, putTask: 1, send: 1})
	}},
	{"twenty were made in this minute", func(s *story) {
		for range 20 {
			s.create("short", `{}`)
			s.deliver()
		}
		s.promiseCalls("a refusal", s.step("tools/call: over the limit", func() { s.refused("creationsPerMinute") }), map[kind]int{count: 1})
	}},
}

// open makes tasks that are not run.
func (s *story) open(n int) {
	s.tb.Helper()
	for range n {
		s.create("short", `{}`)
	}
}

// refused makes a call that is over a limit.
func (s *story) refused(limit string) {
	s.tb.Helper()
	s.meter.add(httpRequest)
	out := string(s.invoke(s.mcp, event(s.tb, "tools/call", "short", `"name":"short","arguments":{}`)))
	if holds := fmt.Sprintf(`"data":{"limit":%q`, limit); !strings.HasPrefix(out, `{"statusCode":429`) || !strings.Contains(out, holds) {
		s.tb.Fatalf("%.500s\nis no 429 that holds %s", out, holds)
	}
}

// What quotas cost, through the deployed functions, which are told of them by
// their environment. Without them nothing changes: TestLives.
func TestQuotas(t *testing.T) {
	stories := make([]*story, len(quotaLives))
	for i, l := range quotaLives {
		t.Run(l.name, func(t *testing.T) {
			s := &story{deployment: deploy(t, "TOOLHOST_MAX_CREATIONS", "20", "TOOLHOST_MAX_OPEN_TASKS", "10"), columns: quotaKinds}
			l.play(s)
			stories[i] = s
		})
	}
	if !t.Failed() && stories[len(stories)-1] != nil {
		golden(t, "testdata/quotas.txt", counts(quotaLives, stories))
	}
}
