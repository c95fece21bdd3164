package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
	"toolhost/pkg/tool"
)

// callTool runs a tool, or makes a task of the call: the server decides, for
// each call anew (R-N7).
func (s *Server) callTool(ctx context.Context, c *call) (any, error) {
	name, err := c.text("name")
	if err != nil {
		return nil, err
	}
	t, known := s.tools.Lookup(name)
	if !known {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Unknown tool: %s", clip(name))
	}
	if err := s.permits(c, t); err != nil {
		return nil, err
	}
	arguments := json.RawMessage(`{}`)
	if given, there := c.params["arguments"]; there {
		arguments = given
	}
	if arguments[0] != '{' {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params.arguments must be an object")
	}
	durable, err := c.durable(t, arguments)
	if err != nil {
		return nil, err
	}
	if t.Options().Task == tool.Required && !durable {
		return toolError("This tool runs only as a task: call it from a client that supports tasks."), nil
	}
	if len(arguments) > s.limits.MaxArguments {
		return toolError("The arguments have %d bytes; the limit is %d.", len(arguments), s.limits.MaxArguments), nil
	}
	r, err := s.resume(c, name, arguments)
	if err != nil {
		return nil, err
	}
	durable = durable && (c.legacy || !t.Instant(arguments)) // R-C5
	var who identity
	if durable { // a run within the request checks its arguments itself
		if err := t.Validate(arguments); err != nil {
			return toolError("%s", err.Error()), nil // R-H8
		}
		if who, err = s.identify(c, name, arguments); err != nil {
			return nil, err
		}
	}
	deadline, cancel := s.withinMargin(ctx)
	defer cancel()
	if t.Options().Prepare != nil && r.Prepared == nil {
		if answer, err := s.made(ctx, c, who); answer != nil || err != nil {
			return answer, err // nobody is asked again
		}
		o, err := s.runRounds(&r, func() tool.Outcome { return t.RunPrepare(deadline, s.run(c, name, arguments, r)) })
		if err != nil {
			return nil, err
		}
		if o.Kind != tool.Done || o.ToolError {
			return s.finish(ctx, c, name, arguments, r, o)
		}
		r = rounds{Count: r.Count, Prepared: o.Result, ahead: r.ahead}
	}
	if durable {
		return s.createTask(ctx, c, t, who, arguments, r.Prepared)
	}
	progress := newProgress(c)
	o, err := s.runRounds(&r, func() tool.Outcome {
		call := s.run(c, name, arguments, r)
		call.Report = progress.report
		return t.Run(deadline, call)
	})
	progress.end()
	if err != nil {
		return nil, err
	}
	return s.finish(ctx, c, name, arguments, r, o)
}

// durable reports whether the call may become a task: because the client declares
// the extension (R-N2, R-N4), or asks for one the legacy way (R-B3).
func (c *call) durable(t *tool.Tool, arguments json.RawMessage) (bool, error) {
	mode := t.Options().Task
	if c.legacy {
		return c.legacyDurable(mode)
	}
	if err := checkMirrored(t.HeaderParams(), arguments, c.headers.Params); err != nil {
		return false, err
	}
	if mode == tool.Required && !c.client.HasTasks() {
		return false, protocol.MissingCapability(protocol.NeedsTasks) // R-N3
	}
	return mode != tool.Never && c.client.HasTasks(), nil
}

// withinMargin leaves time to answer before the function itself is ended.
func (s *Server) withinMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, limited := ctx.Deadline(); limited {
		return context.WithDeadline(ctx, end.Add(-s.limits.Margin))
	}
	return ctx, func() {}
}

// run is the tool's call with all that is known so far.
func (s *Server) run(c *call, name string, arguments json.RawMessage, r rounds) tool.Call {
	return tool.Call{
		Name: name, Arguments: arguments, Meta: c.meta.Decoded(), Protocol: c.revision, Capabilities: c.client.Raw,
		Prepared: r.Prepared, Answers: r.Answers, State: r.State, Now: s.clock.Now,
	}
}

// finish is the answer to a call whose tool ran within the request.
func (s *Server) finish(ctx context.Context, c *call, name string, arguments json.RawMessage, r rounds, o tool.Outcome) (any, error) {
	if c.legacy && (o.Kind == tool.Lacks || o.Kind == tool.Asked) {
		return toolError(cannotAsk), nil // R-B5
	}
	switch o.Kind {
	case tool.Done:
		if size := protocol.WireSize(o.Result); size > s.limits.MaxResult {
			return toolError("The result has %d bytes; the limit is %d.", size, s.limits.MaxResult), nil
		}
		return o.Result, nil
	case tool.Broken:
		s.log.LogAttrs(ctx, slog.LevelError, "tool failed",
			slog.String("tool", name), slog.Int("code", o.Error.Code), slog.Any("error", o.Cause))
		return nil, byTool(o.Error)
	case tool.Lacks:
		return nil, protocol.MissingCapability(o.Required) // R-N8
	case tool.Asked:
		return s.ask(c, name, arguments, r, o)
	case tool.Slept, tool.Awaits:
		return toolError("This tool has to wait, and can do so only as a task: call it from a client that supports tasks."), nil
	case tool.Again:
		return toolError("%v (to be tried again in %v)", o.Cause, o.After), nil
	case tool.Stopped:
		return toolError("The tool did not finish within the time of one request."), nil
	}
	return nil, errors.New("server: a run ended in a way that is not known")
}

// toolError is a result that tells the model what went wrong.
func toolError(format string, args ...any) json.RawMessage {
	return tool.ErrorResult(fmt.Sprintf(format, args...))
}
