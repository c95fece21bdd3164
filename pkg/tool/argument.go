package tool

import (
	"encoding/json"
	"fmt"

	"toolhost/pkg/limits"
)

// Validate holds arguments to the tool's input schema. Its error is a sentence
// for the model that names each property at fault (R-H8): `arguments.count: got
// "x", want an integer`. Arguments that are too large, too deep, no object, or
// that name a property twice are refused as well; nil means {}.
func (t *Tool) Validate(args json.RawMessage) error {
	_, err := t.arguments(args)
	return err
}

// arguments validates. A typed tool gets its arguments with defaults applied, a
// raw one as they came.
func (t *Tool) arguments(args json.RawMessage) (json.RawMessage, error) {
	if args == nil {
		args = json.RawMessage("{}")
	}
	if len(args) > limits.MaxArguments {
		return nil, fmt.Errorf("arguments: %d bytes, the limit is %d", len(args), limits.MaxArguments)
	}
	complete, err := t.input.check(args, "arguments")
	if err != nil {
		return nil, err
	}
	if t.raw {
		return args, nil
	}
	return complete, nil
}
