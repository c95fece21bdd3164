package tools

import "github.com/google/jsonschema-go/jsonschema"

// inputSchema is the schema of a tool's arguments: what follows from the type,
// and what constrain adds to its properties that Go's types can't say.
func inputSchema[In any](constrain func(properties map[string]*jsonschema.Schema)) *jsonschema.Schema {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(err) // a type that has no schema: no test of the tool would pass
	}
	constrain(schema.Properties)
	return schema
}
