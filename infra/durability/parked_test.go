package durability

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"toolhost/pkg/client"
)

// TestParked parks tasks on a question, ends all processes and lets three days
// pass: nothing is held and nothing is called. New processes then go on with the
// tasks. What a question costs, and that 100,000 parked tasks slow nobody down, is
// in infra/bench.
func TestParked(t *testing.T) { // invariant 5
	s := newStage(t)
	ids := make([]string, 100)
	for i := range ids {
		ids[i] = s.call("ask", nameAnswer{fmt.Sprint(i)})
		s.until(ids[i], client.InputRequired)
	}
	for _, p := range s.processes() {
		p.kill()
	}
	if n, _ := s.messages(); n != 0 {
		t.Errorf("%d messages are held", n)
	}
	for key, item := range s.items() {
		if item["lease"] != nil || item["wakeAt"] != nil {
			t.Errorf("%s holds a lease or waits for a time: %v", key, item)
		}
	}
	before := s.faults.Counts()
	s.clock.Advance(3 * 24 * time.Hour)
	if after := s.faults.Counts(); !maps.Equal(before, after) {
		t.Errorf("calls to AWS while all wait: %v, then %v", before, after)
	}
	for i, id := range ids {
		s.answer(s.get(id))
		if got := s.finish(id); text(got) != fmt.Sprintf("%d greets Ada", i) {
			t.Errorf("%s", got.Raw)
		}
	}
	s.doneOnce()
}
