package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// suspension is the error by which a run stops until something happens outside.
// It is detected through wrapping.
type suspension struct{ what string }

func (s *suspension) Error() string {
	return "the call is suspended (" + s.what + "): return this error from the tool"
}

// refusal is the error of a call into the context that the tool should not have
// made; the run ends Broken whatever the tool makes of it.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

// retry asks for another attempt.
type retry struct {
	cause error
	after time.Duration
}

func (r *retry) Error() string { return r.cause.Error() }
func (r *retry) Unwrap() error { return r.cause }

// Retry makes an error that asks for another attempt, not before after has
// passed. Recorded steps are kept. A task that has used up its Attempts fails,
// and a call without a task ends as a tool error, with err's text.
func Retry(err error, after time.Duration) error {
	if err == nil {
		err = errors.New("the tool asked for another attempt")
	}
	return &retry{err, max(after, 0)}
}

// MissingCapability is the error of a question that the client can't be asked:
// it did not declare the capability when it made the call (R-U8). A tool that
// returns it fails the call with MCP's own error; a tool may also do without.
type MissingCapability struct {
	// Required is the ClientCapabilities object that was needed.
	Required json.RawMessage
}

func (m *MissingCapability) Error() string {
	return fmt.Sprintf("the client did not declare what the tool needs: %s", m.Required)
}
