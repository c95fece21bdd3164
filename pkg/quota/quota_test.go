package quota_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"toolhost/infra/emulator"
	"toolhost/pkg/limits"
	"toolhost/pkg/quota"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// over fails the test unless err refuses for the limit.
func over(t *testing.T, err error, limit quota.Limit, most int) *quota.ExceededError {
	t.Helper()
	var e *quota.ExceededError
	if !errors.As(err, &e) || e.Limit != limit || e.Max != most {
		t.Fatalf("got %v, want %s over %d", err, limit, most)
	}
	return e
}

func TestNone(t *testing.T) {
	if q := quota.New(quota.Options{}); q != nil {
		t.Fatal("no limit is a quota")
	}
	p, err := (*quota.Quota)(nil).Admit(t.Context(), task.Task{})
	if err = errors.Join(err, p.Release(t.Context()), p.Abandon(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func TestCreations(t *testing.T) {
	o := open(t)
	q := o.quota(3, 0)
	o.clock.Advance(20 * time.Second)
	for range 3 {
		_, err := o.create(t.Context(), q, o.spec("ada"))
		must(t, err)
	}
	_, err := o.create(t.Context(), q, o.spec("ada"))
	e := over(t, err, quota.Creations, 3)
	if e.RetryAfter != 40*time.Second || e.Error() != "Too many tasks in this minute: the limit is 3 a minute. Try again in 40 s" {
		t.Errorf("%v, after %v", e, e.RetryAfter)
	}
	t.Run("others are unaffected", func(t *testing.T) {
		_, err := o.create(t.Context(), q, o.spec("bob"))
		must(t, err)
	})
	t.Run("the next minute has room again", func(t *testing.T) {
		o.clock.Advance(e.RetryAfter - time.Millisecond)
		_, err := o.create(t.Context(), q, o.spec("ada"))
		over(t, err, quota.Creations, 3)
		o.clock.Advance(time.Millisecond)
		_, err = o.create(t.Context(), q, o.spec("ada"))
		must(t, err)
	})
}

func TestOpenTasks(t *testing.T) {
	fill := func(t *testing.T, n int) (*office, *quota.Quota, []task.Task) {
		t.Helper()
		o := open(t)
		q := o.quota(0, n)
		var tasks []task.Task
		for range n {
			made, err := o.create(t.Context(), q, o.spec("ada"))
			must(t, err)
			tasks = append(tasks, made)
		}
		_, err := q.Admit(t.Context(), o.spec("ada"))
		if e := over(t, err, quota.OpenTasks, n); e.RetryAfter != 0 || e.Error() != "Too many open tasks: the limit is "+map[int]string{1: "1", 3: "3", 10: "10"}[n]+". Wait until one of them has ended, or cancel one" {
			t.Errorf("%v, after %v", e, e.RetryAfter)
		}
		return o, q, tasks
	}
	t.Run("others are unaffected", func(t *testing.T) { // case 45
		o, q, _ := fill(t, 3)
		_, err := o.create(t.Context(), q, o.spec("bob"))
		must(t, err)
	})
	t.Run("a task that ends gives its slot back", func(t *testing.T) {
		for _, n := range []int{1, 10} {
			o, q, tasks := fill(t, n)
			for _, v := range tasks {
				must(t, o.end(t.Context(), v))
				_, err := o.create(t.Context(), q, o.spec("ada"))
				must(t, err)
				_, err = q.Admit(t.Context(), o.spec("ada"))
				over(t, err, quota.OpenTasks, n)
			}
		}
	})
	t.Run("an open task holds its slot until it expires", func(t *testing.T) {
		o, q, tasks := fill(t, 3)
		o.clock.Advance(tasks[0].TTL - time.Millisecond)
		_, err := q.Admit(t.Context(), o.spec("ada"))
		over(t, err, quota.OpenTasks, 3)
		o.clock.Advance(time.Millisecond)
		for range 3 {
			_, err := o.create(t.Context(), q, o.spec("ada"))
			must(t, err)
		}
		_, err = q.Admit(t.Context(), o.spec("ada"))
		over(t, err, quota.OpenTasks, 3)
	})
	t.Run("a creation that died before its put holds its slot for a minute", func(t *testing.T) {
		o := open(t)
		q := o.quota(0, 1)
		dead := o.spec("ada")
		_, err := q.Admit(t.Context(), dead)
		must(t, err)
		o.clock.Advance(limits.CreationTime - time.Millisecond)
		_, err = q.Admit(t.Context(), o.spec("ada"))
		over(t, err, quota.OpenTasks, 1)
		o.clock.Advance(time.Millisecond)
		next, err := o.create(t.Context(), q, o.spec("ada"))
		must(t, err)
		t.Run("and if it is not dead but late, it is kept out", func(t *testing.T) {
			stored, created, err := o.store.Create(t.Context(), dead, dead.CreatedAt)
			if err != nil || created || !quota.Fenced(stored) || quota.Fenced(next) {
				t.Fatalf("created %v, %v", created, err)
			}
		})
		t.Run("while the id is free for who comes later", func(t *testing.T) { // an idempotency key's
			again := o.spec("ada")
			again.ID = dead.ID
			if _, created, err := o.store.Create(t.Context(), again, again.CreatedAt); err != nil || !created {
				t.Fatalf("created %v, %v", created, err)
			}
		})
	})
	t.Run("a slot whose task's id became another's is free at once", func(t *testing.T) { // of two calls with one idempotency key one died
		o := open(t)
		q := o.quota(0, 2)
		dead, winner := o.spec("ada"), o.spec("ada")
		winner.ID = dead.ID
		_, err := q.Admit(t.Context(), dead)
		must(t, err)
		_, err = o.create(t.Context(), q, winner)
		must(t, err)
		_, err = o.create(t.Context(), q, o.spec("ada"))
		must(t, err)
		_, err = q.Admit(t.Context(), o.spec("ada"))
		over(t, err, quota.OpenTasks, 2)
	})
	t.Run("of fifty at once ten are admitted", func(t *testing.T) {
		o := open(t)
		q := o.quota(0, 10)
		var (
			all     sync.WaitGroup
			mu      sync.Mutex
			made    int
			refused int
		)
		for range 50 {
			all.Go(func() {
				_, err := o.create(t.Context(), q, o.spec("ada"))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made++
				} else if e := (*quota.ExceededError)(nil); errors.As(err, &e) {
					refused++
				} else {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made != 10 || refused != 40 {
			t.Errorf("%d made, %d refused", made, refused)
		}
	})
	t.Run("a refused creation leaves what is counted alone", func(t *testing.T) {
		o, q, _ := fill(t, 3)
		before, err := o.ledger.Reservations(t.Context(), o.spec("ada").Owner)
		must(t, err)
		for range 5 {
			_, err := q.Admit(t.Context(), o.spec("ada"))
			over(t, err, quota.OpenTasks, 3)
		}
		after, err := o.ledger.Reservations(t.Context(), o.spec("ada").Owner)
		must(t, err)
		if !slices.Equal(before, after) {
			t.Errorf("%v became %v", before, after)
		}
	})
}

// What a creation gives back that failed after it was admitted.
func TestAbandon(t *testing.T) {
	for _, c := range []struct {
		name          string
		put, repeated bool
		held          bool
	}{
		{"a task that was not put", false, false, false},
		{"one that was put is failed", true, false, false},
		{"one with an idempotency key that was not put", false, true, false},
		{"one with a key that was put waits for the repeat, and counts", true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := open(t)
			q := o.quota(0, 1)
			v := o.spec("ada")
			if c.repeated {
				v.Fingerprint = "print"
			}
			place, err := q.Admit(t.Context(), v)
			must(t, err)
			if c.put {
				_, _, err = o.store.Create(t.Context(), v, v.CreatedAt)
				must(t, err)
			}
			must(t, place.Abandon(t.Context()))
			if _, created, err := o.store.Create(t.Context(), v, v.CreatedAt); err != nil || created != c.put { // its own put, known again
				t.Errorf("a late put: created %v, %v", created, err)
			}
			if stored, err := o.store.Load(t.Context(), v.ID); err != nil || stored.Status.Terminal() == c.held {
				t.Errorf("the task is %+v, %v", stored, err)
			}
			_, err = q.Admit(t.Context(), o.spec("ada"))
			if c.held {
				over(t, err, quota.OpenTasks, 1)
			} else {
				must(t, err)
			}
		})
	}
	t.Run("a task that runs keeps its slot", func(t *testing.T) { // its send was done, and the reply lost
		o := open(t)
		q := o.quota(0, 1)
		v := o.spec("ada")
		place, err := q.Admit(t.Context(), v)
		must(t, err)
		stored, _, err := o.store.Create(t.Context(), v, v.CreatedAt)
		must(t, err)
		_, err = store.Update(t.Context(), o.store, stored, func(v task.Task) (task.Task, error) {
			return task.Claim(v, "me", time.Minute, o.clock.Now())
		})
		must(t, err)
		if place.Abandon(t.Context()) == nil {
			t.Error("a running task was given up")
		}
		_, err = q.Admit(t.Context(), o.spec("ada"))
		over(t, err, quota.OpenTasks, 1)
	})
}

// What the package's documentation says of its costs.
func TestCost(t *testing.T) {
	calls := func(o *office, do func()) map[string]int {
		before := o.faults.Counts()
		do()
		after := o.faults.Counts()
		for k, n := range before {
			if after[k] -= n; after[k] == 0 {
				delete(after, k)
			}
		}
		return after
	}
	o := open(t)
	q := o.quota(1000, 100)
	const creations = 2000
	took := calls(o, func() {
		for range creations {
			v, err := o.create(t.Context(), q, o.spec("ada"))
			must(t, err)
			must(t, o.end(t.Context(), v))
			o.clock.Advance(time.Second)
		}
	})
	per := func(operation string) float64 { return float64(took["dynamodb/"+operation]) / creations }
	t.Logf("a creation takes %.2f counts, %.2f puts for its slot, %.2f deletes, %.3f looks", per("UpdateItem"), per("PutItem")-2, per("DeleteItem"), per("Query"))
	if per("UpdateItem") != 1 || per("PutItem")-2 > 1.25 || per("DeleteItem") > 1 || per("Query") > 0.05 || per("BatchGetItem") > 0.05 {
		t.Errorf("%v", took)
	}
	t.Run("a refused one reads, and frees nothing", func(t *testing.T) {
		o := open(t)
		q := o.quota(0, 10)
		for range 10 {
			_, err := o.create(t.Context(), q, o.spec("ada"))
			must(t, err)
		}
		took := calls(o, func() { _, _ = q.Admit(t.Context(), o.spec("ada")) })
		if took["dynamodb/PutItem"] != 2 || took["dynamodb/Query"] != 1 || took["dynamodb/BatchGetItem"] != 1 || len(took) != 3 {
			t.Errorf("%v", took)
		}
	})
	t.Run("one over its minute is one call", func(t *testing.T) {
		o := open(t)
		q := o.quota(1, 10)
		_, err := q.Admit(t.Context(), o.spec("ada"))
		must(t, err)
		took := calls(o, func() { _, _ = q.Admit(t.Context(), o.spec("ada")) })
		if took["dynamodb/UpdateItem"] != 1 || len(took) != 1 {
			t.Errorf("%v", took)
		}
	})
}

// A fault while slots are looked at refuses the creation, and nothing else.
func TestFaults(t *testing.T) {
	for _, operation := range []string{"PutItem", "Query", "BatchGetItem", "DeleteItem"} {
		for name, effect := range map[string]emulator.Effect{"failing": emulator.Fail, "with lost replies": emulator.Drop, "throttled": emulator.Throttle} {
			t.Run(operation+" "+name, func(t *testing.T) {
				o := open(t)
				q := o.quota(0, 3)
				var tasks []task.Task
				for range 3 {
					v, err := o.create(t.Context(), q, o.spec("ada"))
					must(t, err)
					tasks = append(tasks, v)
				}
				for _, v := range tasks {
					must(t, o.end(t.Context(), v))
				}
				o.faults.Inject(func(c emulator.Call) emulator.Effect {
					if c.Operation == operation {
						return effect
					}
					return emulator.Serve
				})
				_, err := q.Admit(t.Context(), o.spec("ada"))
				o.faults.Inject(nil)
				if e := (*quota.ExceededError)(nil); err == nil || errors.As(err, &e) {
					t.Fatalf("got %v", err)
				}
				o.clock.Advance(limits.CreationTime)
				for range 3 {
					_, err := o.create(t.Context(), q, o.spec("ada"))
					must(t, err)
				}
				_, err = q.Admit(t.Context(), o.spec("ada"))
				over(t, err, quota.OpenTasks, 3)
			})
		}
	}
}
