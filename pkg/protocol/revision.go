package protocol

import (
	"slices"

	"toolhost/pkg/jsonrpc"
)

// Revisions of MCP.
const (
	// Revision20260728 carries the Tasks extension.
	Revision20260728 = "2026-07-28"
	// Revision20260630 is the name under which that revision was drafted, with the
	// error codes of that time.
	Revision20260630 = "2026-06-30"

	// The revisions below are spoken after initialize.
	Revision20251125 = "2025-11-25"
	Revision20250618 = "2025-06-18"
	Revision20250326 = "2025-03-26"
)

// Modern lists the revisions whose requests each carry their own version and
// capabilities, newest first.
var Modern = []string{Revision20260728, Revision20260630}

// IsModern reports whether the revision is served, and is one of Modern.
func IsModern(revision string) bool { return slices.Contains(Modern, revision) }

// Legacy lists the revisions that begin with initialize, newest first. Their
// names sort by age.
var Legacy = []string{Revision20251125, Revision20250618, Revision20250326}

// IsLegacy reports whether the revision is served, and is one of Legacy.
func IsLegacy(revision string) bool { return slices.Contains(Legacy, revision) }

// Supported lists every revision that is served, newest first.
var Supported = slices.Concat(Modern, Legacy)

// ClaimsModern reports whether a version header can only be meant as that of a
// modern request, served or not (R-N11).
func ClaimsModern(header string) bool { return header >= "2026-" && header < "3" }

// MCP's own error codes, as 2026-07-28 numbers them. Inside the project only
// these are used; Code renumbers them on the way out.
const (
	CodeHeaderMismatch     = -32020
	CodeMissingCapability  = -32021
	CodeUnsupportedVersion = -32022
)

var earlyCodes = map[int]int{
	CodeHeaderMismatch:     -32001,
	CodeMissingCapability:  -32003,
	CodeUnsupportedVersion: -32004,
}

// Code is a code as the revision numbers it. The early ones are used only when
// the request's body says 2026-06-30 (R-P8).
func Code(revision string, code int) int {
	if early, renumbered := earlyCodes[code]; renumbered && revision == Revision20260630 {
		return early
	}
	return code
}

// reserved reports whether a code is MCP's own under a modern revision, in use,
// withdrawn or not yet defined: no tool may use it.
func reserved(code int) bool {
	if code <= -32020 && code >= -32099 {
		return true
	}
	switch code {
	case -32001, -32002, -32003, -32004:
		return true
	}
	return false
}

// ToolError is the error that a tool returned, fit to leave the server: a code
// that is MCP's own becomes -32603 with the original in data (R-P8).
func ToolError(e *jsonrpc.Error) *jsonrpc.Error {
	if e == nil || !reserved(e.Code) {
		return e
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: e.Message, Data: jsonrpc.Encode(e)}
}

// StoredError is a failed task's error as the revision shows it: a missing
// capability keeps its code, all other errors are the tool's (R-U8, R-G4).
func StoredError(revision string, e *jsonrpc.Error) *jsonrpc.Error {
	if e.Code == CodeMissingCapability {
		renumbered := *e
		renumbered.Code = Code(revision, e.Code)
		return &renumbered
	}
	return ToolError(e)
}
