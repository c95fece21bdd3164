package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Add registers a tool with typed arguments and results, as mcp.AddTool does: a
// handler written for that one moves here unchanged. In adds to a raw tool what
// the SDK adds:
//
//   - Without t.InputSchema the schema is inferred from In, which must be a
//     struct or a map; any stands for an object of anything. Beside the SDK's own
//     jsonschema tag, which describes a property, the tag x-mcp-header:"Region"
//     makes HTTP clients mirror it into the header Mcp-Param-Region (R-H11).
//   - Without t.OutputSchema, and unless Out is any, it is inferred from Out.
//   - Arguments are validated, defaults applied, and decoded into In.
//   - Out becomes structuredContent, validated, and the same JSON stands as text
//     if the handler sets no content (R-P9).
//   - A plain error becomes a tool error, which the model sees; a *jsonrpc.Error
//     (not wrapped) fails the call.
//
// There is no session: req.Session is nil. A handler asks with Ask, Sample and
// Roots, and shows progress with Report.
//
// Add panics if the definition or the options are faulty or the name is taken.
func Add[In, Out any](r *Registry, t *mcp.Tool, h mcp.ToolHandlerFor[In, Out], o Options) {
	if err := add(r, t, h, o); err != nil {
		panic(fmt.Sprintf("tool.Add: tool %q: %v", t.Name, err))
	}
}

func add[In, Out any](r *Registry, t *mcp.Tool, h mcp.ToolHandlerFor[In, Out], o Options) error {
	if h == nil {
		return fmt.Errorf("it has no handler")
	}
	d := *t
	if err := inferSchemas[In, Out](&d); err != nil {
		return err
	}
	added, err := define(&d, o)
	if err != nil {
		return err
	}
	// As in the SDK: if the schema was inferred from what Out points to, a nil
	// pointer stands for the zero value.
	var zero any
	if out := reflect.TypeFor[Out](); t.OutputSchema == nil && out.Kind() == reflect.Pointer {
		zero = reflect.Zero(out.Elem()).Interface()
	}
	added.handle = func(ctx context.Context, req *mcp.CallToolRequest, args json.RawMessage) (*mcp.CallToolResult, error) {
		var in In
		if err := decodeInto(args, &in); err != nil {
			return nil, misfit(err)
		}
		res, out, err := h(ctx, req, in)
		if err != nil {
			return nil, err
		}
		var filled mcp.CallToolResult
		if res != nil {
			filled = *res
		}
		if filled.InputRequests != nil {
			return &filled, nil
		}
		var value any = out
		if zero != nil && reflect.ValueOf(value).IsNil() {
			value = zero
		}
		if value != nil {
			filled.StructuredContent = value
		}
		return &filled, nil
	}
	return r.add(added)
}

// inferSchemas fills in the schemas that d lacks.
func inferSchemas[In, Out any](d *mcp.Tool) error {
	if d.InputSchema == nil {
		if reflect.TypeFor[In]() == reflect.TypeFor[any]() {
			d.InputSchema = &jsonschema.Schema{Type: "object"}
		} else {
			s, err := infer(reflect.TypeFor[In]())
			if err != nil {
				return fmt.Errorf("input schema: %w", err)
			}
			annotate(s, reflect.TypeFor[In]())
			d.InputSchema = s
		}
	}
	if d.OutputSchema == nil && reflect.TypeFor[Out]() != reflect.TypeFor[any]() {
		s, err := infer(reflect.TypeFor[Out]())
		if err != nil {
			return fmt.Errorf("output schema: %w", err)
		}
		d.OutputSchema = s
	}
	return nil
}

func infer(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return jsonschema.ForType(t, &jsonschema.ForOptions{})
}
