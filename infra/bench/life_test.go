package bench

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"toolhost/pkg/limits"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// life is what one kind of call does, step by step. The last one is none that
// anybody plans for, and has no bill.
type life struct {
	name string
	play func(*story)
}

// story is a life as it is played.
type story struct {
	*deployment
	columns []kind
	rows    []row
	total   usage
}

type row struct {
	name string
	usage
}

// step does something and notes what it took.
func (s *story) step(name string, do func()) usage {
	s.tb.Helper()
	before := s.meter.usage()
	do()
	took := s.meter.usage().minus(before)
	for k := range took.calls {
		if !slices.Contains(s.columns, k) {
			s.tb.Errorf("%s: calls %s, which has no column", name, k)
		}
	}
	s.rows, s.total = append(s.rows, row{name, took}), s.total.plus(took)
	return took
}

// promise asserts what a step took: what the design promises, whatever the
// golden file says. The units are those of the calls.
func (s *story) promise(what string, got usage, want map[kind]int) {
	s.tb.Helper()
	s.promiseCalls(what, got, want)
	writes, reads := got.sum(putTask, putStep), got.sum(getTask, querySteps)
	if got.sum(putBlob, getBlob) == 0 && (got.writeUnits != float64(writes) || got.readUnits != float64(reads)) {
		s.tb.Errorf("%s took %v write units and %v read units, want one a call: %d and %d", what, got.writeUnits, got.readUnits, writes, reads)
	}
}

// promiseCalls is promise without the units.
func (s *story) promiseCalls(what string, got usage, want map[kind]int) {
	s.tb.Helper()
	calls := maps.Clone(got.calls)
	for _, k := range []kind{httpRequest, invocation, receive, remove} { // not ours to choose
		delete(calls, k)
	}
	if !maps.Equal(calls, want) {
		s.tb.Errorf("%s took %v, want %v", what, calls, want)
	}
}

// lives are what is counted. Each is played on a deployment of its own.
var lives = []life{
	{"a synchronous call", func(s *story) {
		took := s.step("tools/call: answered at once", func() {
			s.call(s.mcp, event(s.tb, "tools/call", "greet", `"name":"greet","arguments":{"name":"Ada"}`), "Hello, Ada!")
		})
		s.promise("a synchronous call", took, map[kind]int{})
	}},
	{"a short task", func(s *story) {
		var id string
		created := s.step("tools/call: a task", func() { id = s.create("short", `{}`) })
		s.promise("create", created, map[kind]int{putTask: 1, send: 1})
		s.promise("a poll", s.step("tasks/get: working", func() { s.get(id, `"working"`) }), map[kind]int{getTask: 1})
		worked := s.step("worker: runs the tool", s.deliver)
		s.promise("a run", worked, map[kind]int{getTask: 1, putTask: 2, hide: 1})
		if puts, gets := created.sum(putTask)+worked.sum(putTask), created.sum(getTask)+worked.sum(getTask); puts != 3 || gets != 1 {
			s.tb.Errorf("a short task took %d writes and %d reads in all, want 3 and the claim's", puts, gets)
		}
		s.promise("the result", s.step("tasks/get: completed", func() { s.get(id, "done") }), map[kind]int{getTask: 1})
	}},
	{"a question", func(s *story) {
		var id string
		s.step("tools/call: a task", func() { id = s.create("ask", `{}`) })
		s.promise("a run that asks", s.step("worker: runs until the question", s.deliver), map[kind]int{getTask: 1, putTask: 2, hide: 1})
		s.promise("the question", s.step("tasks/get: input_required", func() { s.get(id, `"input_required"`) }), map[kind]int{getTask: 1})
		s.promise("an answer", s.step("tasks/update: the answer", func() { s.answer(id, "whom") }), map[kind]int{getTask: 1, putTask: 1, send: 1})
		s.promise("a resumed run", s.step("worker: runs to the end", s.deliver), map[kind]int{getTask: 1, putTask: 2, hide: 1})
		s.step("tasks/get: completed", func() { s.get(id, "Ada") })
	}},
	{"three steps and a question", func(s *story) {
		var id string
		s.step("tools/call: a task", func() { id = s.create("deploy", `{}`) })
		s.promise("two steps", s.step("worker: two steps, the question", s.deliver), map[kind]int{getTask: 1, putTask: 2, putStep: 2, hide: 1})
		s.step("tasks/get: input_required", func() { s.get(id, `"input_required"`) })
		s.promise("an answer", s.step("tasks/update: the answer", func() { s.answer(id, "whom") }), map[kind]int{getTask: 1, putTask: 1, send: 1})
		s.promise("a resumed run", s.step("worker: one step, the end", s.deliver),
			map[kind]int{getTask: 1, querySteps: 1, putTask: 2, putStep: 1, hide: 1})
		s.step("tasks/get: completed", func() { s.get(id, "publish done") })
	}},
	{"200 KB in, 200 KB out", func(s *story) {
		var id string
		created := s.step("tools/call: a task", func() { id = s.create("echo", arguments(noise)) })
		s.promise("create", created, map[kind]int{putTask: 1, putBlob: 1, send: 1})
		s.promise("a poll", s.step("tasks/get: working", func() { s.get(id, `"working"`) }), map[kind]int{getTask: 1})
		s.promise("a run", s.step("worker: runs the tool", s.deliver), map[kind]int{getTask: 1, getBlob: 1, putTask: 2, putBlob: 1, hide: 1})
		s.promise("the result", s.step("tasks/get: completed", func() { s.get(id, noise) }), map[kind]int{getTask: 1, getBlob: 1})
	}},
	{"an hour's sleep", func(s *story) {
		var id string
		s.step("tools/call: a task", func() { id = s.create("sleep", `{}`) })
		s.promise("going to sleep", s.step("worker: goes to sleep", s.deliver), map[kind]int{getTask: 1, putTask: 2, putStep: 1, hide: 1, send: 1})
		for range 3 {
			s.clock.Advance(limits.MaxDelay)
			s.promise("a hop", s.step("worker: too early, passes it on", s.deliver), map[kind]int{getTask: 1, send: 1})
		}
		s.clock.Advance(limits.MaxDelay)
		s.step("worker: wakes, runs to the end", s.deliver)
		s.step("tasks/get: completed", func() { s.get(id, "awake") })
	}},
	{"a callback", func(s *story) {
		var id string
		s.step("tools/call: a task", func() { id = s.create("await", `{}`) })
		s.step("worker: a step, waits", s.deliver)
		s.promise("a callback", s.step("POST /callbacks/…", func() { s.callBack(<-s.urls) }), map[kind]int{getTask: 1, putTask: 1, send: 1})
		s.promise("a resumed run", s.step("worker: runs to the end", s.deliver), map[kind]int{getTask: 1, querySteps: 1, putTask: 2, hide: 1})
		s.step("tasks/get: completed", func() { s.get(id, `"done"`) })
	}},
	{"a minute's work", func(s *story) {
		var id string
		s.step("tools/call: a task", func() { id = s.create("long", `{}`) })
		s.step("worker: works for a minute", func() { s.workFor(time.Minute, s.deliver) })
		s.step("tasks/get: completed", func() { s.get(id, "worked") })
	}},
	{"a cancel", func(s *story) {
		var id string
		s.step("tools/call: a task", func() { id = s.create("ask", `{}`) })
		s.step("worker: runs until the question", s.deliver)
		s.promise("a cancel", s.step("tasks/cancel", func() { s.cancel(id) }), map[kind]int{getTask: 1, putTask: 1})
		s.step("tasks/get: cancelled", func() { s.get(id, `"cancelled"`) })
	}},
	{"what comes twice", func(s *story) {
		var id string
		s.step("tools/call: a task", func() { id = s.create("ask", `{}`) })
		s.step("worker: runs until the question", s.deliver)
		s.step("tasks/update: the answer", func() { s.answer(id, "whom") })
		s.promise("an answer again", s.step("tasks/update: again, not yet read", func() { s.answer(id, "whom") }), map[kind]int{getTask: 1, send: 1})
		s.step("worker: runs to the end", s.deliver)
		s.promise("a second message", s.step("worker: the second message", s.deliver), map[kind]int{getTask: 1})
		s.promise("a late answer", s.step("tasks/update: after the end", func() { s.answer(id, "whom") }), map[kind]int{getTask: 1})
		s.promise("a late cancel", s.step("tasks/cancel: after the end", func() { s.cancel(id) }), map[kind]int{getTask: 1})
	}},
}

func TestLives(t *testing.T) {
	stories := make([]*story, len(lives))
	for i, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			s := &story{deployment: deploy(t), columns: kinds}
			l.play(s)
			stories[i] = s
		})
	}
	if t.Failed() || slices.Contains(stories, nil) {
		return // or only some were asked for
	}
	t.Run("are what the tables say", func(t *testing.T) {
		golden(t, "testdata/counts.txt", counts(lives, stories))
		readme, err := os.ReadFile("README.md")
		must(t, err)
		head, rest, _ := strings.Cut(string(readme), costsBegin)
		_, tail, ok := strings.Cut(rest, costsEnd)
		if !ok {
			t.Fatal("README.md has no place for the costs")
		}
		golden(t, "README.md", head+costsBegin+costs(stories[:len(stories)-1])+costsEnd+tail)
	})
}

// golden compares a file with what it should hold.
func golden(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(name, []byte(want), 0o600))
	}
	got, err := os.ReadFile(name)
	must(t, err)
	if string(got) != want {
		t.Errorf("%s is not what was counted; look at the difference after: go test ./infra/bench -update", name)
	}
}

// counts is the table of all steps of all lives.
func counts(lives []life, stories []*story) string {
	var out bytes.Buffer
	fmt.Fprint(&out, "What each step of a call's life takes: requests, invocations, calls to AWS and DynamoDB's units.\n"+
		"Receive and delete are the event source's. Made by go test ./infra/bench -update.\n")
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(columns []kind, name string, u usage) {
		// The name is on the left: tabwriter aligns all cells alike.
		fmt.Fprintf(w, "%-36s", name)
		for _, k := range columns {
			fmt.Fprintf(w, "\t%s", dash(float64(u.calls[k])))
		}
		fmt.Fprintf(w, "\t%s\t%s\t\n", dash(u.readUnits), dash(u.writeUnits))
	}
	for i, s := range stories {
		fmt.Fprintf(w, "\n%-36s", lives[i].name)
		for _, k := range s.columns {
			fmt.Fprintf(w, "\t%s", k)
		}
		fmt.Fprint(w, "\tread units\twrite units\t\n")
		for _, r := range s.rows {
			line(s.columns, "  "+r.name, r.usage)
		}
		line(s.columns, "  in all", s.total)
	}
	_ = w.Flush() // to memory
	return out.String()
}

func dash(n float64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// Waiting is free (invariant 5): that a thousand others wait changes nothing of
// what a question costs, and by themselves they cost nothing, for weeks.
func TestParked(t *testing.T) {
	s := &story{deployment: deploy(t), columns: kinds}
	round := func() usage {
		id := s.park("deploy")
		return s.step("a round", func() {
			s.answer(id, "whom")
			s.deliver()
		})
	}
	alone := round()
	s.crowd(s.park("deploy"), 1000)
	waited := s.step("two days pass", func() {
		s.clock.Advance(48 * time.Hour)
		if visible, delayed, inFlight := s.services.SQS.Depth(s.services.Queue); visible+delayed+inFlight > 0 {
			t.Errorf("waiting tasks hold %d messages", visible+delayed+inFlight)
		}
	})
	s.promise("waiting", waited, map[kind]int{})
	among := round()
	if !maps.Equal(alone.calls, among.calls) || alone.writeUnits != among.writeUnits || alone.readUnits != among.readUnits {
		t.Errorf("a question's round took %+v alone, and %+v among 1,000 parked tasks", alone, among)
	}
}
