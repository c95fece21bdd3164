package worker

import (
	"context"
	"time"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/queue"
	"toolhost/pkg/task"
)

// bury answers a message that was received too often. A task that a worker
// still runs is left to it, with a message for after its lease; any other goes
// back to the queue, a bounded number of times, and is then failed (case 62).
func (w *Worker) bury(ctx context.Context, d delivery, t task.Task, verdict task.Verdict, delay time.Duration) (task.Task, error) {
	switch {
	case verdict == task.Cancel:
		return w.settle(ctx, t)
	case verdict == task.Exhaust:
		return w.fail(ctx, t, exhausted(t))
	case t.Leased(w.clock.Now()):
	case d.Redrives >= limits.MaxRedrives:
		return w.fail(ctx, t, jsonrpc.Errorf(jsonrpc.CodeInternal, "the process that was to run the tool died before it could begin, again and again"))
	default:
		d.Redrives++
	}
	return w.wake(ctx, d, t, queue.Redriven, delay)
}
