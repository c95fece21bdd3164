package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
	"toolhost/pkg/queue"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// errUnknownTask is the one answer for a task that is unknown, malformed, gone,
// expired, or another's (R-G7).
var errUnknownTask = jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Unknown task")

// maxTaskID is longer than any id that was ever made here.
const maxTaskID = 128

// find loads the caller's task that params.taskId names.
func (s *Server) find(ctx context.Context, c *call) (task.Task, error) {
	id, err := c.text("taskId")
	if err != nil {
		return task.Task{}, err
	}
	if id == "" || len(id) > maxTaskID {
		return task.Task{}, errUnknownTask
	}
	t, err := s.store.Load(ctx, id)
	switch {
	case err != nil:
		return t, err
	case t.Owner != c.owner, t.Expired(s.clock.Now()): // R-V1, R-G8
		return t, errUnknownTask
	}
	return t, nil
}

// look is find for a reader, who may not come too often, and wakes a task that
// needs it.
func (s *Server) look(ctx context.Context, c *call) (task.Task, error) {
	if id, err := c.text("taskId"); err == nil && len(id) <= maxTaskID && !s.manners.admit(c.owner, id, s.clock.Now()) {
		return task.Task{}, s.manners.tooOften()
	}
	t, err := s.find(ctx, c)
	if err == nil {
		s.nudge(ctx, t, s.clock.Now())
	}
	return t, err
}

// getTask shows a task: one consistent read, and the payloads of its status.
func (s *Server) getTask(ctx context.Context, c *call) (any, error) {
	t, err := s.look(ctx, c)
	if err != nil {
		return nil, err
	}
	view, err := s.detail(ctx, c.revision, t, s.clock.Now())
	if err != nil {
		return nil, err
	}
	return protocol.GetTaskResult{ResultType: protocol.ResultComplete, DetailedTask: view}, nil
}

// nudge wakes a task whose wake-up was lost (invariant 2). Of several readers
// one wins the save and sends. What goes wrong here is no matter of the reader's.
func (s *Server) nudge(ctx context.Context, t task.Task, now time.Time) {
	if !t.Overdue(now) {
		return
	}
	ctx, done := lasting(ctx)
	defer done()
	saved, err := store.Update(ctx, s.store, t, func(t task.Task) (task.Task, error) { return task.Nudge(t, now) })
	if unchanged(err) {
		return
	}
	if err == nil {
		err = s.wake(ctx, saved, queue.Overdue)
	}
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelError, "an overdue task could not be woken", slog.String("task", t.ID), slog.String("error", err.Error()))
	}
}

// detail is the task with what its status adds (R-G1 to R-G5).
func (s *Server) detail(ctx context.Context, revision string, t task.Task, now time.Time) (protocol.DetailedTask, error) {
	view := protocol.DetailedTask{Task: protocol.ViewTask(t, now)}
	switch t.Status {
	case task.InputRequired:
		for _, in := range t.Outstanding() {
			params, err := s.payload(ctx, t, in.Params)
			if err != nil {
				return view, err
			}
			view.InputRequests = append(view.InputRequests, protocol.InputRequest{Key: in.Key, Method: in.Method, Params: params})
		}
	case task.Completed:
		result, err := s.payload(ctx, t, t.Outcome)
		if err != nil {
			return view, err
		}
		if view.Result, err = protocol.Stamp(result, s.info); err != nil {
			return view, fault.Wrap(fault.Internal, "server.detail", err)
		}
	case task.Failed:
		raw, err := s.payload(ctx, t, t.Outcome)
		if err != nil {
			return view, err
		}
		var e jsonrpc.Error
		if err := json.Unmarshal(raw, &e); err != nil {
			return view, fault.Wrap(fault.Internal, "server.detail", err)
		}
		view.Error = protocol.StoredError(revision, &e)
	}
	return view, nil
}

// payload reads one of a task's payloads. That it is gone while its task is not
// is a defect of ours, not an unknown task.
func (s *Server) payload(ctx context.Context, t task.Task, p task.Payload) (json.RawMessage, error) {
	raw, err := s.store.Payload(ctx, t, p)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.Wrap(fault.Internal, "server.payload", err)
	}
	return raw, err
}
