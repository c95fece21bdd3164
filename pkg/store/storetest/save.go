package storetest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"

	"toolhost/pkg/fault"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

func testSave(t *testing.T, h Harness) {
	s := h.Store
	t.Run("a_save_is_there_at_once", func(t *testing.T) { // R-C1
		v := create(t, s, sample())
		v.StatusMessage = "half"
		saved := save(t, s, v)
		v.Revision = 2
		equal(t, saved, v)
		equal(t, load(t, s, v.ID), v)
	})
	t.Run("stale_revision_is_rejected", func(t *testing.T) { // R-X2
		old := create(t, s, sample())
		v := old
		v.StatusMessage = "first"
		v = save(t, s, v)
		old.StatusMessage = "second"
		_, err := s.Save(t.Context(), old)
		equal(t, conflict(t, err), v)
		equal(t, load(t, s, v.ID), v)
	})
	t.Run("the_same_save_again_is_another_save", func(t *testing.T) {
		v := create(t, s, sample())
		saved := save(t, s, v)
		_, err := s.Save(t.Context(), v)
		equal(t, conflict(t, err), saved)
	})
	t.Run("another_birth_is_not_found", func(t *testing.T) {
		v := create(t, s, sample())
		other := v
		other.Birth = rand.Text()
		_, err := s.Save(t.Context(), other)
		is(t, err, fault.NotFound)
		equal(t, load(t, s, v.ID), v)
	})
	t.Run("nothing_recreates_a_task_that_is_gone", func(t *testing.T) {
		v := create(t, s, sample())
		if err := h.Lose(t.Context(), v.ID, ""); err != nil {
			t.Fatal(err)
		}
		_, err := s.Save(t.Context(), v)
		is(t, err, fault.NotFound)
		_, err = s.Load(t.Context(), v.ID)
		is(t, err, fault.NotFound)
	})
	t.Run("state_that_fits_no_item_is_refused", func(t *testing.T) {
		v := create(t, s, sample())
		for n := range 1000 {
			v.Inputs = append(v.Inputs, task.Input{Key: fmt.Sprint(n, string(text(1000))), Method: "roots/list"})
		}
		_, err := s.Save(t.Context(), v)
		is(t, err, fault.TooLarge)
		if fault.Message(err) == "" {
			t.Fatal("the error names no limit")
		}
	})
}

func testFields(t *testing.T, h Harness) {
	s := h.Store
	t.Run("every_field_survives_a_create", func(t *testing.T) {
		v := full(func(n int) []byte { return fmt.Appendf(nil, `{"n":%d}`, n) })
		stored := create(t, s, v)
		v.Revision = 1
		equal(t, stored, v)
		equal(t, load(t, s, v.ID), v)
	})
	t.Run("every_field_survives_a_save", func(t *testing.T) {
		v := create(t, s, sample())
		next := full(func(n int) []byte { return fmt.Appendf(nil, `{"n":%d}`, n) })
		next.ID, next.Birth, next.Revision = v.ID, v.Birth, v.Revision
		saved := save(t, s, next)
		next.Revision = 2
		equal(t, saved, next)
		equal(t, load(t, s, v.ID), next)
	})
	t.Run("every_field_can_be_emptied", func(t *testing.T) {
		v := create(t, s, full(func(n int) []byte { return text(n + 200) }))
		bare := task.Task{ID: v.ID, Birth: v.Birth, Revision: v.Revision, Status: task.Failed}
		saved := save(t, s, bare)
		bare.Revision = 2
		equal(t, saved, bare)
		equal(t, load(t, s, v.ID), bare)
	})
	t.Run("every_status_survives", func(t *testing.T) {
		v := create(t, s, sample())
		for _, v.Status = range task.Statuses {
			v = save(t, s, v)
			equal(t, load(t, s, v.ID), v)
		}
	})
}

func testUpdate(t *testing.T, h Harness) {
	s := h.Store
	t.Run("a_change_is_applied_again_to_the_newer_task", func(t *testing.T) {
		old := create(t, s, sample())
		newer := old
		newer.Tool = "changed meanwhile"
		save(t, s, newer)
		var met []int64
		saved, err := store.Update(t.Context(), s, old, func(v task.Task) (task.Task, error) {
			met = append(met, v.Revision)
			v.StatusMessage = "mine"
			return v, nil
		})
		if err != nil || fmt.Sprint(met) != "[1 2]" {
			t.Fatalf("met the revisions %v, %v", met, err)
		}
		if saved.Tool != "changed meanwhile" || saved.StatusMessage != "mine" || saved.Revision != 3 {
			t.Fatalf("saved %+v", saved)
		}
		equal(t, load(t, s, old.ID), saved)
	})
	t.Run("a_change_that_no_longer_may_happen_writes_nothing", func(t *testing.T) {
		old := create(t, s, sample())
		newer := old
		newer.Status = task.Cancelled
		newer = save(t, s, newer)
		met, err := store.Update(t.Context(), s, old, func(v task.Task) (task.Task, error) {
			if v.Status.Terminal() {
				return v, task.ErrNoChange
			}
			return v, nil
		})
		if !errors.Is(err, task.ErrNoChange) {
			t.Fatalf("got %v", err)
		}
		equal(t, met, newer)
		equal(t, load(t, s, old.ID), newer)
	})
	t.Run("another_birth_is_not_found", func(t *testing.T) {
		v := create(t, s, sample())
		v.Birth = rand.Text()
		_, err := store.Update(t.Context(), s, v, func(v task.Task) (task.Task, error) { return v, nil })
		is(t, err, fault.NotFound)
	})
	t.Run("changes_in_parallel_all_count", func(t *testing.T) {
		h.needs(t, Atomic)
		v := create(t, s, sample())
		const writers = 8
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				_, err := store.Update(t.Context(), s, v, func(v task.Task) (task.Task, error) {
					v.Nudges++
					return v, nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := load(t, s, v.ID); got.Nudges != writers || got.Revision != writers+1 {
			t.Fatalf("%d changes, revision %d", got.Nudges, got.Revision)
		}
	})
}

// testWriters lets several writers race for every revision of one task.
func testWriters(t *testing.T, h Harness) {
	s := h.Store
	t.Run("each_revision_is_won_once", func(t *testing.T) {
		h.needs(t, Atomic)
		const rounds, writers = 500, 3
		v := create(t, s, sample())
		for round := range rounds {
			type answer struct {
				saved task.Task
				err   error
			}
			answers := make(chan answer)
			for n := range writers {
				mine := v
				mine.StatusMessage = fmt.Sprintf("round %d, writer %d", round, n)
				go func() {
					saved, err := s.Save(t.Context(), mine)
					answers <- answer{saved, err}
				}()
			}
			var won []task.Task
			var met []task.Task
			for range writers {
				if a := <-answers; a.err == nil {
					won = append(won, a.saved)
				} else {
					met = append(met, conflict(t, a.err))
				}
			}
			if len(won) != 1 || won[0].Revision != v.Revision+1 {
				t.Fatalf("round %d: %d writers won", round, len(won))
			}
			for _, current := range met {
				equal(t, current, won[0])
			}
			v = won[0]
		}
		equal(t, load(t, s, v.ID), v)
	})
}
