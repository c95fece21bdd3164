package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"toolhost/pkg/fault"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

func owner() task.Owner {
	return task.Owner{Issuer: "https://login.example.com", Subject: rand.Text(), Tenant: "ключ 🔑\n\x00"}
}

// reservation is one for a new task that lives for a day.
func reservation(slot int) store.Reservation {
	return store.Reservation{Slot: slot, TaskID: rand.Text(), Birth: rand.Text(), At: now, Until: now.Add(24 * time.Hour)}
}

func testLedger(t *testing.T, h Harness) {
	t.Run("Count", func(t *testing.T) { testCount(t, h) })
	t.Run("Slots", func(t *testing.T) { testSlots(t, h) })
	t.Run("Faults", func(t *testing.T) { testLedgerFaults(t, h) })
	t.Run("Cost", func(t *testing.T) { testLedgerCost(t, h) })
}

func testCount(t *testing.T, h Harness) {
	count := func(t *testing.T, o task.Owner, birth string, at time.Time, most int, want bool) {
		t.Helper()
		if got, err := h.Ledger.Count(t.Context(), o, birth, at, most); err != nil || got != want {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
	}
	t.Run("as_many_as_may_be_in_a_minute_and_again_in_the_next", func(t *testing.T) {
		o, minute := owner(), now.Truncate(time.Minute)
		for i := range 5 {
			count(t, o, rand.Text(), minute.Add(time.Duration(i)*10*time.Second), 3, i < 3)
		}
		count(t, o, rand.Text(), minute.Add(time.Minute-1), 3, false)
		count(t, o, rand.Text(), minute.Add(time.Minute), 3, true)
		count(t, owner(), rand.Text(), minute, 3, true)
		count(t, o, rand.Text(), minute, 4, true) // who may more
	})
	t.Run("what_is_sent_again_counts_once", func(t *testing.T) {
		o, birth := owner(), rand.Text()
		count(t, o, birth, now, 2, true)
		count(t, o, birth, now, 2, true)
		last := rand.Text()
		count(t, o, last, now, 2, true)
		count(t, o, last, now, 2, true)
		count(t, o, rand.Text(), now, 2, false)
	})
	t.Run("of_many_at_once_no_more_than_may_be", func(t *testing.T) {
		h.needs(t, Atomic)
		o := owner()
		var counted atomic.Int32
		all, ctx := errgroup.WithContext(t.Context())
		for range 20 {
			all.Go(func() error {
				ok, err := h.Ledger.Count(ctx, o, rand.Text(), now, 7)
				if ok {
					counted.Add(1)
				}
				return err
			})
		}
		if err := all.Wait(); err != nil || counted.Load() != 7 {
			t.Fatalf("%d counted, %v", counted.Load(), err)
		}
	})
}

// reserve asks for a slot, and fails the test unless the answer is the one wanted.
func (h Harness) reserve(t *testing.T, o task.Owner, r store.Reservation, at time.Time, want bool) {
	t.Helper()
	if got, err := h.Ledger.Reserve(t.Context(), o, r, at); err != nil || got != want {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
}

func (h Harness) release(t *testing.T, o task.Owner, r store.Reservation) {
	t.Helper()
	if err := h.Ledger.Release(t.Context(), o, r); err != nil {
		t.Fatal(err)
	}
}

// reserved fails the test unless the owner has these reservations.
func (h Harness) reserved(t *testing.T, o task.Owner, want ...store.Reservation) {
	t.Helper()
	got, err := h.Ledger.Reservations(t.Context(), o)
	slices.SortFunc(got, func(a, b store.Reservation) int { return a.Slot - b.Slot })
	if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
}

func testSlots(t *testing.T, h Harness) {
	t.Run("a_slot_has_one_holder", func(t *testing.T) {
		o, other, first := owner(), owner(), reservation(3)
		h.reserve(t, o, first, now, true)
		h.reserve(t, o, first, now, true) // sent again
		h.reserve(t, o, reservation(3), now, false)
		tenth := reservation(10)
		h.reserve(t, o, tenth, now, true)
		h.reserve(t, other, reservation(3), now, true)
		h.reserved(t, o, first, tenth)
	})
	t.Run("until_it_expires", func(t *testing.T) {
		o, first, second := owner(), reservation(0), reservation(0)
		h.reserve(t, o, first, now, true)
		h.reserve(t, o, second, first.Until.Add(-time.Millisecond), false)
		h.reserve(t, o, second, first.Until, true)
		h.reserved(t, o, second)
	})
	t.Run("or_is_released", func(t *testing.T) {
		o, first, second := owner(), reservation(0), reservation(0)
		h.reserve(t, o, first, now, true)
		h.release(t, o, first)
		h.release(t, o, first)
		h.reserved(t, o)
		h.reserve(t, o, second, now, true)
		h.release(t, o, first) // late
		h.reserved(t, o, second)
	})
	t.Run("no_owner_is_another", func(t *testing.T) {
		r := reservation(0)
		for _, o := range []task.Owner{{Subject: r.Birth}, {Client: r.Birth}, {Tenant: r.Birth}, {Issuer: r.Birth}, {Issuer: r.Birth, Subject: `" "`},
			{Issuer: r.Birth + `" "`}, {Issuer: r.Birth + "\x00"}, {Issuer: r.Birth, Subject: "\x00"}} {
			h.reserve(t, o, reservation(0), now, true)
		}
	})
	t.Run("more_than_a_page_holds", func(t *testing.T) {
		o := owner()
		var want []store.Reservation
		for slot := range 120 {
			r := reservation(slot)
			h.reserve(t, o, r, now, true)
			want = append(want, r)
		}
		h.reserved(t, o, want...)
	})
	t.Run("of_many_at_once_one_gets_it", func(t *testing.T) {
		h.needs(t, Atomic)
		o := owner()
		var got atomic.Int32
		all, ctx := errgroup.WithContext(t.Context())
		for range 20 {
			all.Go(func() error {
				ok, err := h.Ledger.Reserve(ctx, o, reservation(0), now)
				if ok {
					got.Add(1)
				}
				return err
			})
		}
		if err := all.Wait(); err != nil || got.Load() != 1 {
			t.Fatalf("%d got it, %v", got.Load(), err)
		}
	})
	t.Run("the_caller's_end_passes_through", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o := owner()
		_, counted := h.Ledger.Count(ctx, o, "b", now, 1)
		_, reserved := h.Ledger.Reserve(ctx, o, reservation(0), now)
		_, listed := h.Ledger.Reservations(ctx, o)
		for _, err := range []error{counted, reserved, listed, h.Ledger.Release(ctx, o, reservation(0))} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// testLedgerFaults breaks writes on their way (case 2): what was done is known, and done once.
func testLedgerFaults(t *testing.T, h Harness) {
	h.needs(t, Faults)
	for name, f := range map[string]Fault{"a_throttled_request": Throttled, "a_lost_request": LostRequest, "a_lost_reply": LostReply} {
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { h.Break(f, 0) })
			o, r := owner(), reservation(0)
			for i := range 3 {
				h.Break(f, 1)
				if ok, err := h.Ledger.Count(t.Context(), o, rand.Text(), now, 2); err != nil || ok != (i < 2) {
					t.Fatalf("%d: counted %v, %v", i, ok, err)
				}
			}
			h.Break(f, 1)
			h.reserve(t, o, r, now, true)
			h.reserved(t, o, r)
			h.Break(f, 1)
			h.release(t, o, r)
			h.reserved(t, o)
		})
	}
	t.Run("throttling_without_end_is_busy", func(t *testing.T) {
		t.Cleanup(func() { h.Break(Throttled, 0) })
		o := owner()
		h.Break(Throttled, 1000)
		_, counted := h.Ledger.Count(t.Context(), o, "b", now, 1)
		_, reserved := h.Ledger.Reserve(t.Context(), o, reservation(0), now)
		for _, err := range []error{counted, reserved, h.Ledger.Release(t.Context(), o, reservation(0))} {
			is(t, err, fault.Busy)
		}
	})
}

func testLedgerCost(t *testing.T, h Harness) {
	h.needs(t, Capacity)
	o, r := owner(), reservation(0)
	for _, c := range []struct {
		what string
		want Usage
		do   func()
	}{
		{"counting", Usage{Requests: 1, WriteUnits: 1}, func() { _, _ = h.Ledger.Count(t.Context(), o, rand.Text(), now, 9) }},
		{"reserving", Usage{Requests: 1, WriteUnits: 1}, func() { h.reserve(t, o, r, now, true) }},
		{"listing", Usage{Requests: 1, ReadUnits: 1}, func() { h.reserved(t, o, r) }},
		{"releasing", Usage{Requests: 1, WriteUnits: 1}, func() { h.release(t, o, r) }},
	} {
		before := h.Meter()
		c.do()
		if got := h.Meter().Minus(before); got != c.want {
			t.Errorf("%s took %+v, want %+v", c.what, got, c.want)
		}
	}
}
