package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"toolhost/pkg/client"
)

// property is one argument of a tool.
type property struct {
	Name            string `json:"-"`
	Type            types  `json:"type"`
	Title           string `json:"title"`
	Description     string `json:"description"`
	Enum            []any  `json:"enum"`
	MediaType       string `json:"contentMediaType"`
	ContentEncoding string `json:"contentEncoding"`
}

// types is JSON Schema's "type": a name, or a list of names.
type types []string

func (t *types) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

func (t types) only(name string) bool {
	return slices.Contains(t, name) && !slices.ContainsFunc(t, func(s string) bool { return s != name && s != "null" })
}

// file reports whether the property is a file's content.
func (p property) file() bool { return p.MediaType != "" || p.Name == "file" && p.Type.only("string") }

// inputSchema is what the command line needs to know of a tool's arguments.
type inputSchema struct {
	properties []property // in the schema's order
	required   []string
}

func readSchema(raw json.RawMessage) (inputSchema, error) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return inputSchema{}, err
	}
	out := inputSchema{required: s.Required}
	err := eachMember(s.Properties, func(name string, value json.RawMessage) error {
		p := property{}
		if len(value) > 0 && value[0] == '{' { // true and false are schemas, too
			if err := json.Unmarshal(value, &p); err != nil {
				return err
			}
		}
		p.Name = name
		out.properties = append(out.properties, p)
		return nil
	})
	return out, err
}

// eachMember visits an object's members in their order.
func eachMember(object json.RawMessage, visit func(name string, value json.RawMessage) error) error {
	if len(bytes.TrimSpace(object)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return err
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
		if err := visit(fmt.Sprint(name), value); err != nil {
			return err
		}
	}
	return nil
}

// parseArguments reads what follows the tool's name: our flags, and one for
// each of the tool's properties.
func parseArguments(t *terminal, tool client.Tool, args []string) (callFlags, json.RawMessage, error) {
	schema, err := readSchema(tool.InputSchema)
	if err != nil {
		return callFlags{}, nil, fmt.Errorf("the schema of %s can't be read: %w", tool.Name, err)
	}
	target := reflect.New(commandStruct(schema))
	exited := false
	parser, err := kong.New(target.Interface(), kong.Name("toolhost call "+tool.Name), kong.Description(escapeHelp(tool.Description)),
		kong.Writers(t.out, t.err), kong.Exit(func(int) { exited = true }), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		return callFlags{}, nil, fmt.Errorf("the arguments of %s can't be flags (use --args): %w", tool.Name, err)
	}
	_, err = parser.Parse(args)
	if exited {
		return callFlags{}, nil, exitError(exitOK)
	}
	if err != nil {
		return callFlags{}, nil, usagef("%v; 'toolhost call %s --help' lists its arguments", err, tool.Name)
	}
	flags := target.Elem().Field(0).Interface().(callFlags)
	arguments := map[string]json.RawMessage{}
	if flags.Args != "" {
		text, err := textOrFile(flags.Args)
		if err != nil {
			return flags, nil, err
		}
		if err := json.Unmarshal([]byte(text), &arguments); err != nil {
			return flags, nil, usagef("--args is no JSON object: %v", err)
		}
	}
	for i, p := range schema.properties {
		if err := p.read(target.Elem().Field(i+1).Interface(), schema, arguments); err != nil {
			return flags, nil, err
		}
	}
	raw, err := json.Marshal(arguments)
	return flags, raw, err
}

// commandStruct makes the struct that kong reads flags into: callFlags, then a
// field for each property.
func commandStruct(s inputSchema) reflect.Type {
	own := reflect.TypeFor[callFlags]()
	fields := []reflect.StructField{{Name: "Own", Type: own, Tag: `embed:""`}}
	taken := []string{"url", "args", "answers", "detach", "json", "help"}
	for i, p := range s.properties {
		flag := p.Name
		if slices.Contains(taken, flag) {
			flag = "arg-" + flag
		}
		field := reflect.StructField{Name: "P" + strconv.Itoa(i), Type: reflect.TypeFor[*string]()}
		placeholder := "VALUE"
		switch {
		case p.Type.only("boolean"):
			field.Type = reflect.TypeFor[*bool]()
		case p.Type.only("array"):
			field.Type, placeholder = reflect.TypeFor[[]string](), "VALUE"
		case p.file():
			placeholder = "PATH"
		case len(p.Type) == 1:
			placeholder = strings.ToUpper(p.Type[0])
		}
		help := p.Description
		if help == "" {
			help = p.Title
		}
		if len(p.Enum) > 0 {
			help = strings.TrimSpace(fmt.Sprintf("%s One of %v.", help, p.Enum))
		}
		if slices.Contains(s.required, p.Name) {
			help = strings.TrimSpace(help + " Required.")
		}
		tag := fmt.Sprintf("name:%q help:%q group:\"Arguments\" placeholder:%q", flag, escapeHelp(help), placeholder)
		switch field.Type.Kind() {
		case reflect.Slice:
			tag += ` sep:"none"`
		default:
			if field.Type == reflect.TypeFor[*bool]() {
				tag = fmt.Sprintf("name:%q help:%q group:\"Arguments\" negatable:\"\"", flag, escapeHelp(help))
			}
		}
		field.Tag = reflect.StructTag(tag)
		fields = append(fields, field)
	}
	return reflect.StructOf(fields)
}

// escapeHelp keeps kong from expanding ${…} in other people's words.
func escapeHelp(s string) string { return strings.ReplaceAll(s, "$", "$$") }

// read puts a flag's value, if it was given, into the arguments.
func (p property) read(flag any, s inputSchema, arguments map[string]json.RawMessage) error {
	var value any
	switch v := flag.(type) {
	case *bool:
		if v == nil {
			return nil
		}
		value = *v
	case []string:
		if v == nil {
			return nil
		}
		list := make([]json.RawMessage, len(v))
		for i, item := range v {
			list[i] = loose(item)
		}
		if len(v) == 1 && strings.HasPrefix(strings.TrimSpace(v[0]), "[") && json.Valid([]byte(v[0])) {
			value = json.RawMessage(v[0])
		} else {
			value = list
		}
	case *string:
		if v == nil {
			return nil
		}
		if p.file() {
			return p.readFile(*v, s, arguments)
		}
		text, err := textOrFile(*v)
		if err != nil {
			return err
		}
		switch {
		case p.Type.only("string"):
			value = text
		case p.Type.only("integer"), p.Type.only("number"):
			if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid([]byte(text)) {
				return usagef("--%s takes a number, not %q", p.Name, text)
			}
			value = json.RawMessage(text)
		default:
			value = loose(text)
		}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return usagef("--%s: %v", p.Name, err)
	}
	arguments[p.Name] = raw
	return nil
}

// readFile sends a file's content. Bytes that are no UTF-8 go as base64 where
// the tool says that it takes it.
func (p property) readFile(path string, s inputSchema, arguments map[string]json.RawMessage) error {
	content, err := os.ReadFile(strings.TrimPrefix(path, "@"))
	if err != nil {
		return usageError{err}
	}
	text := string(content)
	takesEncoding := slices.ContainsFunc(s.properties, func(q property) bool {
		return q.Name == "encoding" && slices.Contains(q.Enum, any("base64"))
	})
	switch {
	case p.ContentEncoding == "base64":
		text = base64.StdEncoding.EncodeToString(content)
	case !utf8.Valid(content) && takesEncoding:
		text = base64.StdEncoding.EncodeToString(content)
		arguments["encoding"] = json.RawMessage(`"base64"`)
	case !utf8.Valid(content):
		return usagef("%s is not UTF-8 text, and the tool does not say that it takes base64", path)
	}
	raw, err := json.Marshal(text)
	arguments[p.Name] = raw
	return err
}

// loose is a value whose type the schema leaves open: JSON if it is JSON, else text.
func loose(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, _ := json.Marshal(text)
	return raw
}

// textOrFile reads @path, and takes anything else as it is; @@ is a literal @.
func textOrFile(value string) (string, error) {
	path, isFile := strings.CutPrefix(value, "@")
	if !isFile || strings.HasPrefix(path, "@") {
		return path, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", usageError{err}
	}
	return string(content), nil
}

// parseAnswers reads --answers.
func parseAnswers(value string) (map[string]json.RawMessage, error) {
	if value == "" {
		return nil, nil
	}
	text, err := textOrFile(value)
	if err != nil {
		return nil, err
	}
	var answers map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &answers); err != nil {
		return nil, usagef("the answers are no JSON object: %v", err)
	}
	for key, a := range answers {
		var response struct {
			Action string `json:"action"`
		}
		if err := json.Unmarshal(a, &response); err != nil {
			return nil, usagef("the answer to %q is no JSON object: %v", key, err)
		}
		switch response.Action {
		case "accept", "decline", "cancel":
		default:
			answers[key] = json.RawMessage(`{"action":"accept","content":` + string(a) + `}`)
		}
	}
	return answers, nil
}

// flagValue finds a flag's value before the line can be parsed.
func flagValue(args []string, name, otherwise string) string {
	for i, a := range args {
		if v, is := strings.CutPrefix(a, "--"+name+"="); is {
			return v
		}
		if a == "--"+name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return otherwise
}

func findTool(tools []client.Tool, name string) (client.Tool, error) {
	var names []string
	for _, t := range tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return client.Tool{}, usageError{errors.New("there is no tool " + strconv.Quote(name) + "; there are: " + strings.Join(names, ", "))}
}
