package storetest

import (
	"testing"

	"toolhost/pkg/fault"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// testFaults breaks writes on their way. Case 2: a reply that is lost is not a
// write that is lost.
func testFaults(t *testing.T, h Harness) {
	h.needs(t, Faults)
	s := h.Store
	for _, f := range []struct {
		name  string
		fault Fault
	}{{"a_throttled_request", Throttled}, {"a_lost_request", LostRequest}, {"a_lost_reply", LostReply}} {
		for times, name := range []string{1: f.name, 2: f.name + "_twice"} {
			if times == 0 {
				continue
			}
			t.Run(name, func(t *testing.T) {
				broken := func() { t.Helper(); h.Break(f.fault, times) }
				t.Cleanup(func() { h.Break(f.fault, 0) })

				v := sample()
				broken()
				v = create(t, s, v)
				if v.Revision != 1 {
					t.Fatalf("revision %d", v.Revision)
				}
				v.StatusMessage = "half"
				broken()
				saved := save(t, s, v)
				v.Revision = 2
				equal(t, saved, v)

				v.Status, v.Outcome = task.Completed, task.NewPayload(noise(3000))
				want := v.Outcome.Inline
				broken() // hits the blob
				v = save(t, s, v)
				equal(t, load(t, s, v.ID), v)
				holds(t, s, v, v.Outcome, want)

				broken()
				holds(t, s, v, step(t, s, v, "a", `1`).Value, []byte(`1`))
				if all := steps(t, s, v); len(all) != 1 {
					t.Fatalf("%d steps", len(all))
				}
			})
		}
	}
	t.Run("throttling_without_end_is_busy", func(t *testing.T) {
		t.Cleanup(func() { h.Break(Throttled, 0) })
		v := create(t, s, sample())
		big := v
		big.Outcome = task.NewPayload(noise(2 << 20))
		h.Break(Throttled, 1000)
		_, _, err := s.Create(t.Context(), sample(), now)
		is(t, err, fault.Busy)
		_, err = s.Save(t.Context(), v)
		is(t, err, fault.Busy)
		_, err = s.Save(t.Context(), big)
		is(t, err, fault.Busy)
		_, err = s.PutStep(t.Context(), v, store.Step{Name: "a"})
		is(t, err, fault.Busy)
		h.Break(Throttled, 0)
		equal(t, load(t, s, v.ID), v)
	})
}
