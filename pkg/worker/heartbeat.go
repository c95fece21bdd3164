package worker

import (
	"context"
	"errors"
	"strconv"
	"time"

	"toolhost/pkg/limits"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// heartbeat watches over a run: it learns of a cancel, renews the lease, shows
// progress, and ends the run's context when there is a reason.
type heartbeat struct {
	*run
	end     context.CancelCauseFunc
	seen    time.Time // when the item was last read or written
	renewed time.Time
	shown   string // the progress that was last written
}

// watch starts the heartbeat. The returned function stops it and hands back the
// newest task that it saw.
func (r *run) watch(ctx context.Context, end context.CancelCauseFunc, until time.Time, reason error) (stop func() task.Task) {
	h := &heartbeat{run: r, end: end, seen: r.started, renewed: r.started}
	ctx, cancel := context.WithCancel(ctx)
	newest := make(chan task.Task, 1)
	deadline, free := r.w.clock.After(until.Sub(r.started))
	t := r.task
	go func() {
		defer free()
		// A short run is left alone.
		for wait := limits.CancelPoll; ; wait = limits.ReportEvery {
			tick, free := r.w.clock.After(wait)
			select {
			case <-tick:
				t = h.beat(ctx, t)
			case <-deadline:
				end(reason)
			case <-ctx.Done():
				free()
				newest <- t
				return
			}
			free()
		}
	}()
	return func() task.Task {
		cancel()
		return <-newest
	}
}

// beat writes if the lease or new progress asks for it, and else reads if it
// has not heard of the item for a while: a write on the known revision tells as
// much as a read.
func (h *heartbeat) beat(ctx context.Context, t task.Task) task.Task {
	now, progress := h.w.clock.Now(), h.reported()
	renew, show := !now.Before(h.renewed.Add(h.w.lease/3)), progress != h.shown
	var met task.Task
	var err error
	switch {
	case renew, show:
		met, err = store.Update(ctx, h.w.store, t, func(t task.Task) (task.Task, error) {
			return h.keep(t, renew, show, progress, now)
		})
	case !now.Before(h.seen.Add(limits.CancelPoll)):
		met, err = h.w.store.Load(ctx, t.ID)
	default:
		return t
	}
	switch {
	case ctx.Err() != nil: // the run has ended; its own save meets the truth
		return t
	case errors.Is(err, task.ErrNoChange): // shown already
		h.shown = progress
		return t
	case err != nil && !refused(err):
		h.log.WarnContext(ctx, "heartbeat failed", "error", err)
		if now.Before(t.Lease.Until) {
			return t
		}
		h.end(errLost)
		return t
	case err != nil, met.Birth != t.Birth, !met.HeldBy(h.holder), met.Expired(now):
		h.end(errLost)
		return t
	}
	h.seen = now
	if show {
		h.shown = progress
	}
	if renew {
		h.renewed = now
		h.hide(ctx)
	}
	if met.CancelRequested {
		h.end(errCancel)
	}
	return met
}

// keep renews the lease and shows progress, whichever is due, in one write.
func (h *heartbeat) keep(t task.Task, renew, show bool, progress string, now time.Time) (task.Task, error) {
	err := error(task.ErrNoChange)
	if show {
		if t, err = task.Report(t, h.holder, progress, now); err != nil && !errors.Is(err, task.ErrNoChange) {
			return t, err
		}
	}
	if renew {
		return task.Renew(t, h.holder, h.w.lease, now)
	}
	return t, err
}

// describe is a progress as a status message: "12 of 40", "12 of 40: reading
// files" or, of a tool that counts nothing, its words alone.
func describe(p tool.Progress) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	count := number(p.Done)
	switch {
	case p.Total > 0:
		count += " of " + number(p.Total)
	case p.Done == 0 && p.Message != "":
		return p.Message
	}
	if p.Message == "" {
		return count
	}
	return count + ": " + p.Message
}
