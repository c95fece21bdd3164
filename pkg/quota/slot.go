package quota

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"toolhost/pkg/limits"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

const (
	// guesses is how many slots are tried before all are looked at.
	guesses = 2
	// parallel is how many slots are freed at once.
	parallel = 8
)

// Place is what an admitted task holds of its owner's quota; the zero Place is
// nothing.
type Place struct {
	quota *Quota
	task  task.Task
	held  store.Reservation
}

// reserve takes one of the owner's slots.
func (q *Quota) reserve(ctx context.Context, t task.Task) (Place, error) {
	slots := mathrand.Perm(q.OpenTasks) // #nosec G404 -- which slot is no secret
	p, err := q.takeOne(ctx, t, slots[:min(guesses, len(slots))])
	if err != nil || p.quota != nil {
		return p, err
	}
	taken, err := q.sweep(ctx, t.Owner)
	if err != nil {
		return Place{}, err
	}
	var free []int
	for _, slot := range slots {
		if !taken[slot] {
			free = append(free, slot)
		}
	}
	p, err = q.takeOne(ctx, t, free)
	if err == nil && p.quota == nil {
		err = &ExceededError{Limit: OpenTasks, Max: q.OpenTasks}
	}
	return p, err
}

// takeOne takes the first of the slots that can be had; the zero Place if none can.
func (q *Quota) takeOne(ctx context.Context, t task.Task, slots []int) (Place, error) {
	r := store.Reservation{TaskID: t.ID, Birth: t.Birth, At: t.CreatedAt, Until: t.ExpiresAt()}
	for _, r.Slot = range slots {
		got, err := q.Ledger.Reserve(ctx, t.Owner, r, t.CreatedAt)
		if err != nil {
			return Place{}, err
		}
		if got {
			return Place{q, t, r}, nil
		}
	}
	return Place{}, nil
}

// sweep frees the slots of tasks that are over, and returns those that are taken.
func (q *Quota) sweep(ctx context.Context, o task.Owner) (taken map[int]bool, err error) {
	all, err := q.Ledger.Reservations(ctx, o)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.TaskID
	}
	tasks, err := q.Store.LoadMany(ctx, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]task.Task, len(tasks))
	for _, t := range tasks {
		byID[t.ID] = t
	}
	freed, now := make([]bool, len(all)), q.Clock.Now()
	each, eachCtx := errgroup.WithContext(ctx)
	each.SetLimit(parallel)
	for i, r := range all {
		t, found := byID[r.TaskID]
		if found && t.Birth == r.Birth && open(t, now) {
			continue
		}
		each.Go(func() (err error) {
			// Another's item keeps r's out if it lives at r.At, as the put will say.
			over := found && (t.Birth == r.Birth || t.ExpiresAt().After(r.At))
			if !over && !now.Before(r.At.Add(limits.CreationTime)) {
				_, over, err = q.fence(eachCtx, r, now)
			}
			if over && err == nil {
				freed[i], err = true, q.Ledger.Release(eachCtx, o, r)
			}
			return err
		})
	}
	if err := each.Wait(); err != nil {
		return nil, err
	}
	taken = map[int]bool{}
	for i, r := range all {
		taken[r.Slot] = !freed[i]
	}
	return taken, nil
}

// open reports whether the task counts.
func open(t task.Task, now time.Time) bool { return !t.Status.Terminal() && !t.Expired(now) }

// fence makes sure that the task of a reservation is not put from now on, and
// reports whether it is over; if it is not, it was put before and is returned.
func (q *Quota) fence(ctx context.Context, r store.Reservation, now time.Time) (put task.Task, over bool, err error) {
	f := task.Task{ID: r.TaskID, Birth: rand.Text(), Status: task.Cancelled, CreatedAt: r.At, TTL: time.Millisecond}
	stored, fenced, err := q.Store.Create(ctx, f, now)
	return stored, fenced || stored.Birth != r.Birth || !open(stored, now), err
}

// Fenced reports whether a task that was found under the id of a new one only
// keeps it out: its creation took so long that its slot was given away.
func Fenced(t task.Task) bool { return t.Tool == "" }

// problem is how a task ends whose creation failed. Nobody has its id.
const problem = "The call could not be queued"

// Abandon gives up a creation that failed, wherever it did: its task is not put
// any more, or is failed, and its slot is free. A task with an idempotency key that
// was put stays, and keeps its slot: the call is repeated, and goes on with it.
func (p Place) Abandon(ctx context.Context) error {
	if p.quota == nil {
		return nil
	}
	now := p.quota.Clock.Now()
	put, over, err := p.quota.fence(ctx, p.held, now)
	if err == nil && !over {
		if p.task.Fingerprint != "" {
			return nil
		}
		_, err = store.Update(ctx, p.quota.Store, put, func(t task.Task) (task.Task, error) {
			return task.Fail(t, "", task.NewPayload([]byte(`{"code":-32603,"message":"`+problem+`"}`)), problem, now)
		})
	}
	if err != nil {
		return err
	}
	return p.Release(ctx)
}

// Release frees the slot of a task that was not put and will not be: another has
// its id.
func (p Place) Release(ctx context.Context) error {
	if p.quota == nil {
		return nil
	}
	return p.quota.Ledger.Release(ctx, p.task.Owner, p.held)
}
