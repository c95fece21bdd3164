package queuetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
)

func testSend(t *testing.T, h Harness) {
	t.Run("the_body_comes_as_it_was_sent", func(t *testing.T) {
		m := wake()
		m.Cause, m.Hops, m.Redrives, m.Trace = queue.Leg, 12, 1, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
		h.send(t, m, queue.Delivery{})
		r, took := h.await(t, m, 5*time.Second)
		h.between(t, took, 0, 0)
		if r.Body != queue.Encode(m) {
			t.Fatalf("got %s", r.Body)
		}
		h.delete(t, r)
	})
	t.Run("a_delayed_message_comes_when_it_is_due", func(t *testing.T) {
		m := wake()
		h.send(t, m, queue.Delivery{Delay: 1500 * time.Millisecond})
		r, took := h.await(t, m, 10*time.Second)
		h.delete(t, r)
		h.between(t, took, 2*time.Second, 2*time.Second)
	})
	t.Run("the_longest_delay", func(t *testing.T) {
		h.needs(t, Clock)
		m := wake()
		h.send(t, m, queue.Delivery{Delay: limits.MaxDelay})
		r, took := h.await(t, m, time.Hour)
		h.delete(t, r)
		h.between(t, took, limits.MaxDelay, limits.MaxDelay)
	})
	t.Run("a_delay_that_is_past_is_none", func(t *testing.T) {
		m := wake()
		h.send(t, m, queue.Delivery{Delay: -time.Hour})
		r, took := h.await(t, m, 5*time.Second)
		h.delete(t, r)
		h.between(t, took, 0, 0)
	})
	t.Run("too_long_a_delay_is_refused", func(t *testing.T) {
		err := h.Queue.Send(t.Context(), wake(), queue.Delivery{Delay: limits.MaxDelay + 1})
		if !fault.Is(err, fault.Invalid) {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("groups_are_one_for_each_name", func(t *testing.T) {
		h.needs(t, Groups)
		names := []string{"", "ada", "bob", "ada", strings.Repeat("名 \x00", 500)}
		groups := make([]string, len(names))
		for i, name := range names {
			m := wake()
			h.send(t, m, queue.Delivery{Group: name})
			r, _ := h.await(t, m, 5*time.Second)
			h.delete(t, r)
			groups[i] = r.Group
			if name != "" && strings.Contains(r.Group, name) {
				t.Errorf("the group %q shows its name", r.Group) // R-V3
			}
		}
		if groups[0] != "" || groups[1] == "" || groups[1] != groups[3] || groups[1] == groups[2] || groups[4] == "" {
			t.Fatalf("got %q", groups)
		}
	})
	t.Run("of_1,000_messages_none_is_lost", func(t *testing.T) {
		const messages, senders = 1000, 2
		waiting := map[string]bool{}
		work := make(chan queue.Message, messages)
		for range messages {
			m := wake()
			waiting[m.TaskID] = true
			work <- m
		}
		close(work)
		var sending sync.WaitGroup
		for range senders {
			sending.Go(func() {
				for m := range work {
					if err := h.Queue.Send(t.Context(), m, queue.Delivery{}); err != nil {
						t.Errorf("Send: %v", err)
					}
				}
			})
		}
		sent := make(chan struct{})
		go func() { sending.Wait(); close(sent) }()
		for idle := 0; len(waiting) > 0; {
			received := h.receive(t, h.patience())
			if len(received) == 0 {
				select {
				case <-sent:
					idle++
				default:
				}
			}
			if idle > 10 {
				t.Fatalf("%d messages did not come", len(waiting))
			}
			for _, r := range received {
				m, err := queue.Decode(r.Body)
				if err != nil {
					t.Fatalf("%s: %v", r.Body, err)
				}
				delete(waiting, m.TaskID) // a second delivery is harmless
				h.delete(t, r)
			}
		}
	})
	t.Run("a_deleted_message_does_not_come_again", func(t *testing.T) {
		h.needs(t, Clock)
		m := wake()
		h.send(t, m, queue.Delivery{})
		r, _ := h.await(t, m, 5*time.Second)
		h.delete(t, r)
		h.Advance(limits.QueueVisibility)
		for _, r := range h.receive(t, 0) {
			if got, _ := queue.Decode(r.Body); got.TaskID == m.TaskID {
				t.Fatal("it came again")
			}
		}
	})
	t.Run("the_caller's_end_passes_through", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.Queue.Send(ctx, wake(), queue.Delivery{}); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		if err := h.Queue.Hide(ctx, "any", time.Second); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	})
}
