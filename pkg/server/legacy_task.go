package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
)

// The tasks of 2025-11-25 (R-B3): the same tasks in that revision's own view.

// legacyView is a task as 2025-11-25 shows it: there a tool error is a failure.
func (s *Server) legacyView(ctx context.Context, t task.Task) (protocol.LegacyTask, error) {
	view := protocol.LegacyTask(protocol.ViewTask(t, s.clock.Now()))
	if t.Status != task.Completed {
		return view, nil
	}
	result, err := s.payload(ctx, t, t.Outcome)
	if err != nil {
		return view, err
	}
	if why, failed := failure(result); failed {
		view.Status, view.StatusMessage = task.Failed, clip(why)
	}
	return view, nil
}

// failure is the text of a tool error; false if the result is none.
func failure(result json.RawMessage) (text string, failed bool) {
	var r struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(result, &r) != nil || !r.IsError {
		return "", false
	}
	for _, c := range r.Content {
		if c.Text != "" {
			return c.Text, true
		}
	}
	return "the tool failed", true
}

func (s *Server) getLegacyTask(ctx context.Context, c *call) (any, error) {
	t, err := s.look(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.legacyView(ctx, t)
}

// cancelLegacyTask cancels a task for good: the answer says cancelled, and so
// does every later one, even if its tool is running and will finish. A terminal
// task is refused.
func (s *Server) cancelLegacyTask(ctx context.Context, c *call) (any, error) {
	t, err := s.find(ctx, c)
	if err != nil {
		return nil, err
	}
	t, err = store.Update(ctx, s.store, t, func(t task.Task) (task.Task, error) { return task.Revoke(t, s.clock.Now()) })
	if unchanged(err) {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Cannot cancel the task: it is %s", t.Status)
	}
	if err != nil {
		return nil, err
	}
	return s.legacyView(ctx, t)
}

// taskResult answers with what the task's call would have been answered with,
// and waits for it a while.
func (s *Server) taskResult(ctx context.Context, c *call) (any, error) {
	t, err := s.await(ctx, c)
	if err != nil {
		return nil, err
	}
	detail, err := s.detail(ctx, c.revision, t, s.clock.Now())
	if err != nil {
		return nil, err
	}
	switch {
	case t.Status == task.Completed:
		return legacyResult(detail.Result, c.revision, t.ID)
	case t.Status == task.Failed && detail.Error.Code == protocol.CodeMissingCapability: // R-B5
		return legacyResult(toolError(cannotAsk), c.revision, t.ID)
	case t.Status == task.Failed:
		return nil, byTool(detail.Error)
	case t.Status == task.Cancelled:
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "The task was cancelled: it has no result")
	}
	view, err := s.legacyView(ctx, t)
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{
		Code:    jsonrpc.CodeInternal,
		Message: fmt.Sprintf("The task is not over yet, but %s: ask tasks/get, or tasks/result again", t.Status),
		Data:    jsonrpc.Encode(protocol.LegacyCreateTaskResult{Task: view}),
	}
}

// await looks at the caller's task until it is terminal, or the time for that is
// up: at growing intervals, since each look is a read and the waiting itself is
// paid for.
func (s *Server) await(ctx context.Context, c *call) (task.Task, error) {
	until := s.clock.Now().Add(limits.ResultWait)
	waiting, cancel := s.withinMargin(ctx)
	defer cancel()
	for pause := resultPause; ; pause = min(2*pause, maxResultPause) {
		t, err := s.look(ctx, c)
		left := until.Sub(s.clock.Now())
		if err != nil || t.Status.Terminal() || left <= 0 || waiting.Err() != nil {
			return t, err
		}
		tick, stop := s.clock.After(min(pause, left))
		select {
		case <-tick:
		case <-waiting.Done():
			stop()
		}
		if ctx.Err() != nil {
			return t, fault.Wrap(fault.Internal, "server.await", ctx.Err())
		}
	}
}

const (
	resultPause    = 250 * time.Millisecond
	maxResultPause = 2 * time.Second
)
