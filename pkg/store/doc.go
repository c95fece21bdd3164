// Package store says what Toolhost asks of a database: to keep tasks so that
// every change is made by one writer (invariant 3) and read back at once.
//
// A Store keeps tasks, a Ledger what is counted of callers, for pkg/quota. Both
// are promises alone: nothing here reaches a database.
//
// dynamostore is the implementation that ships, storetest the suite that every
// implementation passes.
//
//	t, created, err := s.Create(ctx, task.Create(spec, now), now)
//	t, err = store.Update(ctx, s, t, func(t task.Task) (task.Task, error) { return task.RequestCancel(t, now) })
package store
