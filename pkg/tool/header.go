package tool

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// HeaderParam is an argument that HTTP clients mirror into Mcp-Param-NAME.
type HeaderParam struct {
	Name string   // as in the schema's x-mcp-header
	Path []string // of property names, from the arguments object on
	Type string   // "string", "integer" or "boolean"
}

// headerParams reads the x-mcp-header annotations of an input schema, in order
// of their paths, and refuses those that break the rules (R-H11).
func headerParams(root *node) ([]HeaderParam, error) {
	var out []HeaderParam
	seen, reached := map[string]bool{}, map[*node]bool{}
	var walk func(n *node, path []string) error
	walk = func(n *node, path []string) error {
		reached[n] = true
		if annotation, given := n.lookup(headerKeyword); given {
			name, _ := annotation.(string)
			if !isToken(name) {
				return fmt.Errorf("%s: %s %v is not an HTTP token", strings.Join(path, "."), headerKeyword, show(annotation))
			}
			kind, _ := n.keyword("type").(string)
			if !slices.Contains([]string{"string", "integer", "boolean"}, kind) || len(path) == 0 {
				return fmt.Errorf("%s: %s needs a property of type string, integer or boolean", strings.Join(path, "."), headerKeyword)
			}
			if seen[strings.ToLower(name)] {
				return fmt.Errorf("%s: %s %q is used twice", strings.Join(path, "."), headerKeyword, name)
			}
			seen[strings.ToLower(name)] = true
			out = append(out, HeaderParam{name, slices.Clone(path), kind})
		}
		for _, name := range slices.Sorted(maps.Keys(n.props)) {
			if err := walk(n.props[name], append(path, name)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(root, nil); err != nil {
		return nil, err
	}
	return out, onlyReached(root, reached)
}

// headerKeyword is the annotation in a schema, and the tag of a struct's field.
const headerKeyword = "x-mcp-header"

// annotate copies the tags of t's fields into the schema that was inferred from
// it, wherever they stand: headerParams judges them.
func annotate(s *jsonschema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case s == nil:
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		annotate(s.Items, t.Elem())
	case t.Kind() == reflect.Map:
		annotate(s.AdditionalProperties, t.Elem())
	case t.Kind() == reflect.Struct:
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" {
				name = field.Name
			}
			p := s.Properties[name]
			if p == nil || field.Anonymous {
				continue
			}
			if header, tagged := field.Tag.Lookup(headerKeyword); tagged {
				p.Extra = map[string]any{headerKeyword: header}
			}
			annotate(p, field.Type)
		}
	}
}

// onlyReached refuses annotations on schemas that properties alone don't lead to.
func onlyReached(n *node, reached map[*node]bool) error {
	if _, given := n.lookup(headerKeyword); given && !reached[n] {
		return fmt.Errorf("%s is allowed only on what properties lead to", headerKeyword)
	}
	for _, child := range n.sub {
		if err := onlyReached(child, reached); err != nil {
			return err
		}
	}
	return nil
}

// isToken reports an HTTP token (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for _, c := range s {
		letterOrDigit := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letterOrDigit && !strings.ContainsRune("!#$%&'*+-.^_`|~", c) {
			return false
		}
	}
	return s != ""
}
