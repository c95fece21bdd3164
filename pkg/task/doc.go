// Package task is the whole state machine of a durable call, and nothing else:
// no I/O, no clock, no AWS, no JSON-RPC.
//
// Every event is one pure function (Task, …, now) → (Task, error). It checks
// the table of legal moves, leaves its argument untouched and returns the new
// state, which counts once a store has saved it against the revision that was
// loaded. An event that has nothing to do returns ErrNoChange; one that is not
// allowed returns an error of kind Illegal, and a worker whose lease is gone
// gets ErrNotHeld.
//
// Status is what clients see. Leases, sleep, the wait for a callback, retries
// and a requested cancel are fields of a working task, not further statuses.
package task
