package attack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"toolhost/pkg/clock"
	"toolhost/pkg/protocol"
)

// life is one call from its beginning to its end, as its caller sees it.
type life struct {
	owner string
	n     int
	tool  string
	note  string
	id    string

	was    []string // the statuses seen
	moved  bool     // its progress was seen
	called bool     // its callback was answered
	end    string   // the last answer
	over   bool
}

// crowd is all calls of a test.
type crowd struct {
	*deployment
	witness *witness
	lives   []*life
	probes  atomic.Int64
}

// residents make the calls; whoever is not the owner tries to get at them.
var (
	residents = []string{"ada", "bob", "nobody"}
	intruders = []string{"ada", "bob", "nobody", "kin", "app"}
	kinds     = []string{"story", "park", "wizard", "quiz", "fail", "refuse", "panic", "prepared", "refuse-now", "panic-now"}
)

// each does something with all lives, several at once.
func (c *crowd) each(do func(*life)) {
	var all sync.WaitGroup
	for part := range 8 {
		all.Go(func() {
			for i := part; i < len(c.lives); i += 8 {
				do(c.lives[i])
			}
		})
	}
	all.Wait()
}

// as sends a request of the life's own caller, and sees that nothing in its
// answer is anybody else's.
func (c *crowd) as(l *life, method string, params map[string]any) (reply, seen) {
	r := c.modern(l.owner, method, params)
	if other := strangers(r.text(), l.owner, l.n); other != nil {
		c.t.Errorf("%s of %s/%d (%s) shows %v: %s", method, l.owner, l.n, l.tool, other, r.text())
	}
	return r, r.read(c.t)
}

// begin makes the call, and answers what it asks before it is a task or over.
func (c *crowd) begin(l *life) {
	meta := map[string]any{metaNote: l.note}
	if l.owner != "nobody" { // ada and bob use the same keys
		meta[protocol.MetaIdempotencyKey] = fmt.Sprint("order ", l.n/len(residents))
	}
	note := l.note
	if l.n%7 == 0 { // large arguments are kept apart from their task
		note = strings.Repeat(l.note, 200)
	}
	params := map[string]any{"_meta": meta, "name": l.tool, "arguments": errand{l.owner, l.n, note, l.slow()}}
	for {
		r, s := c.as(l, protocol.MethodToolsCall, params)
		switch s.Result.ResultType {
		case protocol.ResultTask:
			l.id = s.Result.TaskID
			return
		case protocol.ResultComplete:
			l.end, l.over = r.Body, true
			return
		case protocol.ResultInputRequired:
			c.stealState(l, params, s)
			params["requestState"], params["inputResponses"] = s.Result.RequestState, c.answers(l, s)
			continue
		}
		if s.Error == nil || s.Error.Code != want[l.tool].code {
			c.t.Errorf("%s of %s/%d: %s", l.tool, l.owner, l.n, r.Body)
		}
		l.end, l.over = r.Body, true
		return
	}
}

// slow tells which stories report their progress.
func (l *life) slow() bool { return l.tool == "story" && l.n%2 == 0 }

// answers answer all that was asked, with a secret.
func (c *crowd) answers(l *life, s seen) map[string]any {
	all := map[string]any{}
	for key := range s.Result.InputRequests {
		all[key] = map[string]any{"action": "accept", "content": map[string]string{"name": mark(l.owner, l.n, "answer")}}
	}
	return all
}

// stealState lets others continue a multi round-trip call, with the arguments
// of its caller: what they hold is as good as a state that never was (R-H9).
func (c *crowd) stealState(l *life, params map[string]any, s seen) {
	for _, thief := range intruders {
		if thief == l.owner {
			continue
		}
		stolen := map[string]any{"name": l.tool, "arguments": params["arguments"], "requestState": s.Result.RequestState, "inputResponses": c.answers(l, s)}
		got := c.modern(thief, protocol.MethodToolsCall, stolen)
		stolen["requestState"] = "no state"
		if want := c.modern(thief, protocol.MethodToolsCall, stolen); got != want || got.read(c.t).Error.Code != -32602 {
			c.t.Errorf("%s continues a call of %s: %+v, want %+v", thief, l.owner, got, want)
		}
		c.probes.Add(1)
	}
}

// goOn polls the task, answers it or its callback, and lets others try.
func (c *crowd) goOn(l *life) {
	if l.over {
		return
	}
	r, s := c.as(l, protocol.MethodTasksGet, map[string]any{"taskId": l.id})
	if s.Error != nil {
		c.t.Errorf("%s of %s/%d: %s", l.tool, l.owner, l.n, r.Body)
		l.over = true
		return
	}
	l.moved = l.moved || strings.Contains(s.Result.StatusMessage, l.note)
	if status := s.Result.Status; !slices.Contains(l.was, status) {
		l.was = append(l.was, status)
		c.intrude(l)
		if status != "working" { // where it can't have moved by itself
			if again, _ := c.as(l, protocol.MethodTasksGet, map[string]any{"taskId": l.id}); again.Body != r.Body {
				c.t.Errorf("others moved %s of %s/%d from %s to %s", l.tool, l.owner, l.n, r.Body, again.Body)
			}
		}
	}
	switch token, parked := c.witness.jobs.Load(l.n); {
	case s.terminal():
		l.end, l.over = r.Body, true
	case s.Result.Status == "input_required":
		c.as(l, protocol.MethodTasksUpdate, map[string]any{"taskId": l.id, "inputResponses": c.answers(l, s)})
	case parked && !l.called: // the token is the same when the tool runs again
		l.called = true
		body, err := json.Marshal(mark(l.owner, l.n, "callback"))
		must(c.t, err)
		if r := c.server.Callback(c.t.Context(), token.(string), strings.NewReader(string(body))); r.Status != 204 {
			c.t.Errorf("a callback of %s/%d: %d %s", l.owner, l.n, r.Status, r.Body)
		}
	}
}

// intrude lets others do with the task all that can be done with one. What they
// get is what a task that never was gives, byte for byte, and takes the same
// calls to AWS (R-G7, R-V1, case 13).
func (c *crowd) intrude(l *life) {
	stolen := map[string]any{}
	for _, key := range []string{"whom", "who"} {
		stolen[key] = map[string]any{"action": "accept", "content": map[string]string{"name": "SECRET.thief.0.stolen."}}
	}
	unknown := uuid.NewString()
	if thief := intruders[(l.n+len(l.was))%len(intruders)]; thief != l.owner {
		for _, try := range []struct {
			revision, method string
			params           func(id string) map[string]any
		}{
			{protocol.Revision20260728, protocol.MethodTasksGet, named},
			{protocol.Revision20260728, protocol.MethodTasksCancel, named},
			{protocol.Revision20260728, protocol.MethodTasksUpdate, func(id string) map[string]any {
				return map[string]any{"taskId": id, "inputResponses": stolen}
			}},
			{protocol.Revision20260728, protocol.MethodTasksUpdate, func(id string) map[string]any { // shaped like no answer (R-U7)
				return map[string]any{"taskId": id, "inputResponses": map[string]any{"whom": 1, "who": 1}}
			}},
			{protocol.Revision20260728, protocol.MethodListen, watched},
			{protocol.Revision20260630, protocol.MethodTasksGet, named},
			{protocol.Revision20251125, protocol.MethodTasksGet, named},
			{protocol.Revision20251125, protocol.MethodTasksCancel, named},
			{protocol.Revision20251125, protocol.MethodTasksResult, named},
		} {
			got := c.ask(thief, try.revision, try.method, try.params(l.id))
			want := c.ask(thief, try.revision, try.method, try.params(unknown))
			if got != want {
				c.t.Errorf("%s by %s under %s, of a task of %s: %+v; of an unknown one: %+v", try.method, thief, try.revision, l.owner, got, want)
			}
			if code := 0; try.method != protocol.MethodListen {
				if e := got.read(c.t).Error; e != nil {
					code = e.Code
				}
				if code != -32602 {
					c.t.Errorf("%s by %s, of a task of %s: %s", try.method, thief, l.owner, got.Body)
				}
			}
			c.probes.Add(1)
		}
	}
}

func named(id string) map[string]any { return map[string]any{"taskId": id} }

func watched(id string) map[string]any {
	return map[string]any{"notifications": map[string]any{"taskIds": []string{id}}}
}

// want is how each kind of call ends: its status, the secrets in its end, and the
// code of one that is no task. A panic shows no secret (R-V4).
var want = map[string]struct {
	status string
	shows  []string
	code   int
}{
	"story": {"completed", []string{"note", "answer"}, 0}, "wizard": {"completed", []string{"note", "answer"}, 0},
	"park": {"completed", []string{"note", "callback"}, 0}, "prepared": {"completed", []string{"note", "answer"}, 0},
	"quiz": {"", []string{"note", "answer"}, 0}, "fail": {"completed", []string{"note"}, 0},
	"refuse": {"failed", []string{"note"}, 0}, "refuse-now": {"", []string{"note"}, 4711},
	"panic": {"failed", nil, 0}, "panic-now": {"", nil, -32603},
}

// TestIsolation interleaves a thousand calls of three callers on one warm server
// and one warm worker that runs several at once. Of all that one caller gave,
// got, or caused, nothing reaches another, or the log.
func TestIsolation(t *testing.T) { // R-V1, R-V3, R-V4, R-G7, R-L1, R-H9; cases 11, 13
	calls := 1000
	if testing.Short() || raced {
		calls = 120
	}
	stands := clock.NewManual(time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC))
	w := &witness{clock: stands, seen: map[string]int{}}
	c := &crowd{deployment: deploy(t, stands, w.errands()), witness: w}
	defer c.work()()
	for i := range calls {
		owner := residents[i%len(residents)]
		c.lives = append(c.lives, &life{owner: owner, n: i, tool: kinds[i/len(residents)%len(kinds)], note: mark(owner, i, "note")})
	}
	c.each(c.begin)
	born := c.clock.Now()
	for slices.ContainsFunc(c.lives, func(l *life) bool { return !l.over }) {
		if c.clock.Now().Sub(born) > 12*time.Hour {
			t.Fatal("calls never end")
		}
		c.each(c.goOn)
		c.clock.Advance(250 * time.Millisecond)
	}

	reported := 0
	for _, l := range c.lives {
		w := want[l.tool]
		if s := (reply{Body: l.end}).read(t); s.Result.Status != w.status {
			t.Errorf("%s of %s/%d ended with %s", l.tool, l.owner, l.n, l.end)
		}
		for _, what := range w.shows {
			if !strings.Contains(l.end, mark(l.owner, l.n, what)) {
				t.Errorf("%s of %s/%d ended without its %s: %s", l.tool, l.owner, l.n, what, l.end)
			}
		}
		if w.shows == nil && shows(l.end) {
			t.Errorf("%s of %s/%d ended with %s", l.tool, l.owner, l.n, l.end)
		}
		if l.moved {
			reported++
		}
		c.listens(l)
	}
	if reported == 0 {
		t.Error("no progress was seen")
	}
	for _, fault := range w.faults {
		t.Error(fault)
	}
	for _, kind := range kinds {
		if w.seen[kind] == 0 {
			t.Errorf("%s never ran", kind)
		}
	}
	c.sealed()
	t.Logf("%d calls, %d runs of tools, %d progresses seen, %d intrusions, %d writes", calls, sum(w.seen), reported, c.probes.Load(), len(c.writes))
}

func sum(counts map[string]int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}

// listens lets the caller listen to its own task, another's and one that never
// was: it hears of its own alone (R-L1, case 31).
func (c *crowd) listens(l *life) {
	if l.id == "" {
		return
	}
	ids := []string{uuid.NewString(), l.id}
	for _, other := range c.lives[l.n/4:] {
		if other.owner != l.owner && other.id != "" {
			ids = append(ids, other.id)
			break
		}
	}
	r, _ := c.as(l, protocol.MethodListen, map[string]any{"notifications": map[string]any{"taskIds": ids}})
	for i, id := range ids {
		if heard := strings.Contains(string(r.text()), id); heard != (i == 1) {
			c.t.Errorf("%s/%d listens to %v and hears %s", l.owner, l.n, ids, r.text())
		}
	}
}

// sealed looks at all that was written, sent and logged.
func (c *crowd) sealed() {
	of := map[string]*life{}
	for _, l := range c.lives {
		if l.id != "" {
			if twin := of[l.id]; twin != nil {
				c.t.Errorf("%s/%d and %s/%d are one task", l.owner, l.n, twin.owner, twin.n)
			}
			of[l.id] = l
		}
	}
	items, secrets := 0, 0
	for _, w := range c.writes {
		if w.Operation == "SendMessage" {
			if text := string(plain(w.Body)); shows(text) || strings.Contains(text, "issuer.example") {
				c.t.Errorf("a message holds %s", text)
			}
			continue
		}
		for key, all := range partitions(w.Operation, w.Body) {
			l := of[key]
			for _, text := range all {
				items++
				if l == nil {
					c.t.Errorf("an item of no task: %s", text)
				} else if other := strangers(text, l.owner, l.n); other != nil {
					c.t.Errorf("an item of %s/%d holds %v", l.owner, l.n, other)
				}
				secrets += len(owners(text))
			}
		}
	}
	if items < len(of) || secrets < len(of) {
		c.t.Errorf("%d items with %d secrets were looked at: too few for %d tasks", items, secrets, len(of))
	}
	lines := 0
	for line := range strings.Lines(c.log.String()) {
		if lines++; shows(line) {
			c.t.Errorf("the log holds %s", line)
		}
		if !json.Valid([]byte(line)) {
			c.t.Errorf("the log has a line that is none: %s", line)
		}
	}
	if lines == 0 {
		c.t.Error("nothing was logged")
	}
}
