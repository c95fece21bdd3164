package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/jsonrpc"
)

// Call is one run of a tool: from the top, with all that is known so far. The
// server makes one for a synchronous run, the worker one for each claim.
type Call struct {
	Name      string
	Arguments json.RawMessage // a JSON object; nil means {}
	Meta      mcp.Meta        // the request's _meta; nil in a worker
	Extra     *mcp.RequestExtra

	// TaskID and Birth name the durable task; "" when the call is synchronous.
	TaskID string
	Birth  string
	// Protocol is the revision of the creating request.
	Protocol string
	// Capabilities are what the client declared when it made the call, as the JSON
	// of ClientCapabilities; a tool asks for nothing else (R-U8).
	Capabilities json.RawMessage
	// Prepared is what Options.Prepare returned before the task was made (R-C4).
	Prepared json.RawMessage
	// Answers are the answered questions, in the order asked.
	Answers []Answer
	// Callbacks are the bodies of the callbacks that have arrived, by name.
	Callbacks map[string]json.RawMessage
	// Callback gives the URL and token of a callback; nil if the host has no public
	// URL. Only a durable call has callbacks.
	Callback func(name string) (url, token string)
	// State is the Outcome.State of the run that asked last; "" on the first run.
	// A durable run keeps its own in its record.
	State string
	// Steps keeps finished steps; nil if the call is synchronous.
	Steps Recorder
	// Report shows progress; it may be nil, and may drop what comes too often.
	Report func(Progress)
	// Version is the tool's version at the task's first run; "" before that.
	Version string
	// Now is the time; nil means the machine's.
	Now func() time.Time
}

// Answer is a question that the client has answered.
type Answer struct {
	Key      string          `json:"key"`
	Method   string          `json:"method"`
	Response json.RawMessage `json:"response"`
}

// Question is an input request for the client.
type Question struct {
	Key    string          `json:"key"`
	Method string          `json:"method"` // "elicitation/create", "sampling/createMessage", "roots/list"
	Params json.RawMessage `json:"params,omitempty"`
}

// Progress is how far a run has come. Total 0 means unknown.
type Progress struct {
	Done, Total float64
	Message     string
}

// Recorder keeps the values of finished steps for the next run.
type Recorder interface {
	// Recorded returns a step's value, nil if it has not finished.
	Recorded(name string) json.RawMessage
	// Names lists all recorded steps.
	Names() []string
	// Record keeps a finished step and returns what is kept: another worker may
	// have been first.
	Record(ctx context.Context, name string, value json.RawMessage) (json.RawMessage, error)
}

// Kind says how a run ended.
type Kind uint8

const (
	// Done has a Result: the tool returned, perhaps with a tool error.
	Done Kind = iota
	// Broken has an Error: the call fails with a JSON-RPC error.
	Broken
	// Lacks has Required: the tool needs a capability that the client did not declare.
	Lacks
	// Asked has Questions for the client. A synchronous run may have a State alone:
	// the tool asks to be called again with it.
	Asked
	// Slept has WakeAt.
	Slept
	// Awaits has Callback.
	Awaits
	// Again has After and Cause: the tool asked for another attempt.
	Again
	// Stopped means that the context ended, and the tool with it.
	Stopped
)

// Outcome is how a run ended.
type Outcome struct {
	Kind Kind
	// Result is a CallToolResult in wire form, resultType included. After
	// RunPrepare it is the prepared value, unless ToolError is set.
	Result json.RawMessage
	// ToolError is set if Result has isError. After RunPrepare, Result then is the
	// call's final result, and no task is to be made.
	ToolError bool
	// Error is what the client gets; never internals.
	Error *jsonrpc.Error
	// Required is the ClientCapabilities object that was needed.
	Required  json.RawMessage
	Questions []Question
	// State goes into the Call of the next run, if the call is synchronous. It is
	// opaque, and to be sealed before a client sees it.
	State    string
	WakeAt   time.Time
	Callback string
	After    time.Duration
	// Cause is for the log: a panic with its stack, the error behind a retry.
	Cause error
}
