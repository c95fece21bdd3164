package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
	"toolhost/pkg/queue"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// event is what happens to a task at the end of a run.
type event func(t task.Task, now time.Time) (task.Task, error)

// finish saves what the run came to, and then sends the wake-up that the task
// needs. Only after both may the message go: an error brings it back
// (invariant 2).
func (r *run) finish(ctx context.Context, out tool.Outcome, why error) error {
	ctx, cancel := lasting(ctx)
	defer cancel()
	if size := protocol.WireSize(out.Result); out.Kind == tool.Done && r.w.maxResult > 0 && size > r.w.maxResult {
		out.Result, out.ToolError = tool.ErrorResult(fmt.Sprintf("The result has %d bytes; the limit is %d.", size, r.w.maxResult)), true
	}
	event, cause := r.event(out, why)
	err := why
	if !errors.Is(why, errLost) {
		err = r.save(ctx, event)
		if unfit(err) && r.task.HeldBy(r.holder) {
			err = r.save(ctx, r.fail(jsonrpc.Errorf(jsonrpc.CodeInternal, "the outcome of the tool can't be kept: %s", fault.Message(err))))
		}
	}
	r.tell(ctx, out, why, err)
	switch {
	case err == nil && r.task.Status == task.Working && !r.task.Parked():
		r.Redrives = 0 // it came as far as this
		r.task, err = r.w.wake(ctx, r.delivery, r.task, cause, r.task.WakeAt.Sub(r.w.clock.Now()))
		return err
	case refused(err):
		return r.leave(ctx)
	}
	return err
}

// tell logs the end of the run.
func (r *run) tell(ctx context.Context, out tool.Outcome, why, err error) {
	level, log := slog.LevelInfo, r.log.With("tool", r.task.Tool, "outcome", outcomes[out.Kind], "status", r.task.Status,
		"attempts", r.task.Attempts, "took", r.w.clock.Now().Sub(r.started))
	if why != nil {
		log = log.With("stopped", why)
	}
	if out.Cause != nil {
		level, log = slog.LevelWarn, log.With("failure", out.Cause)
	}
	if err != nil {
		level, log = slog.LevelWarn, log.With("error", err)
	}
	log.Log(ctx, level, "run ended")
}

var outcomes = map[tool.Kind]string{tool.Done: "done", tool.Broken: "broken", tool.Lacks: "lacks", tool.Asked: "asked",
	tool.Slept: "slept", tool.Awaits: "awaits", tool.Again: "again", tool.Stopped: "stopped"}

// leave is the end of a run whose task is another's or over. Nothing is saved;
// the message is let go if the task needs none, and else comes back to be
// judged by what the task is then.
func (r *run) leave(ctx context.Context) error {
	t, err := r.w.store.Load(ctx, r.TaskID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	r.task = t
	if verdict, _ := task.Judge(t, err == nil, r.Birth, r.w.clock.Now()); verdict != task.Drop {
		return fault.New(fault.Conflict, "worker.leave", "another worker took the task over")
	}
	return nil
}

// save makes an event of the held task durable, on the newest revision (case 60).
func (r *run) save(ctx context.Context, event event) error {
	t, err := store.Update(ctx, r.w.store, r.task, func(t task.Task) (task.Task, error) {
		if r.steps.tried() {
			t = task.Record(t)
		}
		return event(t, r.w.clock.Now())
	})
	r.task = t
	return err
}

// unfit reports whether an outcome can never be saved as it is.
func unfit(err error) bool {
	return fault.Is(err, fault.TooLarge) || fault.Is(err, fault.Invalid) || fault.Is(err, fault.Illegal)
}

// event is the table of design.md §4, with the cause of the wake-up that follows.
func (r *run) event(out tool.Outcome, why error) (event, queue.Cause) {
	switch out.Kind {
	case tool.Done:
		return func(t task.Task, now time.Time) (task.Task, error) {
			return task.Complete(t, r.holder, task.NewPayload(out.Result), now)
		}, ""
	case tool.Broken:
		return r.fail(protocol.ToolError(out.Error)), ""
	case tool.Lacks:
		return r.fail(protocol.MissingCapability(out.Required)), ""
	case tool.Asked:
		questions := make([]task.Input, len(out.Questions))
		for i, q := range out.Questions {
			questions[i] = task.Input{Key: q.Key, Method: q.Method, Params: task.NewPayload(q.Params)}
		}
		return func(t task.Task, now time.Time) (task.Task, error) {
			return task.Ask(t, r.holder, questions, now)
		}, ""
	case tool.Slept:
		return r.stop(func(t task.Task, now time.Time) (task.Task, error) {
			return task.Sleep(t, r.holder, out.WakeAt, now)
		}), queue.Slept
	case tool.Awaits:
		return r.stop(func(t task.Task, now time.Time) (task.Task, error) {
			return task.AwaitCallback(t, r.holder, out.Callback, now)
		}), queue.Resolved
	case tool.Again:
		return r.retry(backoff(out.After, r.task.Attempts), "the tool gave up after its last attempt", out.Cause), queue.Retried
	}
	return r.stopped(why)
}

// stopped is what happens to a task whose tool was stopped.
func (r *run) stopped(why error) (event, queue.Cause) {
	switch {
	case errors.Is(why, errCancel):
		return func(t task.Task, now time.Time) (task.Task, error) { return task.Settle(t, r.holder, now) }, ""
	case errors.Is(why, errExpiry):
		return r.fail(jsonrpc.Errorf(jsonrpc.CodeInternal, "the task ran to the end of its time to live of %v", r.task.TTL)), ""
	case errors.Is(why, errTimeout):
		return r.fail(jsonrpc.Errorf(jsonrpc.CodeInternal, "the tool ran longer than its limit of %v", r.tool.Options().Timeout)), ""
	case errors.Is(why, errLeg) && !r.steps.progressed() && !r.tool.Options().Rerun:
		return r.retry(r.w.visibility(), "the tool ran out of time and recorded no step", nil), queue.Retried
	}
	// The next leg, or another process where this one shuts down.
	return r.stop(r.release), queue.Leg
}

// release lets the task go on at once.
func (r *run) release(t task.Task, now time.Time) (task.Task, error) {
	return task.Release(t, r.holder, time.Time{}, false, now)
}

// stop is an orderly stop that shows the last progress in the same write.
func (r *run) stop(e event) event {
	return func(t task.Task, now time.Time) (task.Task, error) {
		if progress := r.reported(); progress != "" {
			if told, err := task.Report(t, r.holder, progress, now); err == nil {
				t = told
			}
		}
		return e(t, now)
	}
}

// fail ends the task with a problem, or as cancelled if that was asked for: a
// tool that was told to stop may well fail.
func (r *run) fail(problem *jsonrpc.Error) event {
	return func(t task.Task, now time.Time) (task.Task, error) {
		if t.CancelRequested {
			return task.Settle(t, r.holder, now)
		}
		message := problem.Message
		if message == "" { // a tool's own error may have none; the client is told all the same (R-G4)
			message = fmt.Sprintf("the tool failed with the error %d", problem.Code)
		}
		return task.Fail(t, r.holder, task.NewPayload(jsonrpc.Encode(problem)), message, now)
	}
}

// retry lets the task go on after a while, at the cost of an attempt, or fails
// it for the reason if that was the last. cause belongs to the reason if it is
// the tool's own error, and is for the log alone if it is ours (R-V4).
func (r *run) retry(after time.Duration, reason string, cause error) event {
	if ours := (*fault.Error)(nil); cause != nil && !errors.As(cause, &ours) {
		reason += ": " + cause.Error()
	}
	fail := r.fail(jsonrpc.Errorf(jsonrpc.CodeInternal, "%s", reason))
	return func(t task.Task, now time.Time) (task.Task, error) {
		if t.LastAttempt() {
			return fail(t, now)
		}
		return task.Release(t, r.holder, now.Add(after), true, now)
	}
}

// backoff is how long a retry waits: what the tool asked for, or a second
// doubled with each attempt up to a minute; and up to half as much again, so
// that tasks that failed together do not come back together.
func backoff(after time.Duration, attempts int) time.Duration {
	if after <= 0 {
		after = min(time.Second<<min(attempts, 6), time.Minute)
	}
	return after + rand.N(after/2+1) // #nosec G404 -- jitter is no secret
}
