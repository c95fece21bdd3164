package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"toolhost/pkg/jsonrpc"
)

// arguments puts what was given together: base, a JSON object or "", and over it
// a member for each flag.
func (t *terminal) arguments(s inputSchema, base string, flags []given) (json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if base != "" {
		var err error
		if out, err = t.object("--args", base); err != nil {
			return nil, err
		}
	}
	lists := map[string][]json.RawMessage{}
	seen := map[string]bool{}
	var files []given
	for _, g := range flags {
		p := g.flag.property
		if p.kinds.only("array") && !g.flag.file {
			items, err := t.items(g)
			if err != nil {
				return nil, err
			}
			lists[p.name] = append(lists[p.name], items...)
			out[p.name] = jsonrpc.Encode(append([]json.RawMessage{}, lists[p.name]...)) // an empty one is no null
			continue
		}
		if seen[p.name] {
			return nil, usagef("--%s was given twice", g.flag.name)
		}
		seen[p.name] = true
		if g.flag.file {
			files = append(files, g) // when it is known what --encoding says
			continue
		}
		value, err := t.value(g)
		if err != nil {
			return nil, err
		}
		out[p.name] = value
	}
	for _, g := range files {
		if err := t.file(g, s, out); err != nil {
			return nil, err
		}
	}
	return jsonrpc.Encode(out), nil
}

// object reads a JSON object, or @path of one.
func (t *terminal) object(flag, value string) (map[string]json.RawMessage, error) {
	text, err := t.text(flag, value)
	if err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, usagef("%s is no JSON object: %w", flag, err)
	}
	if object == nil {
		return nil, usagef("%s is no JSON object", flag)
	}
	return object, nil
}

// value is the JSON of a flag's text, of the type that the property has.
func (t *terminal) value(g given) (json.RawMessage, error) {
	name, p := "--"+g.flag.name, g.flag.property
	content, fromFile, err := t.content(name, g.text)
	if err != nil {
		return nil, err
	}
	if fromFile && p.contentCoded {
		return jsonrpc.Encode(base64.StdEncoding.EncodeToString(content)), nil
	}
	if !utf8.Valid(content) {
		return nil, usagef("%s: this is not UTF-8 text", name)
	}
	value, ok := p.kinds.read(string(content))
	if !ok {
		return nil, usagef("%s takes %s, not %q", name, strings.Join(p.kinds, " or "), clip(string(content)))
	}
	return value, nil
}

// items are what one of an array's flags adds: an item, all of a JSON array, or
// from a file without one its lines.
func (t *terminal) items(g given) ([]json.RawMessage, error) {
	name, p := "--"+g.flag.name, g.flag.property
	content, fromFile, err := t.content(name, g.text)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(content) {
		return nil, usagef("%s: this is not UTF-8 text", name)
	}
	items := []json.RawMessage{}
	if json.Unmarshal(content, &items) == nil && items != nil {
		return items, nil
	}
	texts := []string{string(content)}
	if fromFile {
		texts = strings.FieldsFunc(string(content), func(r rune) bool { return r == '\n' || r == '\r' })
	}
	for _, text := range texts {
		item, ok := p.items.read(text)
		if !ok {
			return nil, usagef("%s takes %s, not %q", name, strings.Join(p.items, " or "), clip(text))
		}
		items = append(items, item)
	}
	return items, nil
}

// read is text as a value of one of the types: JSON where that is allowed, else
// text where that is.
func (k kinds) read(text string) (json.RawMessage, bool) {
	trimmed := strings.TrimSpace(text)
	if !k.only("string") && json.Valid([]byte(trimmed)) {
		if kind := kindOf(trimmed); k.has(kind) || kind == "number" && k.has("integer") {
			return json.RawMessage(trimmed), true
		}
	}
	return jsonrpc.Encode(text), k.has("string")
}

// kindOf is the type of a JSON value; an integer is a number.
func kindOf(value string) string {
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// file puts a file's content into the arguments. Bytes that are no UTF-8 go as
// base64 where the tool says that it takes it.
func (t *terminal) file(g given, s inputSchema, out map[string]json.RawMessage) error {
	content, err := t.read("--file", strings.TrimPrefix(g.text, "@"))
	if err != nil {
		return err
	}
	p := g.flag.property
	encoding := string(out["encoding"])
	switch {
	case p.contentCoded:
		content = []byte(base64.StdEncoding.EncodeToString(content))
	case utf8.Valid(content):
	case s.takesBase64() && (encoding == "" || encoding == `"base64"`):
		content = []byte(base64.StdEncoding.EncodeToString(content))
		out["encoding"] = json.RawMessage(`"base64"`)
	case s.takesBase64():
		return usagef("%s is not UTF-8 text: leave --encoding out, and it is sent as base64", g.text)
	default:
		return usagef("%s is not UTF-8 text, and the tool does not say that it takes base64", g.text)
	}
	out[p.name] = jsonrpc.Encode(string(content))
	return nil
}

// text is a flag's text, or the file's that @path names.
func (t *terminal) text(flag, value string) (string, error) {
	content, _, err := t.content(flag, value)
	if err == nil && !utf8.Valid(content) {
		err = usagef("%s: this is not UTF-8 text", flag)
	}
	return string(content), err
}

// content reads @path (@- is standard input), and takes anything else as it is;
// @@ is a literal @.
func (t *terminal) content(flag, value string) (content []byte, fromFile bool, err error) {
	path, marked := strings.CutPrefix(value, "@")
	if !marked || strings.HasPrefix(path, "@") {
		return []byte(path), false, nil
	}
	content, err = t.read(flag, path)
	var missing *fs.PathError
	if errors.As(err, &missing) && errors.Is(err, fs.ErrNotExist) {
		err = usagef("%w (for the text %s write @%s)", err, value, value)
	}
	return content, true, err
}

// maxFile is more than any server takes.
const maxFile = 64 << 20

// read reads a file, or standard input if it is called -.
func (t *terminal) read(flag, path string) ([]byte, error) {
	in := t.in
	if path != "-" {
		f, err := os.Open(path) // #nosec G304 -- a file that the user names
		if err != nil {
			return nil, usagef("%s: %w", flag, err)
		}
		defer f.Close()
		in = f
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(in, maxFile+1)); err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	if b.Len() > maxFile {
		return nil, usagef("%s: %s has more than %d MB, which no tool takes as an argument", flag, path, maxFile>>20)
	}
	return b.Bytes(), nil
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return fmt.Sprintf("%s…", string(r[:60]))
	}
	return s
}
