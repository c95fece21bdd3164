package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/jsonrpc"
)

// run is the state of one run of a handler; its context carries it.
type run struct {
	call Call
	tool *Tool

	mu        sync.Mutex
	ended     bool
	keys      map[string]bool // of questions, used in this run
	steps     map[string]bool // names taken in this run, sleeps included
	callbacks map[string]bool // made in this run
	questions []Question      // to be asked
	wakeAt    time.Time       // earliest end of a sleep
	awaits    string          // the first callback that was waited for
	state     string          // Outcome.State of a synchronous run
	suspended bool
	refused   *refusal // the first misuse of the context
	panicked  error    // a panic in a step
	lost      error    // a step that could not be recorded
	reporting sync.Mutex
}

type contextKey struct{}

// within is what a context knows: the run, and the step, if any.
type within struct {
	run  *run
	step string
}

var errEnded = errors.New("the tool's run is over")

// current finds the run of a context. A context that outlived its run has none.
func current(ctx context.Context, what string) (within, error) {
	w, ok := ctx.Value(contextKey{}).(within)
	if !ok {
		return within{}, fmt.Errorf("tool.%s: the context is not that of a tool's handler", what)
	}
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	if w.run.ended {
		return within{}, errEnded
	}
	return w, nil
}

// Run runs the tool once, from the top, and says how that ended. It applies
// Options.Timeout, validates the arguments, and recovers panics; it returns when
// the handler has. ctx should end when the run must.
func (t *Tool) Run(ctx context.Context, call Call) Outcome {
	return t.run(ctx, call, t.answerOnce)
}

// RunPrepare runs Options.Prepare once, as a synchronous call. If it ends Done
// without ToolError, Result is the prepared value, for Call.Prepared.
func (t *Tool) RunPrepare(ctx context.Context, call Call) Outcome {
	call.Steps = nil
	return t.run(ctx, call, t.prepareOnce)
}

func (t *Tool) run(ctx context.Context, call Call, once func(context.Context, *run, json.RawMessage) Outcome) (out Outcome) {
	if !t.options.compatible(call.Version) {
		return broken("the call began under version %q of the tool %q; version %q does not say that it can go on with it", call.Version, t.Name(), t.options.Version)
	}
	args, err := t.arguments(call.Arguments)
	if err != nil {
		return toolError(err.Error())
	}
	if call.Now == nil {
		call.Now = time.Now
	}
	r := &run{call: call, tool: t, state: call.State, keys: map[string]bool{}, steps: map[string]bool{}, callbacks: map[string]bool{}}
	host := ctx
	ctx, cancel := context.WithCancel(context.WithValue(ctx, contextKey{}, within{run: r}))
	defer cancel()
	if t.options.Timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, t.options.Timeout, errTimeout)
		defer cancel()
	}
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended = true
	}()
	defer func() {
		if p := recover(); p != nil {
			out = panicked(p, debug.Stack())
		}
	}()
	out = once(ctx, r, args)
	if out.Kind == Stopped && host.Err() == nil && context.Cause(ctx) == errTimeout {
		return toolError(fmt.Sprintf("The tool did not finish within %v.", t.options.Timeout))
	}
	return out
}

var errTimeout = errors.New("the tool's own timeout has passed")

func (t *Tool) answerOnce(ctx context.Context, r *run, args json.RawMessage) Outcome {
	req, parked := r.request(args)
	if parked != nil {
		return *parked
	}
	res, err := t.handle(ctx, req, args)
	if err == nil && res != nil && res.InputRequests != nil {
		err = r.askNative(ctx, res)
	}
	if out, ended := r.settle(ctx, err); ended {
		return out
	}
	if out := r.unknownSteps(res); out != nil {
		return *out
	}
	return t.encodeResult(res)
}

func (t *Tool) prepareOnce(ctx context.Context, r *run, args json.RawMessage) Outcome {
	if t.options.Prepare == nil {
		return Outcome{Kind: Done, Result: json.RawMessage("null")}
	}
	req, _ := r.request(args)
	value, err := t.options.Prepare(ctx, req)
	if out, ended := r.settle(ctx, err); ended {
		return out
	}
	text, err := encode(value)
	if err != nil {
		return internal(fmt.Errorf("the prepared value can't be encoded: %w", err))
	}
	return Outcome{Kind: Done, Result: text}
}

// settle turns the end of a run into an outcome, unless it is a result. What
// the context had to refuse, or has promised, goes before what the tool says.
func (r *run) settle(ctx context.Context, err error) (Outcome, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	var (
		suspended *suspension
		missing   *MissingCapability
		again     *retry
		silent    *unserved
	)
	// As in the SDK, a wrapped protocol error is an error like any other.
	switch wire, isWire := err.(*sdk.Error); {
	case r.panicked != nil:
		return reference("The tool failed unexpectedly.", r.panicked), true
	case r.refused != nil:
		return broken("%s", r.refused.text), true
	case r.lost != nil:
		if ctx.Err() != nil {
			return Outcome{Kind: Stopped, Cause: r.lost}, true
		}
		return Outcome{Kind: Again, After: time.Second, Cause: r.lost}, true
	case errors.As(err, &missing):
		return Outcome{Kind: Lacks, Required: missing.Required, Cause: err}, true
	case r.suspended && errors.As(err, &suspended):
		if len(r.questions) > 0 || r.call.Steps == nil {
			return Outcome{Kind: Asked, Questions: r.questions, State: r.state}, true
		}
		// The end of a sleep shows whether the callback has arrived; that of the
		// wait may come long after the sleep's.
		if r.wakeAt.IsZero() {
			return Outcome{Kind: Awaits, Callback: r.awaits}, true
		}
		return Outcome{Kind: Slept, WakeAt: r.wakeAt}, true
	case r.suspended:
		out := broken("The tool went on after its call was suspended. It must return the error that it got from Ask, Sleep or the like, as it is or wrapped with %%w.")
		out.Cause = fmt.Errorf("the suspension was swallowed; the tool returned: %w", orNil(err))
		return out, true
	case isWire:
		return brokenBy(wire), true
	case errors.As(err, &again):
		return Outcome{Kind: Again, After: again.after, Cause: err}, true
	case errors.As(err, &silent):
		out := toolError(silent.message)
		out.Cause = err
		return out, true
	case err != nil && ctx.Err() != nil:
		return Outcome{Kind: Stopped, Cause: err}, true
	case err != nil && r.tool.raw:
		return internal(err), true
	case err != nil:
		return toolError(err.Error()), true
	}
	return Outcome{}, false
}

// unknownSteps refuses a result that left recorded steps aside: the code is not
// the one that recorded them. A tool error may well have come before them.
func (r *run) unknownSteps(res *mcp.CallToolResult) *Outcome {
	if r.call.Steps == nil || res != nil && res.IsError {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range r.call.Steps.Names() {
		if !r.steps[name] && !isRound(name) {
			out := broken("The record holds the step %q, which this code of the tool %q never came to: it was changed without a new Version.", name, r.tool.Name())
			return &out
		}
	}
	return nil
}

// refuse notes a misuse of the context, which fails the run.
func (r *run) refuse(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == nil {
		r.refused = &refusal{fmt.Sprintf(format, args...)}
	}
	return r.refused
}

// request is what the handler gets. There is no session.
func (r *run) request(args json.RawMessage) (*mcp.CallToolRequest, *Outcome) {
	extra := r.call.Extra
	if extra == nil {
		extra = &mcp.RequestExtra{}
	}
	params := &mcp.CallToolParamsRaw{Meta: r.call.Meta, Name: r.tool.Name(), Arguments: args}
	parked := r.replayNative(params)
	return &mcp.CallToolRequest{Params: params, Extra: extra}, parked
}

func orNil(err error) error {
	if err == nil {
		return errors.New("a result")
	}
	return err
}

// panicked is the outcome of a panic. The stack is for the log alone (R-V4).
func panicked(p any, stack []byte) Outcome {
	return reference(panicMessage(stack), panicError(p, stack))
}

// panicError is a panic for the log: where, and what if it is one of Go's own.
// What a tool panics with may hold what its caller sent (R-V3).
func panicError(p any, stack []byte) error {
	if gos, ok := p.(runtime.Error); ok {
		return fmt.Errorf("panic: %w\n%s", gos, stack)
	}
	return fmt.Errorf("panic with a %T\n%s", p, stack)
}

// panicMessage says more where a handler reached for the session it has not got.
func panicMessage(stack []byte) string {
	if strings.Contains(string(stack), "go-sdk/mcp.(*ServerSession)") {
		return "The tool used req.Session, which is nil here: use tool.Ask, tool.Sample, tool.Roots and tool.Report instead."
	}
	return "The tool failed unexpectedly."
}

// broken is a failure whose sentence the caller may see.
func broken(format string, args ...any) Outcome {
	e := jsonrpc.Errorf(jsonrpc.CodeInternal, format, args...)
	return Outcome{Kind: Broken, Error: e, Cause: e}
}
