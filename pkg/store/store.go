package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/task"
)

// Step is a recorded step of a task: written once, never changed.
type Step struct {
	Name  string
	Value task.Payload
}

// Store keeps tasks, their payloads and their steps. All reads of tasks are
// strongly consistent. Errors are *fault.Error: NotFound, Conflict, TooLarge,
// Busy (throttled past the driver's retries), Internal.
type Store interface {
	// Create puts a new task at revision 1 unless its ID is taken by a task that
	// has not expired at now; then it returns that one and created false. It knows
	// its own put again by Birth, so that a lost reply does no harm.
	Create(ctx context.Context, t task.Task, now time.Time) (stored task.Task, created bool, err error)

	// Load reads a task, expired or not; fault.NotFound if there is none.
	Load(ctx context.Context, id string) (task.Task, error)

	// LoadMany reads several tasks at once, expired or not, in any order and each
	// once. Those that are not there are missing from the answer.
	LoadMany(ctx context.Context, ids []string) ([]task.Task, error)

	// Save writes the whole task on condition that the stored one still has its
	// birth and revision, and returns it at the next revision, with its large
	// payloads moved to blobs. A failed condition returns *ConflictError with the
	// stored task, or NotFound if it is gone; a save whose reply was lost and that
	// was sent again counts as done.
	Save(ctx context.Context, t task.Task) (task.Task, error)

	// Payload returns the JSON of one of the task's payloads, nil if absent.
	// fault.NotFound if its blob is gone.
	Payload(ctx context.Context, t task.Task, p task.Payload) (json.RawMessage, error)

	// Steps returns what the task's steps recorded, in order of name.
	Steps(ctx context.Context, t task.Task) ([]Step, error)

	// PutStep records a step unless it is recorded already, and returns what is
	// stored: of two writers the second adopts the first one's value.
	PutStep(ctx context.Context, t task.Task, s Step) (Step, error)
}

// ConflictError is a failed condition, with what is stored instead.
type ConflictError struct{ Current task.Task }

func (e *ConflictError) Error() string { return "store: the task was changed by another writer" }

// Unwrap makes fault.KindOf say Conflict.
func (e *ConflictError) Unwrap() error { return conflict }

var conflict = fault.New(fault.Conflict, "store.Save", "the task was changed by another writer")

// rounds bounds how often Update tries against other writers.
const rounds = 20

// Update applies a transition and saves it. When another writer was faster it
// applies the transition to the newer task and tries again, so the transition
// itself decides whether it still may happen. If the transition returns an
// error (task.ErrNoChange, too) nothing is written, and the task it met comes
// back with the error.
func Update(ctx context.Context, s Store, t task.Task, change func(task.Task) (task.Task, error)) (task.Task, error) {
	birth := t.Birth
	for range rounds {
		next, err := change(t)
		if err != nil {
			return t, err
		}
		saved, err := s.Save(ctx, next)
		if err == nil {
			return saved, nil
		}
		var c *ConflictError
		if !errors.As(err, &c) {
			return t, err
		}
		if t = c.Current; t.Birth != birth {
			return t, fault.New(fault.NotFound, "store.Update", "the task is gone")
		}
	}
	return t, fault.New(fault.Busy, "store.Update", "too many writers at once")
}
