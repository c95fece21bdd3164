package server

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"toolhost/pkg/fault"
	"toolhost/pkg/protocol"
	"toolhost/pkg/queue"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// createTask makes a durable task of the call: put, then send, then answer. The
// id leaves the server only after both have succeeded (R-C1, R-C2, invariant 1);
// an item whose message could not be sent is known to nobody, and expires. If the
// same idempotent call has made its task already, that is the answer.
func (s *Server) createTask(ctx context.Context, c *call, t *tool.Tool, who identity, arguments, prepared json.RawMessage) (any, error) {
	birth, err := uuid.NewRandom()
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "server.createTask", err)
	}
	now, o := s.clock.Now(), t.Options()
	ttl, retention := c.lifetime(o)
	spec := task.Spec{
		ID: who.id, Fingerprint: who.fingerprint, Birth: birth.String(), Owner: c.owner,
		Tool: t.Name(), ToolVersion: o.Version, Arguments: task.NewPayload(arguments),
		Capabilities: c.client.Raw, Protocol: c.revision, Trace: c.meta.Trace,
		TTL: ttl, Retention: retention, PollInterval: o.PollInterval, MaxPollInterval: o.MaxPollInterval,
		MaxAttempts: o.Attempts,
	}
	if prepared != nil {
		spec.Prepared = task.NewPayload(prepared)
	}
	made := task.Create(spec, now)
	place, answer, err := s.withinQuota(ctx, c, who, made)
	if answer != nil || err != nil {
		return answer, err
	}
	stored, created, err := s.store.Create(ctx, made, now)
	if err != nil {
		s.tidy(ctx, place.Abandon)
		return nil, err
	}
	if !created {
		s.tidy(ctx, place.Release)
		return s.again(ctx, c, who, stored)
	}
	if err := s.wake(ctx, stored, queue.Created); err != nil {
		s.tidy(ctx, place.Abandon)
		return nil, err
	}
	return s.created(ctx, c, stored)
}

// created is the answer to a call that is a task.
func (s *Server) created(ctx context.Context, c *call, t task.Task) (any, error) {
	if c.legacy {
		view, err := s.legacyView(ctx, t)
		return protocol.LegacyCreateTaskResult{Task: view}, err
	}
	return protocol.CreateTaskResult{ResultType: protocol.ResultTask, Task: protocol.ViewTask(t, s.clock.Now())}, nil
}

// wake sends a message that lets a worker look at the task at once. Callers
// share the queue fairly, each in a group of its own.
func (s *Server) wake(ctx context.Context, t task.Task, cause queue.Cause) error {
	return s.queue.Send(ctx,
		queue.Message{TaskID: t.ID, Birth: t.Birth, Cause: cause, Trace: t.Trace},
		queue.Delivery{Group: t.Owner.Group()})
}
