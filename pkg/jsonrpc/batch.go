package jsonrpc

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Batch splits a batch, an array of messages, into those, each still to be
// parsed. It reports false for a body that is none, or is no JSON: Parse then
// says what is wrong.
func Batch(body []byte) ([]json.RawMessage, bool) {
	var messages []json.RawMessage
	if !isBatch(body) || json.Unmarshal(body, &messages) != nil {
		return nil, false
	}
	return messages, true
}

func isBatch(body []byte) bool {
	t := bytes.TrimLeft(body, " \t\r\n")
	return len(t) > 0 && t[0] == '[' && jsontext.Value(body).IsValid()
}
