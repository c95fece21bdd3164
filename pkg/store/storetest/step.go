package storetest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"

	"toolhost/pkg/fault"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// step records a step and returns what is stored.
func step(t *testing.T, s store.Store, v task.Task, name, json string) store.Step {
	t.Helper()
	kept, err := s.PutStep(t.Context(), v, store.Step{Name: name, Value: task.NewPayload([]byte(json))})
	if err != nil || kept.Name != name {
		t.Fatalf("PutStep: %+v, %v", kept, err)
	}
	return kept
}

func steps(t *testing.T, s store.Store, v task.Task) []store.Step {
	t.Helper()
	all, err := s.Steps(t.Context(), v)
	if err != nil {
		t.Fatalf("Steps: %v", err)
	}
	return all
}

func testSteps(t *testing.T, h Harness) {
	s := h.Store
	t.Run("steps_come_in_order_of_name", func(t *testing.T) {
		v := create(t, s, sample())
		if all := steps(t, s, v); len(all) != 0 {
			t.Fatalf("a new task has %d steps", len(all))
		}
		for _, name := range []string{"b", "a", "c"} {
			holds(t, s, v, step(t, s, v, name, `"`+name+`"`).Value, []byte(`"`+name+`"`))
		}
		all := steps(t, s, v)
		if len(all) != 3 {
			t.Fatalf("got %d steps", len(all))
		}
		for i, name := range []string{"a", "b", "c"} {
			if all[i].Name != name {
				t.Fatalf("step %d is %q", i, all[i].Name)
			}
			holds(t, s, v, all[i].Value, []byte(`"`+name+`"`))
		}
		equal(t, load(t, s, v.ID), v)
	})
	t.Run("a_step_is_recorded_once", func(t *testing.T) { // case 7
		v := create(t, s, sample())
		step(t, s, v, "a", `1`)
		holds(t, s, v, step(t, s, v, "a", `2`).Value, []byte(`1`))
		holds(t, s, v, steps(t, s, v)[0].Value, []byte(`1`))
	})
	t.Run("of_two_writers_the_second_adopts_the_first_one's_value", func(t *testing.T) {
		h.needs(t, Atomic)
		v := create(t, s, sample())
		for round := range 20 {
			name := fmt.Sprint(round)
			var kept [3]store.Step
			var all sync.WaitGroup
			for n := range kept {
				all.Go(func() { kept[n] = step(t, s, v, name, fmt.Sprint(n)) })
			}
			all.Wait()
			want, _ := s.Payload(t.Context(), v, kept[0].Value)
			for _, k := range kept {
				holds(t, s, v, k.Value, want)
			}
		}
	})
	t.Run("another_birth_sees_no_step", func(t *testing.T) {
		v := create(t, s, sample())
		step(t, s, v, "a", `1`)
		v.Birth = rand.Text()
		if all := steps(t, s, v); len(all) != 0 {
			t.Fatalf("got %d steps", len(all))
		}
		holds(t, s, v, step(t, s, v, "a", `2`).Value, []byte(`2`))
	})
	t.Run("values_of_any_size_come_back", func(t *testing.T) { // case 25
		v := create(t, s, sample())
		want := map[string][]byte{"absent": nil, "empty": {}, "null": []byte("null"), "text": text(3000), "noise": noise(3000),
			"long text": text(450 << 10), "390 KB": noise(390 << 10), "450 KB": noise(450 << 10), "4 MB": noise(4 << 20)}
		for n := range 40 {
			want[fmt.Sprint("of 20 KB ", n)] = noise(20 << 10)
		}
		for name, json := range want {
			value := task.Payload{}
			if json != nil {
				value = task.NewPayload(json)
			}
			for range 2 { // recorded, and adopted
				kept, err := s.PutStep(t.Context(), v, store.Step{Name: name, Value: value})
				if err != nil {
					t.Fatal(err)
				}
				holds(t, s, v, kept.Value, json)
			}
		}
		all := steps(t, s, v)
		if len(all) != len(want) {
			t.Fatalf("got %d steps of %d", len(all), len(want))
		}
		for _, got := range all {
			holds(t, s, v, got.Value, want[got.Name])
			if got.Value.Absent() != (want[got.Name] == nil) {
				t.Fatalf("%s: absent is %v", got.Name, got.Value.Absent())
			}
		}
	})
	t.Run("odd_names_work", func(t *testing.T) {
		v := create(t, s, sample())
		long := strings.Repeat("a", 1000)
		names := []string{"", " ", "#", "a#b", "step#" + v.Birth + "#", "\x00\n", "名前 🎉", "e\u0301", "é", long, long + "b",
			strings.Repeat("é", 1000), strings.Repeat("🎉", 1000), strings.Repeat("a", 499) + "é"}
		for _, name := range names {
			step(t, s, v, name, fmt.Sprintf("%q", name))
		}
		all := steps(t, s, v)
		if len(all) != len(names) {
			t.Fatalf("got %d steps of %d", len(all), len(names))
		}
		for i, got := range all {
			holds(t, s, v, got.Value, fmt.Appendf(nil, "%q", got.Name))
			if i > 0 && all[i-1].Name >= got.Name {
				t.Fatalf("%q comes after %q", got.Name, all[i-1].Name)
			}
		}
	})
	t.Run("a_name_that_is_no_text_is_refused", func(t *testing.T) {
		v := create(t, s, sample())
		_, err := s.PutStep(t.Context(), v, store.Step{Name: "\xff", Value: task.NewPayload([]byte("1"))})
		is(t, err, fault.Invalid)
	})
	t.Run("a_late_step_changes_nothing", func(t *testing.T) { // case 7
		v := create(t, s, sample())
		step(t, s, v, "a", `1`)
		late := noise(500 << 10)
		kept, err := s.PutStep(t.Context(), v, store.Step{Name: "a", Value: task.NewPayload(late)})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := s.Payload(t.Context(), v, kept.Value); bytes.Equal(got, late) {
			t.Fatal("the late value was adopted")
		}
	})
}
