package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"toolhost/pkg/fault"
)

// What a caller may see of an error, and what it can do about it (R-V4).
func TestError(t *testing.T) {
	large := fault.New(fault.TooLarge, "tool.Run", "the limit is %d", 5)
	for _, c := range []struct {
		name    string
		err     error
		kind    fault.Kind
		message string
	}{
		{"a kind and its sentence", large, fault.TooLarge, "the limit is 5"},
		{"wrapping keeps both", fmt.Errorf("while running: %w", large), fault.TooLarge, "the limit is 5"},
		{"the outermost kind counts", fault.Wrap(fault.Busy, "store.Save", large), fault.Busy, ""},
		{"internals show no sentence", fault.New(fault.Internal, "store.Save", "table tasks is gone"), fault.Internal, ""},
		{"any other error is internal", io.EOF, fault.Internal, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if fault.KindOf(c.err) != c.kind || !fault.Is(c.err, c.kind) || fault.Message(c.err) != c.message {
				t.Errorf("%v, %q", fault.KindOf(c.err), fault.Message(c.err))
			}
		})
	}
	if cause := fault.Wrap(fault.Busy, "op", io.EOF); !errors.Is(cause, io.EOF) || cause.Error() != "op: EOF" {
		t.Errorf("%v", cause)
	}
	if fault.Wrap(fault.Busy, "op", nil) != nil || fault.Is(nil, fault.Internal) {
		t.Error("no error has no kind")
	}
	if got := fault.Kind(99).String(); got != "kind 99" {
		t.Error(got)
	}
}
