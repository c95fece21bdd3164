package queuetest

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"toolhost/pkg/queue"
)

// Received is a message that was received and is in flight.
type Received struct {
	Body    string
	Receipt string
	Group   string // by which the queue is shared, as it was sent
}

// Fault is what happens to a request on its way to the queue.
type Fault uint8

const (
	// Throttled refuses the request; nothing is done.
	Throttled Fault = iota
	// LostRequest cuts the connection before anything is done.
	LostRequest
	// LostReply does the request and then cuts the connection.
	LostReply
)

// Capability is something that not every implementation can do for a test.
type Capability string

const (
	// Clock: Harness.Advance moves the queue's time.
	Clock Capability = "the clock can be moved"
	// Faults: Harness.Break works.
	Faults Capability = "faults can be injected"
	// Groups: a received message tells its group.
	Groups Capability = "groups are received"
	// Stale: a receipt ends when its message is visible again, not with its next receive.
	Stale Capability = "a stale receipt is refused"
)

// Harness is an implementation under test and what can be done to it. The
// queue is the test's alone: it may be emptied.
type Harness struct {
	Queue queue.Queue
	// Receive takes up to ten visible messages. If there are none it waits for up
	// to wait, and returns early once there are. Each is hidden for 30 s at least.
	Receive func(ctx context.Context, wait time.Duration) ([]Received, error)
	// Delete lets a received message go.
	Delete func(ctx context.Context, receipt string) error
	// Now is the queue's time, and Advance moves it; Advance is nil if Clock lacks.
	Now     func() time.Time
	Advance func(time.Duration)
	// Break makes the next n sends and hides meet the fault; 0 heals. Nil if Faults lack.
	Break func(f Fault, n int)
	// Lacks gives the reason for each capability that is not there.
	Lacks map[Capability]string
}

func (h Harness) needs(t *testing.T, c Capability) {
	t.Helper()
	if why := h.Lacks[c]; why != "" {
		t.Skipf("not here: %s: %s", c, why)
	}
}

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	if (h.Advance == nil) != (h.Lacks[Clock] != "") || (h.Break == nil) != (h.Lacks[Faults] != "") {
		t.Fatal("a harness has each capability, or the reason why not")
	}
	h.empty(t)
	t.Run("Send", func(t *testing.T) { testSend(t, h) })
	t.Run("Hide", func(t *testing.T) { testHide(t, h) })
	t.Run("Faults", func(t *testing.T) { testFaults(t, h) })
}

// wake is a message of a task of its own.
func wake() queue.Message {
	return queue.Message{TaskID: "test-" + rand.Text(), Birth: rand.Text(), Cause: queue.Created}
}

// empty lets all visible messages go.
func (h Harness) empty(t *testing.T) {
	t.Helper()
	for {
		all := h.receive(t, 0)
		if len(all) == 0 {
			return
		}
		for _, r := range all {
			h.delete(t, r)
		}
	}
}

func (h Harness) send(t *testing.T, m queue.Message, d queue.Delivery) {
	t.Helper()
	if err := h.Queue.Send(t.Context(), m, d); err != nil {
		t.Fatalf("Send: %v", err)
	}
}

func (h Harness) receive(t *testing.T, wait time.Duration) []Received {
	t.Helper()
	all, err := h.Receive(t.Context(), wait)
	if err != nil {
		t.Fatalf("Receive: %v", err)
	}
	return all
}

func (h Harness) delete(t *testing.T, r Received) {
	t.Helper()
	if err := h.Delete(t.Context(), r.Receipt); err != nil {
		t.Fatalf("Delete: %v", err)
	}
}

// await receives the message of m and says how long that took on the queue's
// clock. Other messages are late ones of an earlier test, and are let go.
func (h Harness) await(t *testing.T, m queue.Message, limit time.Duration) (Received, time.Duration) {
	t.Helper()
	start := h.Now()
	for {
		for _, r := range h.receive(t, h.patience()) {
			if got, err := queue.Decode(r.Body); err == nil && got.TaskID == m.TaskID {
				return r, h.Now().Sub(start)
			}
			h.delete(t, r)
		}
		if h.Now().Sub(start) > limit {
			t.Fatalf("no message within %v", limit)
		}
		if h.Advance != nil {
			h.Advance(time.Second)
		}
	}
}

// patience is how long to wait for a message: a clock that is moved by hand
// stands still meanwhile.
func (h Harness) patience() time.Duration {
	if h.Advance != nil {
		return 0
	}
	return time.Second
}

// between fails the test unless a wait took as long as it should. A second
// more or less is the granularity of queues and clocks; where the clock is
// real, the machine may be slow on top.
func (h Harness) between(t *testing.T, got, least, most time.Duration) {
	t.Helper()
	if h.Advance == nil {
		most += 10 * time.Second
	}
	if got < least-time.Second || got > most+time.Second {
		t.Fatalf("it came after %v, want %v to %v", got, least, most)
	}
}
