package storetest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"reflect"
	"testing"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/task"
)

func testPayload(t *testing.T, h Harness) {
	s := h.Store
	contents := []struct {
		name string
		json []byte
	}{
		{"0_bytes", []byte{}},
		{"1_byte", []byte("1")},
		{"1_KB", text(1 << 10)},
		{"390_KB", text(390 << 10)},
		{"390_KB_of_noise", noise(390 << 10)},
		{"450_KB_of_noise", noise(450 << 10)},
		{"4_MB", text(4 << 20)},
		{"4_MB_of_noise", noise(4 << 20)},
		{"unicode", []byte(`{"名前":"日本語 🎉 \u0000 \ud800","é":"` + "\u2028\u202e" + `"}`)},
		{"bytes_that_look_packed", append([]byte("\x1f\x8b\x08\x00"), noise(2000)...)},
		{"bytes_that_are_no_text", append([]byte("\xff\xfe\x00\x80"), bytes.Repeat([]byte{0xc3, 0x28}, 1000)...)},
	}
	for _, c := range contents {
		t.Run(c.name+"_come_back_to_the_byte", func(t *testing.T) {
			v := sample()
			v.Arguments = task.NewPayload(c.json)
			created := create(t, s, v)
			holds(t, s, created, created.Arguments, c.json)
			created.Outcome = task.NewPayload(c.json)
			saved := save(t, s, created)
			equal(t, load(t, s, v.ID), saved)
			holds(t, s, saved, saved.Arguments, c.json)
			holds(t, s, saved, saved.Outcome, c.json)
			if saved.Outcome.Absent() || saved.Outcome.Size != len(c.json) {
				t.Fatalf("it came back as %d bytes", saved.Outcome.Size)
			}
		})
	}
	t.Run("an_absent_payload_is_nil", func(t *testing.T) {
		v := create(t, s, sample())
		if !v.Outcome.Absent() {
			t.Fatalf("got %+v", v.Outcome)
		}
		got, err := s.Payload(t.Context(), v, v.Outcome)
		if got != nil || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
	})
	t.Run("every_payload_can_be_large", func(t *testing.T) {
		v := full(func(n int) []byte { return fmt.Appendf(nil, `[%d,%s]`, n, noise(2000)) })
		stored := load(t, s, create(t, s, v).ID)
		want, got := payloads(reflect.ValueOf(&v).Elem()), payloads(reflect.ValueOf(&stored).Elem())
		if len(got) != len(want) || len(want) < 9 {
			t.Fatalf("%d payloads of %d", len(got), len(want))
		}
		for i := range want {
			if got[i].Blob == "" || got[i].Size != len(want[i].Inline) {
				t.Errorf("payload %d is still in the item", i)
			}
			holds(t, s, stored, *got[i], want[i].Inline)
		}
	})
	t.Run("many_questions_fit", func(t *testing.T) {
		v := create(t, s, sample())
		for n := range limits.MaxQuestions {
			v.Inputs = append(v.Inputs, task.Input{Key: fmt.Sprint("key ", n), Method: "elicitation/create",
				Params: task.NewPayload(fmt.Appendf(nil, `[%d,%s]`, n, text(500)))})
		}
		v = save(t, s, v)
		for n, in := range v.Inputs {
			holds(t, s, v, in.Params, fmt.Appendf(nil, `[%d,%s]`, n, text(500)))
		}
	})
	t.Run("a_stale_writer_changes_no_payload", func(t *testing.T) { // case 7
		old := create(t, s, sample())
		v := old
		v.Outcome = task.NewPayload(noise(5000))
		want := v.Outcome.Inline
		v = save(t, s, v)
		old.Outcome = task.NewPayload(noise(5000))
		_, err := s.Save(t.Context(), old)
		current := conflict(t, err)
		equal(t, current, v)
		holds(t, s, current, current.Outcome, want)
	})
	t.Run("what_is_saved_is_not_changed_in_the_caller's_hands", func(t *testing.T) {
		v := create(t, s, sample())
		v.Inputs = []task.Input{{Key: "a", Params: task.NewPayload(text(5000))}}
		v.Callbacks = []task.Callback{{Name: "a", Body: task.NewPayload(text(5000))}}
		save(t, s, v)
		if v.Inputs[0].Params.Blob != "" || v.Callbacks[0].Body.Blob != "" {
			t.Fatal("the caller's slices were written to")
		}
	})
	t.Run("a_lost_blob_is_not_found", func(t *testing.T) { // case 6
		v := sample()
		v.Arguments = task.NewPayload(noise(800 << 10))
		v = create(t, s, v)
		if err := h.Lose(t.Context(), v.ID, v.Arguments.Blob); err != nil {
			t.Fatal(err)
		}
		_, err := s.Payload(t.Context(), v, v.Arguments)
		is(t, err, fault.NotFound)
	})
	t.Run("a_blob_of_another_task_is_not_found", func(t *testing.T) { // R-V3
		v := sample()
		v.Arguments = task.NewPayload(noise(5000))
		v = create(t, s, v)
		_, err := s.Payload(t.Context(), create(t, s, sample()), v.Arguments)
		is(t, err, fault.NotFound)
	})
	t.Run("a_reference_that_can't_be_is_refused", func(t *testing.T) {
		v := create(t, s, sample())
		for _, p := range []task.Payload{{Blob: rand.Text()}, {Blob: rand.Text(), Parts: -1}, {Blob: rand.Text(), Parts: 1 << 30}, {Blob: rand.Text(), Parts: 1, Size: -1}} {
			_, err := s.Payload(t.Context(), v, p)
			is(t, err, fault.Invalid)
		}
	})
}
