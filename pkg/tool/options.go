package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// Mode says whether a call of the tool becomes a durable task.
//
// A tool that is quick is Never. One that may be long, or asks something that is
// answered while the caller waits, is Optional: a client without the extension
// waits for the result on its one request, at most as long as a function behind
// API Gateway may take, and is asked in multi round-trip results, whose state is
// good for 1 hour. One that asks a person who may be away, sleeps, waits for a
// callback or must not be done twice is Required.
type Mode uint8

const (
	// Never runs every call within its request. It is the default: a handler that
	// was written for a plain server keeps its behaviour.
	Never Mode = iota
	// Optional makes a task for clients that declare the extension, and runs
	// within the request for all others (R-N4).
	Optional
	// Required refuses clients that do not declare the extension (R-N3).
	Required
)

// Options are how a tool is run. The zero value is a tool that answers within
// the request; durations and counts that are zero have the defaults that are
// named here.
type Options struct {
	Task Mode
	// TTL is how long a task may live, from its creation, waiting included: 24
	// hours. Give a tool that waits for people what they may take; a task that is
	// not over by then is gone, with its question.
	TTL time.Duration
	// Retention is how long its outcome can be read after its end: 24 hours. A task
	// that ends early can be read until its TTL.
	Retention time.Duration
	// PollInterval is the first interval between polls that clients are told; it
	// grows from 1 second up to MaxPollInterval, 15 seconds.
	PollInterval    time.Duration
	MaxPollInterval time.Duration
	// Timeout ends the handler's context that long after a run began; an error
	// that the handler then returns is the call's result, as a tool error. Zero
	// leaves the host's own limit, beyond which a durable run is continued.
	Timeout time.Duration
	// Attempts is how often a run may be tried that dies or asks for a retry: 3
	// times.
	Attempts int
	// Scopes are the OAuth scopes that a caller needs to see and call the tool, where
	// the deployment asks for tokens (R-V2); those that every request needs aside.
	// Its tasks need no more than their owner.
	Scopes []string
	// Version names the handler's steps and questions. A task that began under
	// another version fails instead of mixing the two, unless Compatible says that
	// this code understands that one's record.
	Version    string
	Compatible func(old string) bool
	// Rerun lets a task that ran out of time start again from the top even if it
	// has recorded no step: the tool has no effects that matter.
	Rerun bool
	// Instant reports whether a call with these arguments is over so soon that it
	// needs no task (R-C5). It must be pure. If it panics the call is not instant.
	// See InstantIf.
	Instant func(args json.RawMessage) bool
	// Prepare runs before the call becomes a task, and its questions are asked in
	// multi round-trip exchanges (R-C4). Its value, kept as JSON, is what Prepared
	// returns in the handler; an error is the call's result, and no task is made.
	// The request's arguments are valid and have their defaults. See PrepareWith.
	Prepare func(ctx context.Context, req *mcp.CallToolRequest) (any, error)
}

// InstantIf is an Options.Instant over decoded arguments. Arguments that In
// can't hold are not instant.
func InstantIf[In any](is func(In) bool) func(json.RawMessage) bool {
	return func(args json.RawMessage) bool {
		var in In
		return decodeInto(args, &in) == nil && is(in)
	}
}

// PrepareWith is an Options.Prepare over decoded arguments.
func PrepareWith[In, P any](prepare func(context.Context, *mcp.CallToolRequest, In) (P, error)) func(context.Context, *mcp.CallToolRequest) (any, error) {
	return func(ctx context.Context, req *mcp.CallToolRequest) (any, error) {
		var in In
		if err := decodeInto(req.Params.Arguments, &in); err != nil {
			return nil, misfit(err)
		}
		return prepare(ctx, req, in)
	}
}

// complete fills the defaults in and refuses what can't be meant.
func (o Options) complete() (Options, error) {
	if o.Task > Required {
		return o, fmt.Errorf("unknown Task mode %d", o.Task)
	}
	for i, s := range o.Scopes {
		if !protocol.IsScope(s) || slices.Contains(o.Scopes[:i], s) {
			return o, fmt.Errorf("%q can be no scope, or stands twice in Scopes", s)
		}
	}
	o.Scopes = slices.Clone(o.Scopes)
	if o.Task == Never && (o.Instant != nil || o.Prepare != nil) {
		return o, fmt.Errorf("Instant and Prepare need a tool that can be a task")
	}
	for _, d := range []struct {
		name     string
		value    *time.Duration
		fallback time.Duration
	}{
		{"TTL", &o.TTL, limits.TTL},
		{"Retention", &o.Retention, limits.Retention},
		{"PollInterval", &o.PollInterval, limits.PollInterval},
		{"MaxPollInterval", &o.MaxPollInterval, max(limits.MaxPollInterval, o.PollInterval)},
		{"Timeout", &o.Timeout, 0},
	} {
		if *d.value == 0 {
			*d.value = d.fallback
		} else if *d.value < time.Millisecond {
			return o, fmt.Errorf("%s is %v, want at least 1ms", d.name, *d.value)
		}
	}
	if o.TTL <= limits.ExpiryMargin {
		return o, fmt.Errorf("TTL is %v; the tool is ended %v before it, to save the outcome", o.TTL, limits.ExpiryMargin)
	}
	if o.MaxPollInterval < o.PollInterval {
		return o, fmt.Errorf("MaxPollInterval %v is below PollInterval %v", o.MaxPollInterval, o.PollInterval)
	}
	if o.Attempts < 0 {
		return o, fmt.Errorf("Attempts is %d", o.Attempts)
	}
	if o.Attempts == 0 {
		o.Attempts = limits.Attempts
	}
	return o, nil
}

// compatible reports whether this tool may go on with a call of that version.
func (o Options) compatible(version string) (ok bool) {
	if version == "" || version == o.Version {
		return true
	}
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return o.Compatible != nil && o.Compatible(version)
}

// Instant reports whether a call with these arguments needs no task (R-C5).
func (t *Tool) Instant(args json.RawMessage) (instant bool) {
	if t.options.Instant == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			instant = false
		}
	}()
	args, err := t.arguments(args)
	return err == nil && t.options.Instant(args)
}
