package worker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"toolhost/pkg/auth"
	"toolhost/pkg/callback"
	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// run is one run of a claimed task's tool.
type run struct {
	w *Worker
	delivery
	tool    *tool.Tool
	holder  string
	task    task.Task // the newest that this worker knows
	started time.Time
	steps   *recorder

	mu       sync.Mutex
	progress string
}

// do runs the tool and writes back what happened. An error means that the
// message has to come back.
func (r *run) do(ctx context.Context) error {
	r.hide(ctx)
	call, err := r.call(ctx)
	if err == nil && !r.w.clock.Now().Before(r.task.Lease.Until) {
		// That took longer than the lease: another may have run the tool meanwhile.
		if err = r.save(ctx, r.renew); refused(err) {
			return r.leave(ctx)
		}
	}
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Invalid): // the tool never runs with less than it was given (case 6)
		return r.finish(ctx, tool.Outcome{
			Kind: tool.Broken, Error: jsonrpc.Errorf(jsonrpc.CodeInternal, "stored data of the task is gone, so its tool can't run"), Cause: err,
		}, nil)
	case err != nil:
		// Nothing has run: it costs no attempt, but the message's receive counts.
		// If this fails too, the lease ends by itself.
		ctx, cancel := lasting(ctx)
		defer cancel()
		return errors.Join(err, r.save(ctx, r.release))
	}
	outcome, why, ignored := r.execute(ctx, call)
	err = r.finish(ctx, outcome, why)
	if ignored {
		r.log.ErrorContext(ctx, "the tool ignored the end of its context", "tool", r.task.Tool)
		r.w.exit()
	}
	return err
}

// hide keeps the message from other workers as long as the lease does. Failing
// does no harm: whoever receives it too early replaces it.
func (r *run) hide(ctx context.Context) {
	if err := r.w.queue.Hide(ctx, r.receipt, r.w.visibility()); err != nil {
		r.log.WarnContext(ctx, "message not hidden", "error", err)
	}
}

// renew holds the task for one more lease.
func (r *run) renew(t task.Task, now time.Time) (task.Task, error) {
	return task.Renew(t, r.holder, r.w.lease, now)
}

// call loads all that the tool is given. fault.NotFound or Invalid if part of
// it is gone or unreadable.
func (r *run) call(ctx context.Context) (tool.Call, error) {
	t := r.task
	c := tool.Call{
		Name: t.Tool, TaskID: t.ID, Birth: t.Birth, Protocol: t.Protocol, Capabilities: t.Capabilities,
		Callbacks: map[string]json.RawMessage{}, Version: t.ToolVersion, Report: r.report, Now: r.w.clock.Now,
	}
	if mint := r.w.callback; mint != nil {
		c.Callback = func(name string) (url, token string) {
			return mint(callback.Callback{TaskID: t.ID, Birth: t.Birth, Name: name})
		}
	}
	var err error
	if c.Arguments, err = r.w.store.Payload(ctx, t, t.Arguments); err != nil {
		return c, err
	}
	if c.Prepared, err = r.w.store.Payload(ctx, t, t.Prepared); err != nil {
		return c, err
	}
	for _, in := range t.Inputs {
		response, err := r.w.store.Payload(ctx, t, in.Response)
		if err != nil {
			return c, err
		}
		c.Answers = append(c.Answers, tool.Answer{Key: in.Key, Method: in.Method, Response: response})
	}
	for _, arrived := range t.Callbacks {
		if c.Callbacks[arrived.Name], err = r.w.store.Payload(ctx, t, arrived.Body); err != nil {
			return c, err
		}
	}
	r.steps, err = newRecorder(ctx, r.w.store, t)
	c.Steps = r.steps
	return c, err
}

// report notes the tool's progress for the heartbeat.
func (r *run) report(p tool.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = describe(p)
}

// reported is the newest progress, "" if there is none.
func (r *run) reported() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress
}

// execute runs the tool, watched by a heartbeat, until it returns or has
// ignored the end of its context for the grace. why is the reason for which
// the context ended, nil if it did not.
func (r *run) execute(ctx context.Context, call tool.Call) (out tool.Outcome, why error, ignored bool) {
	until, reason, grace := r.deadline(ctx)
	run, end := context.WithCancelCause(caller(ctx, r.task.Owner))
	defer end(nil)
	beat := r.watch(ctx, end, until, reason)

	returned := make(chan tool.Outcome, 1)
	go func() {
		out := tool.Outcome{Kind: tool.Broken, Error: jsonrpc.Errorf(jsonrpc.CodeInternal, "the tool ended without an outcome")}
		defer func() {
			if p := recover(); p != nil {
				out.Cause = panicked(p)
			}
			returned <- out
		}()
		out = r.tool.Run(leg{run, time.Now().Add(until.Sub(r.started))}, call)
	}()
	select {
	case out = <-returned:
	case <-run.Done():
		over, stop := r.w.clock.After(grace)
		defer stop()
		select {
		case out = <-returned:
		case <-over:
			out, ignored = tool.Outcome{Kind: tool.Stopped}, true
		}
	}
	r.task = beat()
	return out, context.Cause(run), ignored
}

// caller is ctx with the task's owner as the caller: nothing of the request.
func caller(ctx context.Context, o task.Owner) context.Context {
	return auth.With(ctx, auth.Principal{Issuer: o.Issuer, Subject: o.Subject, Tenant: o.Tenant, Client: o.Client})
}

// leg is a run's context, which the heartbeat ends by the worker's clock, with
// its deadline told on the machine's.
type leg struct {
	context.Context
	deadline time.Time
}

// Deadline implements context.Context.
func (l leg) Deadline() (time.Time, bool) { return l.deadline, true }

// Why a run's context ended.
var (
	errCancel  = stopped("the task is being cancelled", context.Canceled)
	errLost    = stopped("the task is another worker's, or over", context.Canceled)
	errLeg     = stopped("this run is out of time", context.DeadlineExceeded)
	errTimeout = stopped("the tool ran longer than it may", context.DeadlineExceeded)
	errExpiry  = stopped("the task is about to expire", context.DeadlineExceeded)
)

func stopped(why string, err error) error {
	return &fault.Error{Kind: fault.Illegal, Op: "worker", Message: why, Err: err}
}

// deadline is when the run's context ends, why, and how long the tool may then
// take to return: the sooner of the function's time and the task's, both with
// room to save, or well past the tool's own limit.
func (r *run) deadline(ctx context.Context) (until time.Time, reason error, grace time.Duration) {
	now, expires := r.started, r.task.ExpiresAt()
	until, reason = expires.Add(-margin(limits.ExpiryMargin, expires.Sub(now))), errExpiry
	grace = limits.CancelGrace
	if function, has := ctx.Deadline(); has {
		left := time.Until(function)
		room := margin(limits.LegMargin, left)
		if at := now.Add(left - room); at.Before(until) {
			until, reason = at, errLeg
		}
		grace = min(grace, room/2)
	}
	// The tool's own limit is kept by the tool package; this is for a handler that ignores it.
	if limit := r.tool.Options().Timeout; limit > 0 && now.Add(limit+grace).Before(until) {
		until, reason = now.Add(limit+grace), errTimeout
	}
	return until, reason, grace
}

// margin is the room that is kept of a time: most, or a third if there is little.
func margin(most, of time.Duration) time.Duration { return min(most, max(of, 0)/3) }
