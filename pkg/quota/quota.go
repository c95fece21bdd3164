package quota

import (
	"context"
	"fmt"
	"time"

	"toolhost/pkg/clock"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// Limit names a limit to clients.
type Limit string

// The limits.
const (
	Creations Limit = "creationsPerMinute"
	OpenTasks Limit = "openTasks"
)

// Options are what a Quota is made of. All but the limits are needed.
type Options struct {
	Ledger store.Ledger
	Store  store.Store
	Clock  clock.Clock
	// Creations is how many tasks a caller may make in a minute, OpenTasks how many
	// it may have that are not terminal; 0: any.
	Creations, OpenTasks int
}

// Quota admits creations. It is safe for concurrent use, and holds no state: any
// number of processes may share a ledger.
type Quota struct{ Options }

// New makes a Quota. Without limits it is nil, which admits everything.
func New(o Options) *Quota {
	if o.Creations == 0 && o.OpenTasks == 0 {
		return nil
	}
	return &Quota{o}
}

// ExceededError refuses a creation. Its text is for the caller.
type ExceededError struct {
	Limit Limit
	Max   int
	// RetryAfter is when there is room again; zero if that can't be known.
	RetryAfter time.Duration
}

func (e *ExceededError) Error() string {
	if e.Limit == Creations {
		return fmt.Sprintf("Too many tasks in this minute: the limit is %d a minute. Try again in %d s", e.Max, (e.RetryAfter+time.Second-1)/time.Second)
	}
	return fmt.Sprintf("Too many open tasks: the limit is %d. Wait until one of them has ended, or cancel one", e.Max)
}

// Admit counts the creation of a new task, and takes a slot for it. Only then may
// it be put, at the time of its CreatedAt. An *ExceededError refuses it.
func (q *Quota) Admit(ctx context.Context, t task.Task) (Place, error) {
	if q == nil {
		return Place{}, nil
	}
	if q.Creations > 0 {
		counted, err := q.Ledger.Count(ctx, t.Owner, t.Birth, t.CreatedAt, q.Creations)
		if err != nil {
			return Place{}, err
		}
		if !counted {
			next := t.CreatedAt.Truncate(time.Minute).Add(time.Minute)
			return Place{}, &ExceededError{Creations, q.Creations, next.Sub(t.CreatedAt)}
		}
	}
	if q.OpenTasks > 0 {
		return q.reserve(ctx, t)
	}
	return Place{}, nil
}
