package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	segment "github.com/segmentio/encoding/json"
)

// document is decoded JSON that is safe to check: its depth is known, and no
// object names a property twice.
type document struct {
	value any // map[string]any, []any, string, bool, nil, int64, uint64 or float64
	depth int // levels of objects and arrays
}

// misplaced is a fault in a JSON value: where, and what.
type misplaced struct{ at, what string }

func (m *misplaced) Error() string { return m.at + ": " + m.what }

// decodeDocument decodes text. Integers keep their value where 64 bits can hold
// it. An error names the place, from root on.
func decodeDocument(text []byte, root string, maxDepth int) (document, error) {
	d := decoder{tokens: json.NewDecoder(bytes.NewReader(text)), maxDepth: maxDepth}
	d.tokens.UseNumber()
	v, fault := d.value(0)
	if fault == nil {
		if _, err := d.tokens.Token(); !errors.Is(err, io.EOF) {
			fault = &misplaced{what: "text follows the JSON value"}
		}
	}
	if fault != nil {
		fault.at = root + shorten(fault.at, 120)
		return document{}, fault
	}
	return document{v, d.deepest}, nil
}

type decoder struct {
	tokens            *json.Decoder
	deepest, maxDepth int
}

// value decodes one value; a fault's place is relative to it.
func (d *decoder) value(depth int) (any, *misplaced) {
	t, err := d.tokens.Token()
	if err != nil {
		return nil, &misplaced{what: "not valid JSON"}
	}
	switch t := t.(type) {
	case json.Number:
		return number(t.String())
	case json.Delim:
		depth++
		d.deepest = max(d.deepest, depth)
		if depth > d.maxDepth {
			return nil, &misplaced{what: fmt.Sprintf("nested deeper than %d levels", d.maxDepth)}
		}
		if t == '{' {
			return d.object(depth)
		}
		return d.array(depth)
	default:
		return t, nil
	}
}

func (d *decoder) object(depth int) (any, *misplaced) {
	out := map[string]any{}
	for d.tokens.More() {
		t, err := d.tokens.Token()
		if err != nil {
			return nil, &misplaced{what: "not valid JSON"}
		}
		name, _ := t.(string)
		if _, twice := out[name]; twice {
			return nil, &misplaced{at: property("", name), what: "given twice"}
		}
		v, fault := d.value(depth)
		if fault != nil {
			fault.at = property("", name) + fault.at
			return nil, fault
		}
		out[name] = v
	}
	return out, d.end()
}

func (d *decoder) array(depth int) (any, *misplaced) {
	out := []any{}
	for d.tokens.More() {
		v, fault := d.value(depth)
		if fault != nil {
			fault.at = item("", len(out)) + fault.at
			return nil, fault
		}
		out = append(out, v)
	}
	return out, d.end()
}

func (d *decoder) end() *misplaced {
	if _, err := d.tokens.Token(); err != nil {
		return &misplaced{what: "not valid JSON"}
	}
	return nil
}

func number(text string) (any, *misplaced) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, &misplaced{what: "the number is out of range"}
	}
	return f, nil
}

// decodeInto fills a Go value as the SDK does: names match exactly.
func decodeInto(text json.RawMessage, into any) error {
	_, err := segment.Parse(text, into, segment.DontMatchCaseInsensitiveStructFields)
	return err
}

// misfit says that a Go type can't hold an argument, though the schema allows
// it, without the names of Go types.
func misfit(err error) error {
	kind := "value"
	var wrong *segment.UnmarshalTypeError
	if errors.As(err, &wrong) {
		kind, _, _ = strings.Cut(wrong.Value, " ")
	}
	return fmt.Errorf("arguments: a %s in them is more than the tool can take", kind)
}

// property is the path of an object's property, for people and models.
func property(path, name string) string {
	for _, c := range name {
		if !isNameRune(c) || c == '.' {
			return path + "[" + strconv.Quote(shorten(name, 40)) + "]"
		}
	}
	return path + "." + shorten(name, 40)
}

func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// shorten cuts text to about n bytes, between characters.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + "…"
}
