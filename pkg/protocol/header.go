package protocol

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"toolhost/pkg/jsonrpc"
)

// Headers that mirror the body of a request (R-H1, R-H2). They grant nothing:
// the body decides (R-H15).
const (
	HeaderVersion     = "MCP-Protocol-Version"
	HeaderMethod      = "Mcp-Method"
	HeaderName        = "Mcp-Name"
	HeaderParamPrefix = "Mcp-Param-"
)

// Header is one mirrored header; the zero Header was not sent.
type Header struct {
	Present bool
	Value   string
}

// Headers are the mirrored headers of a request.
type Headers struct {
	Version, Method, Name Header
	// Params are the Mcp-Param-* headers by the lower-case rest of their name.
	Params map[string]Header
}

// ReadHeaders picks the mirrored headers out of a request's. Names are
// case-insensitive, and white space around a value does not count. A header that
// was sent twice has both values, separated by a comma, and so equals nothing.
func ReadHeaders(all map[string][]string) Headers {
	var h Headers
	for name, values := range all {
		header := Header{true, strings.Trim(strings.Join(values, ", "), " \t")}
		switch {
		case strings.EqualFold(name, HeaderVersion):
			h.Version = header
		case strings.EqualFold(name, HeaderMethod):
			h.Method = header
		case strings.EqualFold(name, HeaderName):
			h.Name = header
		case len(name) > len(HeaderParamPrefix) && strings.EqualFold(name[:len(HeaderParamPrefix)], HeaderParamPrefix):
			if h.Params == nil {
				h.Params = map[string]Header{}
			}
			h.Params[strings.ToLower(name[len(HeaderParamPrefix):])] = header
		}
	}
	return h
}

const (
	encodedPrefix = "=?base64?"
	encodedSuffix = "?="
)

// Decoded is the value of an Mcp-Name or Mcp-Param-* header, which may be
// encoded; false if it claims to be and can't be decoded.
func (h Header) Decoded() (string, bool) {
	v := h.Value
	if len(v) < len(encodedPrefix)+len(encodedSuffix) ||
		!strings.HasPrefix(v, encodedPrefix) || !strings.HasSuffix(v, encodedSuffix) {
		return v, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(v[len(encodedPrefix) : len(v)-len(encodedSuffix)])
	if err != nil || !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}

// EncodeHeader is a name as the value of Mcp-Name or Mcp-Param-*: encoded if a
// header can't carry it as it is.
func EncodeHeader(name string) string {
	plain := name == strings.Trim(name, " \t") && !strings.HasPrefix(name, encodedPrefix)
	for i := 0; plain && i < len(name); i++ {
		plain = name[i] >= ' ' && name[i] < 0x7f
	}
	if plain && name != "" {
		return name
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(name)) + encodedSuffix
}

// Mismatch is the error for a mirrored header that is missing or differs.
func Mismatch(header string, h Header) *jsonrpc.Error {
	if !h.Present {
		return jsonrpc.Errorf(CodeHeaderMismatch, "Header mismatch: %s is missing", header)
	}
	return jsonrpc.Errorf(CodeHeaderMismatch, "Header mismatch: %s differs from the body", header)
}
