package quota_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"toolhost/infra/emulator"
	"toolhost/pkg/limits"
	"toolhost/pkg/quota"
	"toolhost/pkg/task"
)

// creation is a call on its way: each step may be its last, or come whenever it
// likes, however much later.
type creation struct {
	task  task.Task
	place quota.Place
	put   bool
}

// Creations that stop anywhere and go on whenever they like, tasks that end and
// expire, and calls to the database that fail or lose their reply: no caller ever
// has more open tasks than it may, and in the end it may have all of them.
func TestInterleavings(t *testing.T) {
	const most = 3
	o, callers := open(t), 0
	rapid.Check(t, func(r *rapid.T) {
		callers++
		caller, q, ctx := fmt.Sprint("caller ", callers), o.quota(0, most), t.Context()
		var waiting []*creation // admitted, not put
		var made []task.Task    // put, or perhaps
		fault := func(r *rapid.T) {
			effect := rapid.SampledFrom([]emulator.Effect{emulator.Serve, emulator.Serve, emulator.Serve, emulator.Drop, emulator.Lose, emulator.Fail}).Draw(r, "effect")
			first := rapid.IntRange(1, 4).Draw(r, "first")
			length := rapid.SampledFrom([]int{1, 3, 100}).Draw(r, "length")
			var n atomic.Int32
			o.faults.Inject(func(emulator.Call) emulator.Effect {
				if i := int(n.Add(1)); i >= first && i < first+length {
					return effect
				}
				return emulator.Serve
			})
		}
		one := func(r *rapid.T) int { return rapid.IntRange(0, len(waiting)-1).Draw(r, "which") }
		forget := func(i int) *creation {
			c := waiting[i]
			waiting = append(waiting[:i], waiting[i+1:]...)
			return c
		}
		// opened are the caller's open tasks.
		opened := func() (all []task.Task) {
			o.faults.Inject(nil)
			for _, v := range made {
				stored, err := o.store.Load(ctx, v.ID)
				if err == nil && stored.Birth == v.Birth && !stored.Status.Terminal() && !stored.Expired(o.clock.Now()) {
					all = append(all, stored)
				}
			}
			return all
		}
		r.Repeat(map[string]func(*rapid.T){
			"admit": func(r *rapid.T) {
				v := o.spec(caller)
				if rapid.Bool().Draw(r, "repeatable") {
					v.Fingerprint = "print"
				}
				fault(r)
				if place, err := q.Admit(ctx, v); err == nil {
					waiting = append(waiting, &creation{task: v, place: place})
				}
			},
			"put": func(r *rapid.T) {
				if len(waiting) == 0 {
					r.Skip()
				}
				c := waiting[one(r)] // which may be put again: a request that was lost for a while
				fault(r)
				_, _, _ = o.store.Create(ctx, c.task, c.task.CreatedAt)
				if !c.put {
					made, c.put = append(made, c.task), true
				}
			},
			"die": func(r *rapid.T) {
				if len(waiting) == 0 {
					r.Skip()
				}
				forget(one(r))
			},
			"abandon": func(r *rapid.T) {
				if len(waiting) == 0 {
					r.Skip()
				}
				c := waiting[one(r)] // and perhaps its put arrives later
				fault(r)
				_ = c.place.Abandon(ctx)
			},
			"end": func(r *rapid.T) {
				if all := opened(); len(all) > 0 {
					fault(r)
					_ = o.end(ctx, rapid.SampledFrom(all).Draw(r, "task"))
				}
			},
			"time passes": func(r *rapid.T) {
				o.clock.Advance(time.Duration(rapid.SampledFrom([]int{1, 5, 30, 59, 61, 600}).Draw(r, "seconds")) * time.Second)
			},
			"": func(r *rapid.T) {
				if n := len(opened()); n > most {
					r.Fatalf("%d open tasks, %d are possible", n, most)
				}
			},
		})
		o.faults.Inject(nil)
		o.clock.Advance(limits.CreationTime)
		for n := len(opened()); n <= most; n++ {
			_, err := o.create(ctx, q, o.spec(caller))
			if e := (*quota.ExceededError)(nil); (n < most && err != nil) || (n == most && !errors.As(err, &e)) {
				r.Fatalf("with %d open tasks, and %d possible: %v", n, most, err)
			}
		}
	})
}

// The same with forty callers' workers at once, under the race detector, too.
func TestCrowd(t *testing.T) {
	const most, rounds = 5, 6
	o := open(t)
	q := o.quota(0, most)
	for round := range rounds {
		var (
			all sync.WaitGroup
			mu  sync.Mutex
			was []task.Task
		)
		for i := range 40 {
			all.Go(func() {
				v := o.spec("ada")
				place, err := q.Admit(t.Context(), v)
				if err != nil {
					if e := (*quota.ExceededError)(nil); !errors.As(err, &e) {
						t.Error(err)
					}
					return
				}
				if i%5 == 4 {
					return // died
				}
				stored, created, err := o.store.Create(t.Context(), v, v.CreatedAt)
				switch {
				case err != nil || !created:
					t.Errorf("created %v, %v", created, err)
				case i%5 == 3:
					if err := place.Abandon(t.Context()); err != nil {
						t.Error(err)
					}
				case i%5 == 2:
					if err := o.end(t.Context(), stored); err != nil {
						t.Error(err)
					}
				default:
					mu.Lock()
					defer mu.Unlock()
					was = append(was, stored)
				}
			})
		}
		all.Wait()
		if len(was) > most {
			t.Fatalf("round %d: %d open tasks", round, len(was))
		}
		o.clock.Advance(limits.CreationTime)
		for n := len(was); n <= most; n++ {
			v, err := o.create(t.Context(), q, o.spec("ada"))
			if n == most {
				over(t, err, quota.OpenTasks, most)
				break
			}
			must(t, err)
			was = append(was, v)
		}
		for _, v := range was {
			must(t, o.end(t.Context(), v))
		}
	}
}
