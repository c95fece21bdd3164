package server

import (
	"context"
	"errors"
	"maps"
	"slices"

	"toolhost/pkg/fault"
	"toolhost/pkg/protocol"
	"toolhost/pkg/queue"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

var acknowledged = protocol.Acknowledgement{ResultType: protocol.ResultComplete}

// updateTask stores answers to open questions: save, then send, then
// acknowledge. Keys that are not open are ignored (R-U2); an answer that does
// not fit its question refuses the whole update (R-U7).
func (s *Server) updateTask(ctx context.Context, c *call) (any, error) {
	responses, err := s.responses(c, true)
	if err != nil {
		return nil, err
	}
	t, err := s.find(ctx, c)
	if err != nil {
		return nil, err
	}
	ctx, done := lasting(ctx)
	defer done()
	now := s.clock.Now()
	saved, err := store.Update(ctx, s.store, t, func(t task.Task) (task.Task, error) {
		payloads := map[string]task.Payload{}
		for _, in := range t.Outstanding() {
			response, given := responses[in.Key]
			if !given {
				continue
			}
			if err := s.checkAnswer(in.Key, in.Method, response); err != nil {
				return t, err
			}
			payloads[in.Key] = task.NewPayload(response)
		}
		return task.Answer(t, payloads, now)
	})
	switch {
	case err == nil:
		if saved.Status != task.Working {
			return acknowledged, nil // others are still open (R-U3)
		}
	case unchanged(err):
		// An answer that no worker has seen yet may be repeated because the update
		// died before it sent the wake-up (invariant 2).
		if !saved.Undelivered(slices.Collect(maps.Keys(responses)), now) {
			return acknowledged, nil
		}
	default:
		return nil, err
	}
	if err := s.wake(ctx, saved, queue.Answered); err != nil {
		return nil, err
	}
	return acknowledged, nil
}

// unchanged reports whether an event met a task that it has nothing to do with.
func unchanged(err error) bool {
	return errors.Is(err, task.ErrNoChange) || fault.Is(err, fault.Illegal)
}
