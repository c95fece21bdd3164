// Package fault is the project's one error type. Code inside the project says
// what kind of thing went wrong; only pkg/server decides how that looks on the
// wire, and strips what is internal (R-V4).
package fault

import (
	"errors"
	"fmt"
)

// Kind classes an error by what its receiver can do about it.
type Kind uint8

const (
	// Internal is a defect or a broken dependency; the caller can't mend it.
	Internal Kind = iota
	// Invalid is bad input: the same call can never succeed.
	Invalid
	// NotFound means that the thing is unknown, gone, expired, or another's.
	NotFound
	// Conflict means that somebody else changed the thing first.
	Conflict
	// Illegal is an event that the state machine does not allow now.
	Illegal
	// TooLarge means that a documented limit was passed; the message names it.
	TooLarge
	// Busy means that the same call may succeed later (throttling).
	Busy
	// Missing is a client capability that the call needs and did not declare.
	Missing
)

var kindNames = [...]string{"internal", "invalid", "not found", "conflict", "illegal", "too large", "busy", "missing capability"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Error is an error of a known kind.
type Error struct {
	Kind Kind
	// Op is the operation that failed, as package.Function; never shown outside.
	Op string
	// Message is a sentence for the caller, free of internals; "" for Internal.
	Message string
	// Err is the cause, for logs only.
	Err error
}

func (e *Error) Error() string {
	s := e.Op
	if s == "" {
		s = e.Kind.String()
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// New makes an error of a kind with a sentence for the caller.
func New(kind Kind, op, format string, args ...any) error {
	return &Error{Kind: kind, Op: op, Message: fmt.Sprintf(format, args...)}
}

// Wrap gives cause a kind and an operation. It returns nil if cause is nil.
func Wrap(kind Kind, op string, cause error) error {
	if cause == nil {
		return nil
	}
	return &Error{Kind: kind, Op: op, Err: cause}
}

// KindOf is the kind of the outermost *Error in err's chain, else Internal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// Is reports whether err is of the kind. A nil error is of no kind.
func Is(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }

// Message is the sentence that may be shown to the caller, or "".
func Message(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Kind != Internal {
		return e.Message
	}
	return ""
}
