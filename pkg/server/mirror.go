package server

import (
	"encoding/json"
	"math/big"
	"strings"

	"toolhost/pkg/protocol"
	"toolhost/pkg/tool"
)

// checkMirrored compares the Mcp-Param-* headers with the arguments that they
// mirror (R-H2). An argument that is absent or null needs none; a value of a type
// that a header can't mirror is left to the tool's schema.
func checkMirrored(params []tool.HeaderParam, arguments json.RawMessage, headers map[string]protocol.Header) error {
	for _, p := range params {
		header := headers[strings.ToLower(p.Name)]
		value := at(arguments, p.Path)
		if value == nil && !header.Present {
			continue
		}
		if text, ok := header.Decoded(); !header.Present || !ok || !mirrors(text, value) {
			return protocol.Mismatch(protocol.HeaderParamPrefix+p.Name, header)
		}
	}
	return nil
}

// at is the value that a path of names leads to; nil if it is absent or null.
func at(value json.RawMessage, path []string) json.RawMessage {
	for _, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(value, &object) != nil {
			return nil
		}
		value = object[name]
	}
	if string(value) == "null" {
		return nil
	}
	return value
}

func mirrors(text string, value json.RawMessage) bool {
	switch {
	case value == nil:
		return false
	case value[0] == '"':
		var s string
		return json.Unmarshal(value, &s) == nil && s == text
	case value[0] == '{', value[0] == '[':
		return true
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9':
		a, ok := number(text)
		b, valid := number(string(value))
		return ok && valid && a.Cmp(b) == 0
	}
	return text == string(value) // true or false
}

// number reads a number exactly; one with too many digits to compare cheaply is none.
func number(text string) (*big.Float, bool) {
	if len(text) > 64 || !json.Valid([]byte(text)) {
		return nil, false
	}
	n, _, err := big.ParseFloat(text, 10, 256, big.ToNearestEven)
	return n, err == nil
}
