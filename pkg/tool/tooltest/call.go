package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/clock"
	"toolhost/pkg/tool"
)

// Option changes how a call is made.
type Option func(*Call)

// Sync makes a call without a task: its questions become multi round-trip exchanges.
func Sync() Option { return func(c *Call) { c.sync = true } }

// Capabilities are what the client declares, as JSON; without this option it is
// everything.
func Capabilities(object string) Option {
	return func(c *Call) { c.call.Capabilities = json.RawMessage(object) }
}

// Call is one call of a tool under test. It is for one goroutine.
type Call struct {
	t      testing.TB
	tool   *tool.Tool
	call   tool.Call
	sync   bool
	clock  *clock.Manual
	record *record

	outcome   *tool.Outcome // of the last run; nil: to be run
	questions []tool.Question
	seen      map[string]bool // callbacks that a run was given
	runs      int

	mu      sync.Mutex
	reports []tool.Progress
}

// Everything a client can declare.
const allCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}},"roots":{}}`

// Start makes a call. args is marshalled to JSON. Options.Prepare runs first, if
// there is one; its questions are answered like any others.
func Start(t testing.TB, reg *tool.Registry, name string, args any, options ...Option) *Call {
	t.Helper()
	found, ok := reg.Lookup(name)
	if !ok {
		t.Fatalf("there is no tool %q", name)
	}
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatalf("arguments: %v", err)
	}
	c := &Call{t: t, tool: found, clock: clock.NewManual(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC))}
	c.record, c.seen = newRecord(t), map[string]bool{}
	c.call = tool.Call{
		Name:         name,
		Arguments:    text,
		Capabilities: json.RawMessage(allCapabilities),
		Callbacks:    map[string]json.RawMessage{},
		Now:          c.clock.Now,
		Report: func(p tool.Progress) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.reports = append(c.reports, p)
		},
	}
	for _, o := range options {
		o(c)
	}
	return c
}

// KillAfter kills the process once, as soon as the named step is recorded; the
// call then goes on in another. It fails the test if the step is never recorded.
func (c *Call) KillAfter(step string) { c.record.plan(killAfter, step) }

// KillBefore kills the process once, when the named step's function has returned
// but its value is not recorded yet: the next process runs the step again.
func (c *Call) KillBefore(step string) { c.record.plan(killBefore, step) }

// StopAfter ends the run's context once, as soon as the named step is recorded,
// as a host does whose time is up. If the handler then returns an error, the call
// goes on in another run.
func (c *Call) StopAfter(step string) { c.record.plan(stopAfter, step) }

// KillAfterEachStep kills the process after every single step.
func (c *Call) KillAfterEachStep() { c.record.killAlways = true }

// Asked runs the call and wants it parked on exactly these questions. It returns
// them, in the order of their keys as given.
func (c *Call) Asked(keys ...string) []tool.Question {
	c.t.Helper()
	c.want(tool.Asked)
	out := make([]tool.Question, 0, len(keys))
	for _, key := range keys {
		if i := slices.IndexFunc(c.questions, func(q tool.Question) bool { return q.Key == key }); i >= 0 {
			out = append(out, c.questions[i])
		}
	}
	if len(out) != len(keys) || len(out) != len(c.questions) {
		c.t.Fatalf("it asks %v, want %v", keysOf(c.questions), keys)
	}
	return out
}

// Accept answers a question with content, which is marshalled to JSON.
func (c *Call) Accept(key string, content any) {
	c.t.Helper()
	c.Answer(key, map[string]any{"action": tool.Accept, "content": content})
}

// Decline answers a question with a no.
func (c *Call) Decline(key string) {
	c.t.Helper()
	c.Answer(key, map[string]any{"action": tool.Decline})
}

// Answer answers a question of any kind with a whole response.
func (c *Call) Answer(key string, response any) {
	c.t.Helper()
	c.want(tool.Asked)
	i := slices.IndexFunc(c.questions, func(q tool.Question) bool { return q.Key == key })
	if i < 0 {
		c.t.Fatalf("it does not ask %q, but %v", key, keysOf(c.questions))
	}
	text, err := json.Marshal(response)
	if err != nil {
		c.t.Fatalf("answer %q: %v", key, err)
	}
	c.call.Answers = append(c.call.Answers, tool.Answer{Key: key, Method: c.questions[i].Method, Response: text})
	c.questions = slices.Delete(c.questions, i, i+1)
	if len(c.questions) == 0 {
		c.outcome = nil
	}
}

// Advance moves the call's clock.
func (c *Call) Advance(d time.Duration) {
	c.clock.Advance(d)
	if c.outcome != nil && c.outcome.Kind == tool.Slept && !c.clock.Now().Before(c.outcome.WakeAt) {
		c.outcome = nil
	}
}

// Asleep runs the call, wants it asleep, and returns for how long.
func (c *Call) Asleep() time.Duration {
	c.t.Helper()
	return c.want(tool.Slept).WakeAt.Sub(c.clock.Now())
}

// Awaits runs the call and wants it to wait for the named callback.
func (c *Call) Awaits(name string) {
	c.t.Helper()
	if got := c.want(tool.Awaits).Callback; got != name {
		c.t.Fatalf("it awaits the callback %q, want %q", got, name)
	}
}

// Callback answers a callback with a body, which is marshalled to JSON, and
// returns the status that the outside job gets: 204, also for the same body again
// before another run has seen it; 409 if it was answered before; 404 once the
// call is over. The tool may come to wait for it later.
func (c *Call) Callback(name string, body any) (status int) {
	c.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		c.t.Fatalf("callback %q: %v", name, err)
	}
	before, used := c.call.Callbacks[name]
	switch {
	case c.outcome != nil && slices.Contains([]tool.Kind{tool.Done, tool.Broken, tool.Lacks}, c.outcome.Kind):
		return http.StatusNotFound
	case used && (c.seen[name] || string(before) != string(text)):
		return http.StatusConflict
	}
	c.call.Callbacks[name] = text
	if c.outcome != nil && c.outcome.Kind == tool.Awaits && c.outcome.Callback == name {
		c.outcome = nil
	}
	return http.StatusNoContent
}

// Result runs the call and wants it completed.
func (c *Call) Result() *mcp.CallToolResult {
	c.t.Helper()
	out := c.want(tool.Done)
	result := new(mcp.CallToolResult)
	if err := json.Unmarshal(out.Result, result); err != nil {
		c.t.Fatalf("the result %s: %v", out.Result, err)
	}
	return result
}

// Text is the text of the result, which must not be a tool error.
func (c *Call) Text() string {
	c.t.Helper()
	text, isError := c.text()
	if isError {
		c.t.Fatalf("it ended as a tool error: %s", text)
	}
	return text
}

// ToolError is the text of the result, which must be a tool error.
func (c *Call) ToolError() string {
	c.t.Helper()
	text, isError := c.text()
	if !isError {
		c.t.Fatalf("it completed, want a tool error: %s", text)
	}
	return text
}

func (c *Call) text() (string, bool) {
	c.t.Helper()
	var b strings.Builder
	result := c.Result()
	for _, part := range result.Content {
		if text, ok := part.(*mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String(), result.IsError
}

// Failed runs the call, wants it failed, and returns the client's message.
func (c *Call) Failed() string {
	c.t.Helper()
	return c.want(tool.Broken).Error.Message
}

// Outcome runs the call, unless it is parked or over, and returns how that ended.
func (c *Call) Outcome() tool.Outcome {
	c.t.Helper()
	for c.outcome == nil {
		c.run()
	}
	return *c.outcome
}

// Reports is the progress shown so far, by all runs. What stands outside of steps
// is reported by each run that passes it.
func (c *Call) Reports() []tool.Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.reports)
}

// Runs is how often the handler has been run so far.
func (c *Call) Runs() int { return c.runs }

func (c *Call) want(kind tool.Kind) tool.Outcome {
	c.t.Helper()
	out := c.Outcome()
	if out.Kind != kind {
		c.t.Fatalf("it %s, want that it %s", say(out), kinds[kind])
	}
	return out
}

// errTime is why the context ends of a run that is stopped.
var errTime = errors.New("this run is out of time")

// run runs the call once; if its process was killed, or its run stopped, there is
// no outcome.
func (c *Call) run() {
	c.t.Helper()
	call := c.call
	once := c.tool.Run
	preparing := c.tool.Options().Prepare != nil && call.Prepared == nil
	if preparing {
		once = c.tool.RunPrepare
	} else {
		c.runs++
	}
	ctx, stop := context.WithCancelCause(c.t.Context())
	c.t.Cleanup(func() { stop(nil) }) // a killed process never ends
	if !c.sync && !preparing {
		call.Callbacks = maps.Clone(call.Callbacks)
		for name := range call.Callbacks {
			c.seen[name] = true
		}
		call.TaskID, call.Birth, call.Version = "task", "birth", c.tool.Options().Version
		call.Steps, call.Callback = c.record.process(func() { stop(errTime) }), address
	}
	done := make(chan tool.Outcome, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended) // also if the handler stops the test
		done <- once(ctx, call)
	}()
	select {
	case <-c.record.killed:
		return
	case <-ended:
	}
	select {
	case out := <-done:
		if out.Kind == tool.Stopped && context.Cause(ctx) == errTime {
			return
		}
		c.settle(out, preparing)
	default:
		c.t.FailNow()
	}
}

func (c *Call) settle(out tool.Outcome, preparing bool) {
	c.t.Helper()
	switch {
	case preparing && out.Kind == tool.Done && !out.ToolError:
		c.call.Prepared, c.call.State, c.call.Answers = out.Result, "", nil
		return
	case out.Kind == tool.Asked:
		c.questions, c.call.State = out.Questions, out.State
	case out.Kind != tool.Slept && out.Kind != tool.Awaits && c.record.missed() != "":
		c.t.Fatalf("it %s, but never recorded the step %q", say(out), c.record.missed())
	}
	c.outcome = &out
}

// address is where a call's callbacks would be answered.
func address(name string) (url, token string) {
	token = "token-of-" + name
	return "https://toolhost.example/callbacks/" + token, token
}

var kinds = map[tool.Kind]string{
	tool.Done: "completed", tool.Broken: "failed", tool.Lacks: "lacks a capability", tool.Asked: "asks",
	tool.Slept: "sleeps", tool.Awaits: "awaits a callback", tool.Again: "wants another attempt", tool.Stopped: "stopped",
}

// say describes an outcome for a failed test.
func say(out tool.Outcome) string {
	text := kinds[out.Kind]
	switch {
	case out.Kind == tool.Awaits:
		return text + " " + out.Callback
	case out.Kind == tool.Asked:
		return text + " " + strings.Join(keysOf(out.Questions), ", ")
	case out.Result != nil:
		return text + " with " + string(out.Result)
	case out.Cause != nil:
		return text + ": " + out.Cause.Error()
	}
	return text
}

func keysOf(questions []tool.Question) []string {
	out := make([]string, len(questions))
	for i, q := range questions {
		out[i] = q.Key
	}
	return out
}
