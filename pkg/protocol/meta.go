package protocol

import (
	"encoding/json"
	"regexp"

	"toolhost/pkg/jsonrpc"
)

// RequestMeta is a request's _meta: what it says of itself.
type RequestMeta struct {
	// All is the whole object, nil if there is none.
	All map[string]json.RawMessage
	// Version is the protocol version, "" if it is missing or no string.
	Version string
	// ProgressToken is a string or an integer; nil if there is none.
	ProgressToken json.RawMessage
	// Trace is a W3C traceparent, or "".
	Trace string
}

var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// ReadMeta reads a request's _meta, which may be nil. What is ill-typed counts
// as missing.
func ReadMeta(meta json.RawMessage) RequestMeta {
	var m RequestMeta
	if !isObject(meta) || json.Unmarshal(meta, &m.All) != nil {
		return RequestMeta{}
	}
	_ = json.Unmarshal(m.All[MetaProtocolVersion], &m.Version)
	if token := m.All[MetaProgressToken]; jsonrpc.ValidID(token) { // which goes out again as it came
		m.ProgressToken = token
	}
	var trace string
	if json.Unmarshal(m.All[MetaTraceParent], &trace) == nil && traceParent.MatchString(trace) {
		m.Trace = trace
	}
	return m
}

// IsModern reports whether the _meta marks a modern request, served or not
// (R-N11): it has a version that is not one of Legacy.
func (m RequestMeta) IsModern() bool {
	_, version := m.All[MetaProtocolVersion]
	return version && !IsLegacy(m.Version)
}

// Decoded is the whole object as Go values, nil if there is none.
func (m RequestMeta) Decoded() map[string]any {
	var out map[string]any
	if m.All != nil {
		_ = json.Unmarshal(jsonrpc.Encode(m.All), &out)
	}
	return out
}
