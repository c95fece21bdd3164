package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"toolhost/pkg/limits"
)

// maxSchemaDepth bounds the nesting of a schema itself.
const maxSchemaDepth = 200

// checkBudget bounds the work of one check: bytes of the value, times the
// schemas that can meet on its levels (R-H12).
const checkBudget = 1 << 27

// schema is a compiled JSON Schema.
type schema struct {
	json     json.RawMessage // as its author wrote it, without white space
	root     *node
	resolved *jsonschema.Resolved
	// meets[d] is how many schemas can meet on the first d levels of a value.
	meets []int64
}

// compile prepares a schema of any form that marshals to one. It refuses
// unknown dialects, references that leave the schema, and schemas that would
// never end (R-H12).
func compile(form any) (s *schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("not a JSON Schema: %v", p)
		}
	}()
	text, err := schemaText(form)
	if err != nil {
		return nil, err
	}
	doc, err := decodeDocument(text, "schema", maxSchemaDepth)
	if err != nil {
		return nil, err
	}
	s = &schema{json: text}
	if s.root, err = newNode(doc.value); err != nil {
		return nil, err
	}
	s.meets = s.root.meetings(limits.MaxJSONDepth)
	var typed jsonschema.Schema
	if err := json.Unmarshal(text, &typed); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	// The library can't check defaults under dynamic references.
	checkDefaults := !bytes.Contains(text, []byte(`"$dynamicRef"`))
	if s.resolved, err = typed.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: checkDefaults}); err != nil {
		return nil, err
	}
	return s, nil
}

func schemaText(form any) (json.RawMessage, error) {
	text, isRaw := form.(json.RawMessage)
	if !isRaw {
		var err error
		if text, err = encode(form); err != nil {
			return nil, fmt.Errorf("it can't be encoded: %w", err)
		}
	}
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	return b.Bytes(), nil
}

// compileInput compiles a schema whose root must be an object.
func compileInput(form any) (*schema, error) {
	if form == nil {
		return nil, errors.New("missing")
	}
	s, err := compile(form)
	if err != nil {
		return nil, err
	}
	if s.root.keyword("type") != "object" {
		return nil, fmt.Errorf(`its type must be "object", got %v`, s.root.keyword("type"))
	}
	return s, nil
}

// check holds a value to the schema. It returns the value with its defaults
// applied, or an error that names the properties at fault, from root on.
func (s *schema) check(text json.RawMessage, root string) (checked json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			checked, err = nil, fmt.Errorf("%s: can't be checked against the schema", root)
		}
	}()
	doc, err := decodeDocument(text, root, limits.MaxJSONDepth)
	if err != nil {
		return nil, err
	}
	if int64(len(text))*s.meets[doc.depth] > checkBudget {
		return nil, fmt.Errorf("%s: %d bytes, nested %d levels deep, are too much to check against this schema", root, len(text), doc.depth)
	}
	value := doc.value
	_, isObject := value.(map[string]any)
	if isObject {
		if err := s.resolved.ApplyDefaults(&value); err != nil {
			return nil, fmt.Errorf("%s: a default can't be applied", root)
		}
	}
	if fault := s.resolved.Validate(&value); fault != nil {
		return nil, errors.New(s.explain(root, value, fault))
	}
	if !isObject {
		return text, nil
	}
	return encode(value)
}
