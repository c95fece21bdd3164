package storetest

import (
	"testing"

	"toolhost/pkg/limits"
	"toolhost/pkg/task"
)

// testCost asserts how many requests and units the common calls take.
func testCost(t *testing.T, h Harness) {
	h.needs(t, Capacity)
	s := h.Store
	// costs runs do and compares what it used.
	costs := func(t *testing.T, what string, want Usage, do func()) {
		t.Helper()
		before := h.Meter()
		do()
		if got := h.Meter().Minus(before); got != want {
			t.Errorf("%s took %+v, want %+v", what, got, want)
		}
	}
	t.Run("a_small_task_is_one_request_of_one_unit", func(t *testing.T) {
		v := sample()
		costs(t, "create", Usage{Requests: 1, WriteUnits: 1}, func() { v = create(t, s, v) })
		costs(t, "load", Usage{Requests: 1, ReadUnits: 1}, func() { load(t, s, v.ID) })
		v.Lease = &task.Lease{Run: 1, Holder: "0123456789abcdef0123456789abcdef", Until: now.Add(limits.Lease)}
		v.Claims, v.StatusMessage = 1, "12 of 40 files"
		costs(t, "save", Usage{Requests: 1, WriteUnits: 1}, func() { v = save(t, s, v) })
		v.Lease, v.Status, v.Outcome = nil, task.Completed, task.NewPayload([]byte(`{"resultType":"complete","content":[{"type":"text","text":"42"}]}`))
		costs(t, "the last save", Usage{Requests: 1, WriteUnits: 1}, func() { v = save(t, s, v) })
		costs(t, "a small payload", Usage{}, func() { holds(t, s, v, v.Outcome, v.Outcome.Inline) })
		costs(t, "recording a step", Usage{Requests: 1, WriteUnits: 1}, func() { step(t, s, v, "a", `1`) })
		costs(t, "reading a step", Usage{Requests: 1, ReadUnits: 1}, func() { steps(t, s, v) })
	})
	t.Run("many_small_tasks_are_one_request_of_a_unit_each", func(t *testing.T) {
		var ids []string
		for range 50 {
			ids = append(ids, create(t, s, sample()).ID)
		}
		costs(t, "loading 50", Usage{Requests: 1, ReadUnits: 50}, func() {
			if _, err := s.LoadMany(t.Context(), ids); err != nil {
				t.Fatal(err)
			}
		})
	})
	t.Run("an_item_never_costs_a_second_unit_for_a_payload", func(t *testing.T) {
		moved := 0
		for n := 100; n < 700; n++ {
			v := sample()
			v.Arguments = task.NewPayload(text(n))
			before := h.Meter()
			v = create(t, s, v)
			if v.Arguments.Blob != "" {
				moved++
			}
			if got := h.Meter().Minus(before); got.WriteUnits != float64(got.Requests) {
				t.Fatalf("with arguments of %d bytes a create took %+v", n, got)
			}
		}
		if moved == 0 || moved == 600 {
			t.Fatalf("the payload left the item %d times of 600: its size was not met", moved)
		}
	})
	t.Run("large_payloads_leave_the_item_small", func(t *testing.T) { // case 26
		v := sample()
		arguments := noise(200 << 10)
		v.Arguments = task.NewPayload(arguments)
		v = create(t, s, v)
		costs(t, "load", Usage{Requests: 1, ReadUnits: 1}, func() { load(t, s, v.ID) })
		v.StatusMessage = "half"
		costs(t, "save", Usage{Requests: 1, WriteUnits: 1}, func() { v = save(t, s, v) })
		before := h.Meter()
		holds(t, s, v, v.Arguments, arguments)
		if got := h.Meter().Minus(before); got.Requests != 1 || got.ReadUnits > 25 {
			t.Errorf("reading 200 KB took %+v, want one request, eventually consistent", got)
		}
	})
	t.Run("a_conflict_needs_no_read", func(t *testing.T) {
		h.needs(t, StoredItem)
		old := create(t, s, sample())
		save(t, s, old)
		before := h.Meter()
		_, err := s.Save(t.Context(), old)
		conflict(t, err)
		if got := h.Meter().Minus(before); got.Requests != 1 {
			t.Errorf("a stale save took %+v, want one request", got)
		}
	})
}
