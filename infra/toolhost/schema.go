package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// inputSchema is what the command line needs to know of a tool's arguments.
type inputSchema struct {
	properties []property // in the schema's order
}

// property is one argument of a tool.
type property struct {
	name                string
	required            bool
	title, description  string
	kinds               kinds
	items               kinds // of an array
	enum                []any
	fallback            json.RawMessage // the default
	media, contentCoded bool            // contentMediaType is there; contentEncoding is base64
}

// kinds are the JSON types that a value may have; none means any.
type kinds []string

// only reports whether the type is the one that is allowed, besides null.
func (k kinds) only(name string) bool {
	return slices.Contains(k, name) && !slices.ContainsFunc(k, func(s string) bool { return s != name && s != "null" })
}

func (k kinds) has(name string) bool { return len(k) == 0 || slices.Contains(k, name) }

// node is one schema, as far as it matters here. A schema may be true or false.
type node struct {
	Ref         string            `json:"$ref"`
	Type        json.RawMessage   `json:"type"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	OneOf       []json.RawMessage `json:"oneOf"`
	AllOf       []json.RawMessage `json:"allOf"`
	Enum        []any             `json:"enum"`
	Items       json.RawMessage   `json:"items"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
	Media       string            `json:"contentMediaType"`
	Encoding    string            `json:"contentEncoding"`
}

// parseNode reads a schema; what is not one counts as one that says nothing.
func parseNode(raw json.RawMessage) node {
	var n node
	if json.Unmarshal(raw, &n) != nil {
		return node{}
	}
	return n
}

func readSchema(raw json.RawMessage) (inputSchema, error) {
	root := parseNode(raw)
	var s inputSchema
	err := eachMember(root.Properties, func(name string, value json.RawMessage) {
		n := parseNode(value)
		p := property{name: name, required: slices.Contains(root.Required, name), title: n.Title, description: n.Description,
			enum: n.Enum, fallback: n.Default, media: n.Media != "", contentCoded: n.Encoding == "base64"}
		p.kinds, p.items = typesOf(raw, n, 0), typesOf(raw, parseNode(itemsOf(raw, n, 0)), 0)
		s.properties = append(s.properties, p)
	})
	return s, err
}

// missing names what the schema requires and the arguments don't have.
func (s inputSchema) missing(arguments json.RawMessage) []string {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(arguments, &given) // they were put together here
	var names []string
	for _, p := range s.properties {
		if given[p.name] == nil && p.required && p.fallback == nil {
			names = append(names, p.name)
		}
	}
	return names
}

// maxHops bounds how deep references and alternatives are followed.
const maxHops = 20

// typesOf collects the types that a schema allows, through its alternatives and
// the references within the document.
func typesOf(document json.RawMessage, n node, hops int) kinds {
	if hops > maxHops {
		return nil
	}
	var out kinds
	var one string
	if json.Unmarshal(n.Type, &one) == nil {
		out = kinds{one}
	} else {
		_ = json.Unmarshal(n.Type, &out) // another form says nothing
	}
	if n.Ref != "" {
		out = append(out, typesOf(document, parseNode(resolve(document, n.Ref)), hops+1)...)
	}
	for _, alternative := range slices.Concat(n.AnyOf, n.OneOf, n.AllOf) {
		out = append(out, typesOf(document, parseNode(alternative), hops+1)...)
	}
	if len(out) == 0 && len(n.Enum) > 0 && !slices.ContainsFunc(n.Enum, func(v any) bool { _, text := v.(string); return !text }) {
		return kinds{"string"}
	}
	return out
}

// itemsOf is the schema of an array's items, wherever it stands.
func itemsOf(document json.RawMessage, n node, hops int) json.RawMessage {
	if n.Items != nil || hops > maxHops {
		return n.Items
	}
	if n.Ref != "" {
		return itemsOf(document, parseNode(resolve(document, n.Ref)), hops+1)
	}
	for _, alternative := range slices.Concat(n.AnyOf, n.OneOf, n.AllOf) {
		if items := itemsOf(document, parseNode(alternative), hops+1); items != nil {
			return items
		}
	}
	return nil
}

// resolve follows a reference within the document, such as "#/$defs/address".
func resolve(document json.RawMessage, ref string) json.RawMessage {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for name := range strings.SplitSeq(pointer, "/") {
		var object map[string]json.RawMessage
		if json.Unmarshal(document, &object) != nil {
			return nil
		}
		document = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return document
}

// eachMember visits an object's members in their order.
func eachMember(object json.RawMessage, visit func(name string, value json.RawMessage)) error {
	if len(object) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return fmt.Errorf("properties is no object: %v", err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		visit(name.(string), value)
	}
	return nil
}

// file is the tool's one argument that is a file: the text that is named so, or
// the only one that the schema marks as encoded content.
func (s inputSchema) file() (string, bool) {
	var marked []string
	for _, p := range s.properties {
		if p.name == "file" && p.kinds.only("string") {
			return p.name, true
		}
		if p.media || p.contentCoded {
			marked = append(marked, p.name)
		}
	}
	if len(marked) == 1 {
		return marked[0], true
	}
	return "", false
}

// takesBase64 reports whether an argument named encoding says how a file is encoded.
func (s inputSchema) takesBase64() bool {
	return slices.ContainsFunc(s.properties, func(p property) bool {
		return p.name == "encoding" && slices.Contains(p.enum, any("base64"))
	})
}
