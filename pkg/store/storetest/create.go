package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/task"
)

func testCreate(t *testing.T, h Harness) {
	s := h.Store
	t.Run("a_new_task_is_there_at_once", func(t *testing.T) { // R-C1
		v := sample()
		stored := create(t, s, v)
		v.Revision = 1
		equal(t, stored, v)
		equal(t, load(t, s, v.ID), v)
	})
	t.Run("the_same_put_again_counts_as_ours", func(t *testing.T) {
		v := sample()
		first := create(t, s, v)
		equal(t, create(t, s, v), first)
	})
	t.Run("our_put_again_does_not_undo_what_came_after", func(t *testing.T) {
		v := sample()
		next := create(t, s, v)
		next.StatusMessage = "later"
		next = save(t, s, next)
		equal(t, create(t, s, v), next)
	})
	t.Run("another_birth_gets_the_stored_task", func(t *testing.T) {
		v := sample()
		first := create(t, s, v)
		other := v
		other.Birth, other.Tool = rand.Text(), "another"
		got, created, err := s.Create(t.Context(), other, now)
		if err != nil || created {
			t.Fatalf("created %v, %v", created, err)
		}
		equal(t, got, first)
		equal(t, load(t, s, v.ID), first)
	})
	t.Run("an_expired_task_is_replaced", func(t *testing.T) { // R-G8
		old := create(t, s, sample())
		step(t, s, old, "old", `1`)
		other := sample()
		other.ID = old.ID
		if _, created, err := s.Create(t.Context(), other, old.ExpiresAt().Add(-time.Millisecond)); err != nil || created {
			t.Fatalf("a millisecond too early: created %v, %v", created, err)
		}
		got, created, err := s.Create(t.Context(), other, old.ExpiresAt())
		if err != nil || !created {
			t.Fatalf("created %v, %v", created, err)
		}
		other.Revision = 1
		equal(t, got, other)
		if steps, err := s.Steps(t.Context(), got); err != nil || len(steps) > 0 {
			t.Fatalf("the new task sees steps of the old one: %v, %v", steps, err)
		}
		old.StatusMessage = "I live"
		_, err = s.Save(t.Context(), old)
		is(t, err, fault.NotFound)
		equal(t, load(t, s, old.ID), other)
	})
	t.Run("of_two_at_once_one_is_created", func(t *testing.T) {
		h.needs(t, Atomic)
		for range 20 {
			a, b := sample(), sample()
			b.ID = a.ID
			type answer struct {
				stored  task.Task
				created bool
				err     error
			}
			answers := make(chan answer)
			for _, v := range []task.Task{a, b} {
				go func() {
					var r answer
					r.stored, r.created, r.err = s.Create(t.Context(), v, now)
					answers <- r
				}()
			}
			x, y := <-answers, <-answers
			if x.err != nil || y.err != nil || x.created == y.created {
				t.Fatalf("%+v, %+v", x, y)
			}
			equal(t, x.stored, y.stored)
		}
	})
	t.Run("what_fits_no_key_is_refused", func(t *testing.T) {
		for _, change := range []func(*task.Task){
			func(v *task.Task) { v.ID = "" },
			func(v *task.Task) { v.ID = strings.Repeat("x", 3000) },
			func(v *task.Task) { v.ID = "\xff" },
			func(v *task.Task) { v.Birth = "" },
			func(v *task.Task) { v.Birth = "a#b" },
			func(v *task.Task) { v.Birth = strings.Repeat("x", 3000) },
		} {
			v := sample()
			change(&v)
			_, _, err := s.Create(t.Context(), v, now)
			is(t, err, fault.Invalid)
		}
	})
	t.Run("odd_ids_work", func(t *testing.T) {
		for _, id := range []string{"#", "step#a#b", "ключ 🔑\n\x00", strings.Repeat("é", 1000)} {
			v := sample()
			v.ID = id + rand.Text()
			equal(t, load(t, s, create(t, s, v).ID), load(t, s, v.ID))
		}
	})
}

func testLoad(t *testing.T, h Harness) {
	s := h.Store
	t.Run("an_unknown_id_is_not_found", func(t *testing.T) { // R-G7
		for _, id := range []string{"test-" + rand.Text(), "", "\x00", "#", "\xff\xfe", strings.Repeat("x", 5000)} {
			_, err := s.Load(t.Context(), id)
			is(t, err, fault.NotFound)
		}
	})
	t.Run("an_expired_task_is_still_loaded", func(t *testing.T) {
		v := sample()
		v.CreatedAt, v.TTL = now.Add(-2*time.Hour), time.Hour
		stored := create(t, s, v)
		equal(t, load(t, s, v.ID), stored)
	})
	t.Run("the_caller's_end_passes_through", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Load(ctx, "any"); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	})
}

func testLoadMany(t *testing.T, h Harness) {
	s := h.Store
	many := func(t *testing.T, ids ...string) map[string]task.Task {
		t.Helper()
		got, err := s.LoadMany(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		byID := map[string]task.Task{}
		for _, v := range got {
			byID[v.ID] = v
		}
		if len(byID) != len(got) {
			t.Fatalf("%d tasks of %d ids", len(got), len(byID))
		}
		return byID
	}
	t.Run("each_is_as_last_saved", func(t *testing.T) {
		var ids []string
		want := map[string]task.Task{}
		for range 3 {
			v := create(t, s, sample())
			v.StatusMessage = "half"
			v = save(t, s, v)
			ids, want[v.ID] = append(ids, v.ID), v
		}
		for id, v := range many(t, ids...) {
			equal(t, v, want[id])
			delete(want, id)
		}
		if len(want) > 0 {
			t.Fatalf("%d are missing", len(want))
		}
	})
	t.Run("what_is_not_there_is_missing_and_what_is_asked_twice_comes_once", func(t *testing.T) {
		v := create(t, s, sample())
		got := many(t, "test-"+rand.Text(), v.ID, "", "\xff", v.ID, strings.Repeat("x", 5000))
		if len(got) != 1 {
			t.Fatalf("%d tasks", len(got))
		}
		equal(t, got[v.ID], v)
		if got := many(t); len(got) > 0 {
			t.Fatalf("%d tasks of no id", len(got))
		}
	})
	t.Run("more_than_one_batch_holds", func(t *testing.T) {
		v := create(t, s, sample())
		ids := []string{v.ID}
		for range 120 {
			ids = append(ids, "test-"+rand.Text())
		}
		if got := many(t, ids...); len(got) != 1 {
			t.Fatalf("%d tasks", len(got))
		}
	})
	t.Run("an_expired_task_is_still_loaded", func(t *testing.T) {
		v := sample()
		v.CreatedAt, v.TTL = now.Add(-2*time.Hour), time.Hour
		v = create(t, s, v)
		equal(t, many(t, v.ID)[v.ID], v)
	})
	t.Run("the_caller's_end_passes_through", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.LoadMany(ctx, []string{"any"}); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	})
}
