package queuetest

import (
	"testing"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/queue"
)

func testHide(t *testing.T, h Harness) {
	hide := func(t *testing.T, r Received, d time.Duration) {
		t.Helper()
		if err := h.Queue.Hide(t.Context(), r.Receipt, d); err != nil {
			t.Fatalf("Hide: %v", err)
		}
	}
	inFlight := func(t *testing.T) (queue.Message, Received) {
		t.Helper()
		m := wake()
		h.send(t, m, queue.Delivery{})
		r, _ := h.await(t, m, 5*time.Second)
		return m, r
	}
	t.Run("a_shorter_time_counts_from_now", func(t *testing.T) { // case 48
		m, r := inFlight(t)
		hide(t, r, 1500*time.Millisecond)
		again, took := h.await(t, m, 10*time.Second)
		h.delete(t, again)
		h.between(t, took, 2*time.Second, 2*time.Second)
		if again.Body != r.Body {
			t.Fatalf("got %s", again.Body)
		}
	})
	t.Run("no_time_gives_it_back", func(t *testing.T) {
		for _, d := range []time.Duration{0, -time.Second} {
			m, r := inFlight(t)
			hide(t, r, d)
			again, took := h.await(t, m, 10*time.Second)
			h.delete(t, again)
			h.between(t, took, 0, 0)
		}
	})
	t.Run("a_longer_time_counts_from_now", func(t *testing.T) { // case 20
		m, r := inFlight(t)
		hide(t, r, time.Second)
		hide(t, r, 4*time.Second)
		again, took := h.await(t, m, 20*time.Second)
		h.delete(t, again)
		h.between(t, took, 4*time.Second, 4*time.Second)
	})
	t.Run("renewed_again_and_again_it_stays_hidden", func(t *testing.T) { // case 20
		h.needs(t, Clock)
		m, r := inFlight(t)
		for range 100 {
			hide(t, r, 35*time.Second)
			h.Advance(30 * time.Second)
			if all := h.receive(t, 0); len(all) > 0 {
				t.Fatalf("it came early: %+v", all)
			}
		}
		again, took := h.await(t, m, time.Minute)
		h.delete(t, again)
		h.between(t, took, 5*time.Second, 5*time.Second)
	})
	t.Run("too_long_a_time_is_refused", func(t *testing.T) {
		_, r := inFlight(t)
		if err := h.Queue.Hide(t.Context(), r.Receipt, 13*time.Hour); !fault.Is(err, fault.Invalid) {
			t.Fatalf("got %v", err)
		}
		h.delete(t, r)
	})
	t.Run("a_deleted_message_is_not_found", func(t *testing.T) {
		_, r := inFlight(t)
		h.delete(t, r)
		if err := h.Queue.Hide(t.Context(), r.Receipt, time.Second); !fault.Is(err, fault.NotFound) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("a_receipt_that_never_was_is_not_found", func(t *testing.T) {
		if err := h.Queue.Hide(t.Context(), "never was", time.Second); !fault.Is(err, fault.NotFound) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("a_message_that_is_visible_again_is_not_found", func(t *testing.T) {
		h.needs(t, Stale)
		m, r := inFlight(t)
		hide(t, r, 0)
		if err := h.Queue.Hide(t.Context(), r.Receipt, time.Minute); !fault.Is(err, fault.NotFound) {
			t.Fatalf("got %v", err)
		}
		again, _ := h.await(t, m, 5*time.Second)
		h.delete(t, again)
	})
}

// testFaults breaks requests on their way.
func testFaults(t *testing.T, h Harness) {
	h.needs(t, Faults)
	for _, f := range []struct {
		name  string
		fault Fault
	}{{"a_throttled_request", Throttled}, {"a_lost_request", LostRequest}, {"a_lost_reply", LostReply}} {
		t.Run(f.name+"_loses_no_message", func(t *testing.T) { // R-C2
			t.Cleanup(func() { h.Break(f.fault, 0) })
			m := wake()
			h.Break(f.fault, 1)
			h.send(t, m, queue.Delivery{})
			r, _ := h.await(t, m, 5*time.Second)
			h.Break(f.fault, 1)
			if err := h.Queue.Hide(t.Context(), r.Receipt, 2*time.Second); err != nil {
				t.Fatalf("Hide: %v", err)
			}
			h.delete(t, r)
			h.empty(t) // the second copy, where the first reply was lost
		})
	}
	t.Run("throttling_without_end_is_busy", func(t *testing.T) {
		t.Cleanup(func() { h.Break(Throttled, 0) })
		h.Break(Throttled, 1000)
		if err := h.Queue.Send(t.Context(), wake(), queue.Delivery{}); !fault.Is(err, fault.Busy) {
			t.Fatalf("got %v", err)
		}
		if err := h.Queue.Hide(t.Context(), "any", time.Second); !fault.Is(err, fault.Busy) {
			t.Fatalf("got %v", err)
		}
	})
}
