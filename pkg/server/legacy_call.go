package server

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/tool"
)

// callLegacyTool is callTool in the shapes of the client's revision. A call that
// asked to be a task and ended before it could become one is an error: its client
// expects nothing but a task.
func (s *Server) callLegacyTool(ctx context.Context, c *call) (any, error) {
	answer, err := s.callTool(ctx, c)
	result, isResult := answer.(json.RawMessage)
	if err != nil || !isResult {
		return answer, err
	}
	if c.task != nil {
		why, _ := failure(result)
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%s", why)
	}
	return legacyResult(result, c.revision, "")
}

// legacyResult is a tool's result as the revision knows it.
func legacyResult(result json.RawMessage, revision, taskID string) (any, error) {
	shown, err := protocol.LegacyResult(result, revision, taskID)
	return shown, fault.Wrap(fault.Internal, "server.legacyResult", err)
}

// cannotAsk is what a legacy client is told whose tool must ask: nothing could
// take its answer to the process that waits for it (R-B5).
const cannotAsk = "This tool has to ask something before it can go on, and this server can ask only clients of MCP 2026-07-28 or later."

// hasLegacyTasks reports whether the client's revision has the tasks of
// 2025-11-25 (R-B3).
func (c *call) hasLegacyTasks() bool { return c.legacy && c.revision >= protocol.Revision20251125 }

// taskParam is params.task of a call that asks to be a task.
type taskParam struct {
	ttl time.Duration // zero: none was asked for
}

// leastTTL leaves a task with a short TTL the time to run and to be read.
const leastTTL = 2 * limits.ExpiryMargin

// legacyDurable reports whether the client asks the call to be a task. Before
// 2025-11-25 nothing can: params.task is unknown there, and ignored.
func (c *call) legacyDurable(mode tool.Mode) (bool, error) {
	raw, asked := c.params["task"]
	switch {
	case !c.hasLegacyTasks():
		return false, nil
	case asked && mode == tool.Never:
		return false, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "This tool can't be called as a task: leave params.task out")
	case !asked && mode == tool.Required:
		return false, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "This tool can only be called as a task: add params.task")
	case !asked:
		return false, nil
	}
	var param struct {
		TTL *int64 `json:"ttl"`
	}
	if raw[0] != '{' || json.Unmarshal(raw, &param) != nil || param.TTL != nil && *param.TTL <= 0 {
		return false, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params.task must be an object, and its ttl a positive integer of milliseconds")
	}
	c.task = &taskParam{}
	if param.TTL != nil {
		c.task.ttl = time.Duration(min(*param.TTL, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	return true, nil
}

// lifetime is how long the call's task lives, and is kept after its end: the
// tool's own times, or less if the client asks for less.
func (c *call) lifetime(o tool.Options) (ttl, retention time.Duration) {
	ttl, retention = o.TTL, o.Retention
	if c.task != nil && c.task.ttl > 0 {
		ttl = min(ttl, max(c.task.ttl, leastTTL))
		retention = min(retention, ttl)
	}
	return ttl, retention
}
