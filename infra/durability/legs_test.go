package durability

import (
	"testing"
	"time"

	"toolhost/pkg/client"
	"toolhost/pkg/limits"
)

// TestLegs runs 40 minutes of work in functions that end after two: each leg goes
// on from the steps of those before it, and none costs an attempt.
func TestLegs(t *testing.T) { // case 58
	s := newStage(t)
	s.timeout = 2 * time.Minute
	id := s.call("work", workArguments{Minutes: 40})
	legs := 0
	for ; s.get(id).Status == client.Working; legs++ {
		s.begin(&s.worker)()
	}
	if got := s.get(id); text(got) != "worked for 40 minutes" {
		t.Errorf("%s\n%s", got.Raw, s.logs())
	}
	if legs < 20 {
		t.Errorf("it took %d legs", legs)
	}
	t.Logf("%d legs", legs)
	s.doneOnce()
	s.drain()
}

// TestDeafTool runs a tool that does not hear that its time is over. Its process
// ends, so that it runs no further; after the last attempt its task fails with the
// reason.
func TestDeafTool(t *testing.T) { // case 8
	s := newStage(t)
	s.timeout = time.Minute
	id := s.call("deaf", struct{}{})
	var deaths []time.Time
	for s.get(id).Status == client.Working {
		s.wait()
		began := s.clock.Now()
		s.begin(&s.worker)()
		if !s.worker.dead() {
			continue // a message of a process that has died, too early
		}
		// The clock moves on a little while a process ends.
		if n := len(deaths); n > 0 && began.Sub(deaths[n-1]) < limits.Visibility-10*time.Second {
			t.Errorf("attempt %d came %v after the one before had died", n+1, began.Sub(deaths[n-1]))
		}
		deaths = append(deaths, s.clock.Now())
	}
	if len(deaths) != limits.Attempts {
		t.Errorf("%d processes ended", len(deaths))
	}
	got := s.get(id)
	if want := "the tool ran out of time and recorded no step"; got.Status != client.Failed || got.StatusMessage != want {
		t.Errorf("%s\n%s", got.Raw, s.logs())
	}
	s.drain()
}

// TestLongSleep sleeps for a week, in hops of a quarter of an hour.
func TestLongSleep(t *testing.T) { // case 59
	s := newStage(t)
	const hours = 7 * 24
	id := s.call("nap", napArguments{hours})
	if got := s.finish(id); text(got) != "slept for 168 hours" {
		t.Errorf("%s", got.Raw)
	}
	if slept := s.clock.Now().Sub(born); slept != hours*time.Hour {
		t.Errorf("it slept for %v", slept)
	}
	if hops := s.faults.Counts()["sqs/SendMessage"] - 1; hops != hours*4 {
		t.Errorf("%d hops", hops)
	}
}
