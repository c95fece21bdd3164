package store

import (
	"context"
	"time"

	"toolhost/pkg/task"
)

// Reservation is one of an owner's numbered slots, held by a task that is open or
// about to be made.
type Reservation struct {
	Slot          int
	TaskID, Birth string
	// At is the CreatedAt of the task, and Until its expiry as it was then: while a
	// task is open, its expiry does not move.
	At, Until time.Time
}

// Ledger keeps what is counted of callers, for pkg/quota. Its reads are strongly
// consistent, and its errors are those of a Store.
type Ledger interface {
	// Count adds a creation, named by its task's birth, to those of the owner in the
	// minute of now, and reports true; false, and nothing is added, if they are most
	// already. A count whose reply was lost and that is sent again counts once,
	// unless another came between.
	Count(ctx context.Context, o task.Owner, birth string, now time.Time, most int) (bool, error)

	// Reserve gives the owner's slot to r, and reports true; false if another holds
	// it whose Until is after now. It knows its own put again by Birth.
	Reserve(ctx context.Context, o task.Owner, r Reservation, now time.Time) (bool, error)

	// Reservations are all of the owner, in any order, expired ones too.
	Reservations(ctx context.Context, o task.Owner) ([]Reservation, error)

	// Release frees the slot that r holds. It is done, too, if r does not hold it
	// any more, whoever does.
	Release(ctx context.Context, o task.Owner, r Reservation) error
}
