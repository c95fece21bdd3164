package durability

import (
	"fmt"
	"slices"
	"testing"

	"toolhost/pkg/client"
)

// life is a task's from its call to its end, which live returns.
type life struct {
	name string
	live func(*stage) client.Task
	// calls is how many calls to AWS the life makes, and points how many faults
	// they meet: written down here so that neither changes unseen.
	calls, points int
	end           string // its status
	text          string
}

// lives are those that the matrix disturbs.
var lives = []life{
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
						blows := s.strike(map[int]fault{i + 1: f})
						l.check(s)
						if got := blows(); len(got) != 1 || got[0] != (blow{c, f}) {
							t.Errorf("the blow was %v", got)
						}
						s.doneOnce(blows()...)
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

// TestCrashPairs lets two faults befall the story, at random: a hundred times, in
// a sample twenty.
func TestCrashPairs(t *testing.T) {
	random, l, pairs := chance(t), lives[0], 100
	if sampled() {
		pairs = 20
	}
	for range pairs {
		at := map[int]fault{}
		for range 2 {
			at[1+random.IntN(l.calls)] = faults[random.IntN(len(faults))]
		}
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			blows := s.strike(at)
			l.check(s)
			s.doneOnce(blows()...)
		})
	}
}

// check lives the life, and sees that it ends as it should and leaves nothing.
func (l life) check(s *stage) {
	s.t.Helper()
	end := l.live(s)
	if end.Status != l.end || text(end) != l.text {
		s.t.Errorf("the task ended with %s\n%s", end.Raw, s.logs())
	}
	s.leavesNothing(end)
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

// doneOnce sees that each step of each call was done once, and once more for each
// blow that cut it off, always under one idempotency token; and that calls
// which are made under one idempotency key are one task.
func (s *stage) doneOnce(blows ...blow) {
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
	for did, all := range tokens {
		most := 1
		for _, b := range blows {
			if b.cut() == did.name {
				most++
			}
		}
		if len(all) > most || len(slices.Compact(slices.Sorted(slices.Values(all)))) > 1 {
			s.t.Errorf("the step %s was done %d times, under %v\n%s", did.name, len(all), all, s.logs())
		}
	}
}
