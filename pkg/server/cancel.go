package server

import (
	"context"

	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// cancelTask cancels a task that nobody runs, and asks the running tool of any
// other to stop. A terminal task stays what it is (R-X1, R-X2).
func (s *Server) cancelTask(ctx context.Context, c *call) (any, error) {
	t, err := s.find(ctx, c)
	if err != nil {
		return nil, err
	}
	_, err = store.Update(ctx, s.store, t, func(t task.Task) (task.Task, error) {
		return task.RequestCancel(t, s.clock.Now())
	})
	if err != nil && !unchanged(err) {
		return nil, err
	}
	return acknowledged, nil
}
