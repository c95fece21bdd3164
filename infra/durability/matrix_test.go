package durability

import (
	"fmt"
	"testing"

	"toolhost/pkg/client"
)

// lives are the lives of a task that the matrix disturbs. Each returns how it
// ended.
var lives = []struct {
	name string
	live func(*stage) client.Task
	// calls is how many calls to AWS the life makes, and points how many faults
	// they meet: written down here so that neither changes unseen.
	calls, points int
	end           string // its status
	text          string
}{
	{"story", (*stage).story, 68, 396, client.Completed, storyText(note)},
	{"cancelled", (*stage).cancelled, 16, 94, client.Cancelled, ""},
}

// story is a call that is stayed with to its end. The client repeats it under
// one idempotency key, and so makes one task, whatever became of the first try.
func (s *stage) story() client.Task {
	s.key = "story"
	return s.finish(s.call("story", storyArguments{note}))
}

// cancelled is a call that is cancelled while its first question is open;
// the answer that comes too late is acknowledged and ignored (case 55).
func (s *stage) cancelled() client.Task {
	id := s.call("story", storyArguments{note})
	asked := s.until(id, client.InputRequired)
	s.cancel(id)
	s.answer(asked)
	return s.finish(id)
}

// TestCrashMatrix lets each fault befall each call to AWS in a task's life, one
// at a time. Whatever happened, the client sees one terminal result, and the
// right one; every step is recorded once; nothing is left over and nothing hangs.
//
// A sample is every seventh point.
func TestCrashMatrix(t *testing.T) { // cases 1, 2, 7, 20, 48, 55, 61
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			s := newStage(t)
			tally := s.tally()
			l.live(s)
			calls := tally()
			points := 0
			for i, c := range calls {
				for _, f := range faults {
					if !c.meets(f) {
						continue
					}
					if points++; sampled() && points%7 != 0 {
						continue
					}
					t.Run(fmt.Sprintf("%02d %s %s", i+1, c, f), func(t *testing.T) {
						t.Parallel()
						s := newStage(t)
						struck := s.strike(i+1, f)
						end := l.live(s)
						if end.Status != l.end || text(end) != l.text {
							t.Errorf("the task ended with %s\n%s", end.Raw, s.logs())
						}
						if met := struck(); met != c {
							t.Errorf("the fault befell %q", met)
						}
						s.leavesNothing(end)
						again := ""
						if f.repeats() {
							again = c.step
						}
						s.doneOnce(again)
					})
				}
			}
			t.Logf("%d calls to AWS × %d faults: %d points", len(calls), len(faults), points)
			if len(calls) != l.calls || points != l.points {
				t.Errorf("the life makes %d calls with %d points; %d and %d are written down: %v", len(calls), points, l.calls, l.points, calls)
			}
		})
	}
}

// leavesNothing lets all messages be delivered that are left, and sees that
// they change nothing.
func (s *stage) leavesNothing(end client.Task) {
	s.t.Helper()
	s.drain()
	again := s.get(end.ID)
	if again.Status != end.Status || string(again.Result) != string(end.Result) || !again.LastUpdatedAt.Equal(end.LastUpdatedAt) {
		s.t.Errorf("the end changed to %s\n%s", again.Raw, s.logs())
	}
}

// doneOnce sees that each step of each call was done once, or, if its name is
// again, at most twice, with one idempotency token; and that a call that is made
// under an idempotency key is one task.
func (s *stage) doneOnce(again string) {
	s.t.Helper()
	type step struct{ call, name string }
	tokens, calls := map[step][]string{}, map[string]bool{}
	for _, e := range s.journal.effects(s.t) {
		calls[e.Call] = true
		did := step{e.Call, e.Step}
		tokens[did] = append(tokens[did], e.Token)
	}
	if s.key != "" && len(calls) != 1 {
		s.t.Errorf("one call became %d tasks", len(calls))
	}
	for did, t := range tokens {
		if len(t) > 1 && (did.name != again || len(t) > 2 || t[0] != t[1]) {
			s.t.Errorf("the step %s was done %d times, under %v\n%s", did.name, len(t), t, s.logs())
		}
	}
}
