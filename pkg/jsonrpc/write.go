package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// Encode is v as JSON without the escapes that encoding/json adds for HTML: a
// limit on a result counts what is sent. v must be made of types that always
// encode.
func Encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return json.RawMessage(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// Result is the response that carries a result.
func Result(id, result json.RawMessage) []byte {
	return envelope(id, "result", result)
}

// Failure is the response that carries an error. It has no id if none could be
// read (R-H4).
func Failure(id json.RawMessage, e *Error) []byte {
	return envelope(id, "error", Encode(e))
}

// Notification is a message that wants no answer.
func Notification(method string, params json.RawMessage) []byte {
	b := append([]byte(`{"jsonrpc":"2.0","method":`), Encode(method)...)
	b = append(append(b, `,"params":`...), params...)
	return append(b, '}')
}

func envelope(id json.RawMessage, name string, value json.RawMessage) []byte {
	b := make([]byte, 0, len(value)+len(id)+40)
	b = append(b, `{"jsonrpc":"2.0"`...)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	b = append(append(b, `,"`+name+`":`...), value...)
	return append(b, '}')
}
