package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/queue"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// act answers a message of the task queue.
func (w *Worker) act(ctx context.Context, d delivery, t task.Task, verdict task.Verdict, delay time.Duration) (task.Task, error) {
	switch verdict {
	case task.Replace:
		return w.wake(ctx, d, t, queue.Replaced, delay)
	case task.Cancel:
		return w.settle(ctx, t)
	case task.Exhaust:
		return w.fail(ctx, t, exhausted(t))
	}
	return w.start(ctx, d, t)
}

// start claims the task under a fresh random id, by which the worker knows its
// own claim again even if the reply to it was lost, and runs its tool. A task
// whose tool is not hosted here is failed instead.
func (w *Worker) start(ctx context.Context, d delivery, t task.Task) (task.Task, error) {
	hosted, ok := w.tools.Lookup(t.Tool)
	if !ok {
		return w.fail(ctx, t, jsonrpc.Errorf(jsonrpc.CodeInternal, "the tool %q is not hosted here any more", t.Tool))
	}
	holder := rand.Text()
	t, err := store.Update(ctx, w.store, t, func(t task.Task) (task.Task, error) {
		claimed, err := task.Claim(t, holder, w.lease, w.clock.Now())
		if err != nil {
			return t, err
		}
		return task.Adopt(claimed, hosted.Options().Version), nil
	})
	if err != nil && !(errors.Is(err, task.ErrNoChange) && t.HeldBy(holder)) {
		return t, err
	}
	d.log = d.log.With("run", t.Lease.Run)
	r := &run{w: w, delivery: d, tool: hosted, holder: holder, task: t, started: w.clock.Now()}
	if err = r.do(ctx); err != nil {
		// Internal, whatever it was: the message is to come back, not to be judged anew.
		return r.task, fault.Wrap(fault.Internal, "worker.run", err)
	}
	return r.task, nil
}
