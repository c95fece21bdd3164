package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth bounds the nesting of a whole message. It is looser than
// limits.MaxJSONDepth, so that a call whose arguments are too deep still gets
// an answer that a model can read.
const MaxDepth = 1000

// Message is one request or notification.
type Message struct {
	ID     json.RawMessage // a string or an integer; nil for a notification
	Method string
	Params json.RawMessage // an object; nil if absent
}

// Parse reads one message (R-H4). With an error the message still has its ID if
// that could be read. Codes: CodeParse, CodeInvalidRequest.
func Parse(body []byte) (Message, *Error) {
	m, err := parse(body)
	if err != nil && m.ID == nil {
		m.ID = rescueID(body)
	}
	return m, err
}

func parse(body []byte) (m Message, _ *Error) {
	if isBatch(body) {
		return m, Errorf(CodeInvalidRequest, "one message a request: batches are not accepted")
	}
	members, syntax := scan(body)
	if syntax != nil {
		return m, syntax
	}
	if members == nil {
		return m, Errorf(CodeInvalidRequest, "a message is an object")
	}
	if id, there := members["id"]; there {
		if !ValidID(id) {
			return m, Errorf(CodeInvalidRequest, "id must be a string or an integer")
		}
		m.ID = id
	}
	var version string
	if json.Unmarshal(members["jsonrpc"], &version) != nil || version != "2.0" {
		return m, Errorf(CodeInvalidRequest, `jsonrpc must be "2.0"`)
	}
	method := members["method"]
	if len(method) == 0 || method[0] != '"' || json.Unmarshal(method, &m.Method) != nil {
		return m, Errorf(CodeInvalidRequest, "method must be a string")
	}
	if params, there := members["params"]; there {
		if params[0] != '{' {
			return m, Errorf(CodeInvalidRequest, "params must be an object")
		}
		m.Params = params
	}
	return m, nil
}

// scan splits the body into its top-level members, having checked all of its
// JSON. It returns nil, nil for a value that is no object.
func scan(body []byte) (map[string]json.RawMessage, *Error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body))
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return nil, syntaxError(err)
		}
		return nil, trailing(dec)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	members := map[string]json.RawMessage{}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, syntaxError(err)
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, syntaxError(err)
		}
		depth, representable := measure(value)
		switch {
		case depth >= MaxDepth:
			return nil, Errorf(CodeParse, "nested more than %d levels deep", MaxDepth)
		case !representable:
			return nil, Errorf(CodeParse, "a number is too large")
		}
		members[key] = json.RawMessage(value.Clone())
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, syntaxError(err)
	}
	return members, trailing(dec)
}

func trailing(dec *jsontext.Decoder) *Error {
	switch _, err := dec.ReadToken(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return syntaxError(err)
	}
	return Errorf(CodeParse, "text after the message")
}

func syntaxError(err error) *Error {
	var s *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return Errorf(CodeParse, "a name stands twice in one object")
	case errors.As(err, &s):
		return Errorf(CodeParse, "not JSON at byte %d", s.ByteOffset)
	}
	return Errorf(CodeParse, "not JSON: the message ends too early")
}

// rescueID finds the id of a message that is bad elsewhere. Two ids are none.
func rescueID(body []byte) json.RawMessage {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		return nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	var id json.RawMessage
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return id
		}
		isID := name.String() == "id"
		value, err := dec.ReadValue()
		if err != nil {
			return id
		}
		if !isID {
			continue
		}
		if id != nil || !ValidID(json.RawMessage(value)) {
			return nil
		}
		id = json.RawMessage(value.Clone())
	}
	return id
}

// ValidID reports whether raw, a JSON value or nil, is a string or an integer that
// is written as one, as ids and progress tokens are.
func ValidID(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return false
	}
	if raw[0] == '"' {
		return jsontext.Value(raw).IsValid()
	}
	for i, c := range raw {
		if (c < '0' || c > '9') && (i > 0 || c != '-') {
			return false
		}
	}
	return true
}
