package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Registry holds the tools of one deployment. It is safe for concurrent use.
type Registry struct {
	mu     sync.RWMutex
	tools  []*Tool
	byName map[string]*Tool
}

// New makes an empty registry.
func New() *Registry { return &Registry{byName: map[string]*Tool{}} }

// Tool is a registered tool. It does not change.
type Tool struct {
	definition mcp.Tool
	options    Options
	entry      json.RawMessage
	headers    []HeaderParam
	input      *schema
	output     *schema // nil: no promise about structuredContent
	// handle runs the author's handler on validated arguments.
	handle handler
	// raw tools get their arguments as they came, and their plain errors are
	// protocol errors.
	raw bool
}

type handler func(ctx context.Context, req *mcp.CallToolRequest, args json.RawMessage) (*mcp.CallToolResult, error)

// AddRaw registers a tool whose handler reads its own arguments, as
// mcp.Server.AddTool does. t.InputSchema may be a json.RawMessage, a map, a
// *jsonschema.Schema, or anything that marshals to a schema; it is listed as it
// is. Unlike there, arguments are checked against it before the handler sees
// them, and structuredContent against t.OutputSchema (R-H8, R-P9). An error that
// is not a *jsonrpc.Error fails the call; a tool error is a result with IsError.
//
// It panics if the definition or the options are faulty or the name is taken.
func AddRaw(r *Registry, t *mcp.Tool, h mcp.ToolHandler, o Options) {
	if h == nil {
		panic(fmt.Sprintf("tool.AddRaw: tool %q has no handler", t.Name))
	}
	added, err := define(t, o)
	if err != nil {
		panic(fmt.Sprintf("tool.AddRaw: tool %q: %v", t.Name, err))
	}
	added.raw = true
	added.handle = func(ctx context.Context, req *mcp.CallToolRequest, _ json.RawMessage) (*mcp.CallToolResult, error) {
		return h(ctx, req)
	}
	if err := r.add(added); err != nil {
		panic(fmt.Sprintf("tool.AddRaw: %v", err))
	}
}

// add registers all of the tools or none.
func (r *Registry) add(tools ...*Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	byName := maps.Clone(r.byName)
	for _, t := range tools {
		if _, taken := byName[t.Name()]; taken {
			return fmt.Errorf("tool %q is registered twice", t.Name())
		}
		byName[t.Name()] = t
	}
	r.byName = byName
	r.tools = append(r.tools, tools...)
	return nil
}

// Tools lists the tools in the order of their registration.
func (r *Registry) Tools() []*Tool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.tools)
}

// Lookup finds a tool by its name.
func (r *Registry) Lookup(name string) (*Tool, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.byName[name]
	return t, ok
}

// Name is the tool's name.
func (t *Tool) Name() string { return t.definition.Name }

// Definition is the tool as listed; its schemas are json.RawMessage.
func (t *Tool) Definition() *mcp.Tool {
	d := t.definition
	return &d
}

// Options are the tool's options with every default filled in.
func (t *Tool) Options() Options { return t.options }

// Scopes are the OAuth scopes that a caller needs beyond those of every request.
func (t *Tool) Scopes() []string { return slices.Clone(t.options.Scopes) }

// ListEntry is the tool's entry in tools/list: its schemas are the author's own
// but for white space between tokens.
func (t *Tool) ListEntry() json.RawMessage { return bytes.Clone(t.entry) }

// HeaderParams are the arguments that HTTP clients mirror into headers (R-H2).
func (t *Tool) HeaderParams() []HeaderParam { return slices.Clone(t.headers) }

// define checks a definition and its options and prepares all but the handler.
func define(t *mcp.Tool, o Options) (*Tool, error) {
	if err := checkName(t.Name); err != nil {
		return nil, err
	}
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	out := &Tool{definition: *t, options: o}
	if out.input, err = compileInput(t.InputSchema); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if out.headers, err = headerParams(out.input.root); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	out.definition.InputSchema = out.input.json
	if t.OutputSchema != nil {
		if out.output, err = compile(t.OutputSchema); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
		out.definition.OutputSchema = out.output.json
	}
	if out.entry, err = encode(&out.definition); err != nil {
		return nil, fmt.Errorf("it can't be listed: %w", err)
	}
	return out, nil
}

// checkName holds a name to the specification: 1 to 128 of A-Z a-z 0-9 _ - .
func checkName(name string) error {
	if name == "" || len(name) > 128 {
		return fmt.Errorf("the name has %d characters, want 1 to 128", len(name))
	}
	for _, c := range name {
		if !isNameRune(c) {
			return fmt.Errorf("the name has the character %q; allowed are A-Z a-z 0-9 _ - .", c)
		}
	}
	return nil
}

func isNameRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// encode is json.Marshal without escapes for HTML.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
