package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// newForm makes the form of a struct type, within what MCP lets a client be
// asked: a flat object of strings, numbers, booleans and selections.
func newForm(t reflect.Type) (*form, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%v is not a struct", t)
	}
	s, err := infer(t)
	if err != nil {
		return nil, err
	}
	// Extra properties are no fault (R-U7), and MCP's subset has no such keyword.
	s.AdditionalProperties = nil
	f := &form{formats: map[string]string{}}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		p := s.Properties[name]
		if p == nil || field.Anonymous {
			continue
		}
		if err := describe(p, field); err != nil {
			return nil, fmt.Errorf("field %s: %w", field.Name, err)
		}
		if p.Default != nil || field.Type.Kind() == reflect.Pointer {
			s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
		}
		if p.Format != "" {
			f.formats[name] = p.Format
		}
	}
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	if f.schema, err = compileInput(s); err != nil {
		return nil, err
	}
	return f, nil
}

// describe turns the inferred schema of a field into one of MCP's, by its tags.
func describe(p *jsonschema.Schema, field reflect.StructField) error {
	if types := slices.DeleteFunc(slices.Clone(p.Types), func(t string) bool { return t == "null" }); len(types) == 1 {
		p.Type, p.Types = types[0], nil
	}
	if !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, p.Type) {
		return fmt.Errorf("a form has no field of type %v", field.Type)
	}
	p.Title = field.Tag.Get("title")
	p.Format = field.Tag.Get("format")
	if underlying(field.Type) == reflect.TypeFor[time.Time]() {
		p.Format = "date-time"
	}
	if p.Format != "" && formats[p.Format] == nil {
		return fmt.Errorf("unknown format %q, known are %s", p.Format, strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	}
	if err := choose(p, field); err != nil {
		return err
	}
	if err := bind(p, field); err != nil {
		return err
	}
	if text, given := field.Tag.Lookup("default"); given {
		value, err := defaultOf(p, text)
		if err != nil {
			return err
		}
		p.Default = value
	}
	return nil
}

func underlying(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// choose makes a field with an enum a selection of one, or of several for a list.
func choose(p *jsonschema.Schema, field reflect.StructField) error {
	options := split(field.Tag.Get("enum"))
	titles := split(field.Tag.Get("titles"))
	switch {
	case p.Type == "array" && (options == nil || p.Items == nil || p.Items.Type != "string"):
		return fmt.Errorf("a list needs strings and an enum tag")
	case options == nil && titles == nil:
		return nil
	case p.Type != "string" && p.Type != "array":
		return fmt.Errorf("an enum is for strings")
	case titles != nil && len(titles) != len(options):
		return fmt.Errorf("%d titles for %d options", len(titles), len(options))
	}
	var values []any
	var titled []*jsonschema.Schema
	for i, o := range options {
		values = append(values, o)
		if titles != nil {
			value := any(o)
			titled = append(titled, &jsonschema.Schema{Const: &value, Title: titles[i]})
		}
	}
	switch {
	case p.Type == "array" && titled != nil:
		p.Items = &jsonschema.Schema{AnyOf: titled}
	case p.Type == "array":
		p.Items.Enum = values
	case titled != nil:
		p.OneOf = titled
	default:
		p.Enum = values
	}
	return nil
}

func split(tag string) []string {
	if tag == "" {
		return nil
	}
	return strings.Split(tag, "|")
}

// bind sets the bounds that a field's tags name.
func bind(p *jsonschema.Schema, field reflect.StructField) error {
	for _, b := range []struct {
		tag    string
		types  string
		number **float64
		count  **int
	}{
		{"minimum", "number integer", &p.Minimum, nil},
		{"maximum", "number integer", &p.Maximum, nil},
		{"minLength", "string", nil, &p.MinLength},
		{"maxLength", "string", nil, &p.MaxLength},
		{"minItems", "array", nil, &p.MinItems},
		{"maxItems", "array", nil, &p.MaxItems},
	} {
		text, given := field.Tag.Lookup(b.tag)
		if !given {
			continue
		}
		if !slices.Contains(strings.Fields(b.types), p.Type) {
			return fmt.Errorf("%s does not go with type %s", b.tag, p.Type)
		}
		var err error
		if b.number != nil {
			var x float64
			x, err = strconv.ParseFloat(text, 64)
			*b.number = &x
		} else {
			var n int
			n, err = strconv.Atoi(text)
			*b.count = &n
		}
		if err != nil {
			return fmt.Errorf("%s is %q, want a number", b.tag, text)
		}
	}
	return nil
}

func defaultOf(p *jsonschema.Schema, text string) (json.RawMessage, error) {
	switch p.Type {
	case "string":
		return encode(text)
	case "array":
		return encode(split(text))
	}
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("default %q is not a %s", text, p.Type)
	}
	return json.RawMessage(text), nil
}

// formats are those of MCP's forms, each with its check and an example.
var formats = map[string]func(string) error{
	"email":     func(s string) error { _, err := mail.ParseAddress(s); return err },
	"date":      func(s string) error { _, err := time.Parse(time.DateOnly, s); return err },
	"date-time": func(s string) error { _, err := time.Parse(time.RFC3339, s); return err },
	"uri": func(s string) error {
		u, err := url.Parse(s)
		if err == nil && !u.IsAbs() {
			err = fmt.Errorf("it is relative")
		}
		return err
	},
}

// checkFormats holds content, which fits the schema, to the fields' formats.
func (f *form) checkFormats(content json.RawMessage) error {
	if len(f.formats) == 0 {
		return nil
	}
	var fields map[string]any
	if err := json.Unmarshal(content, &fields); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(f.formats)) {
		text, given := fields[name].(string)
		if given && formats[f.formats[name]](text) != nil {
			return fmt.Errorf("%s: got %s, want a string of format %s", property("content", name), show(text), f.formats[name])
		}
	}
	return nil
}
