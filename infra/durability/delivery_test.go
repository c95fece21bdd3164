package durability

import (
	"sync/atomic"
	"testing"

	"toolhost/infra/emulator"
	"toolhost/pkg/client"
)

// TestThrottledDeliveries sends 500 tasks to two workers at once, and as many
// deliveries twice over find no worker free, which counts as a receive each. No
// task fails without having run, and no message ends in the dead-letter queue.
// A
// sample is a hundred tasks.
func TestThrottledDeliveries(t *testing.T) { // case 18
	s := newStage(t)
	ids := make([]string, 500)
	if sampled() {
		ids = ids[:100]
	}
	for i := range ids {
		ids[i] = s.call("work", workArguments{})
	}
	var asked atomic.Int32
	workers, end := s.work(2, func() bool { return int(asked.Add(1)) <= 2*len(ids) })
	defer end()
	for workers.idle() {
		if n := len(s.services.SQS.Messages(s.services.DeadLetterQueue)); n > 0 {
			t.Fatalf("%d dead letters", n)
		}
	}
	for _, id := range ids {
		if got := s.get(id); got.Status != client.Completed {
			t.Errorf("%s", got.Raw)
		}
	}
}

// TestEarlyCallback lets a job report before the step that began it is recorded.
// The report is kept until the tool waits for it, and the worker, whose next save
// meets a newer revision, does not take that for a lost lease. The same report
// again is acknowledged as long as the tool has not seen it.
func TestEarlyCallback(t *testing.T) { // cases 57, 60
	s := newStage(t)
	early := make(chan bool, 1)
	s.faults.Inject(func(c emulator.Call) emulator.Effect {
		if s.describe(c).step == "build" && s.report() {
			clear(s.reported) // and again
			early <- s.report()
		}
		return emulator.Serve
	})
	end := s.story()
	if len(early) != 1 {
		t.Fatal("no report came early")
	}
	if text(end) != storyText(note) {
		t.Errorf("%s\n%s", end.Raw, s.logs())
	}
	s.doneOnce()
	s.leavesNothing(end)
}

// TestNativeTool hosts a tool that was written for the official SDK and asks by
// multi round-trip results; a fresh process does each of its rounds.
func TestNativeTool(t *testing.T) { // case 51
	s := newStage(t)
	id := s.call("wizard", struct{}{})
	for range 3 {
		s.deliver()
		s.worker.kill()
		if got := s.get(id); got.Status == client.InputRequired {
			s.answer(got)
		}
	}
	if got := s.get(id); text(got) != "Ada and Bob" {
		t.Errorf("%s\n%s", got.Raw, s.logs())
	}
}
