package tools

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"testing"

	"toolhost/pkg/tool"
)

func TestRegistry(t *testing.T) {
	var names []string
	for _, listed := range Registry().Tools() {
		names = append(names, listed.Name())
	}
	t.Run("lists_in_a_fixed_order", func(t *testing.T) { // R-H7
		if want := []string{"csv_profile", "batch_http_check", "deploy_approval"}; !slices.Equal(names, want) {
			t.Errorf("got %v, want %v", names, want)
		}
	})
	t.Run("the_first_can_be_called_by_any_client", func(t *testing.T) { // R-N4
		first := Registry().Tools()[0]
		if first.Options().Task == tool.Required {
			t.Errorf("%s needs the extension", first.Name())
		}
	})
	t.Run("every_property_is_described", func(t *testing.T) {
		for _, listed := range Registry().Tools() {
			definition := listed.Definition()
			for _, schema := range []any{definition.InputSchema, definition.OutputSchema} {
				var root any
				if err := json.Unmarshal(schema.(json.RawMessage), &root); err != nil {
					t.Fatal(err)
				}
				checkDescribed(t, listed.Name(), root)
			}
		}
	})
}

func checkDescribed(t *testing.T, path string, schema any) {
	node, _ := schema.(map[string]any)
	properties, _ := node["properties"].(map[string]any)
	for name, property := range properties {
		at := path + "." + name
		if p, ok := property.(map[string]any); !ok || p["description"] == nil {
			t.Errorf("%s has no description", at)
		}
		checkDescribed(t, at, property)
	}
	if items, ok := node["items"]; ok {
		checkDescribed(t, path+"[]", items)
	}
}

// record is a tool.Recorder in memory, as a task's next run finds it.
type record struct {
	mu    sync.Mutex
	steps map[string]json.RawMessage
}

func newRecord() *record { return &record{steps: map[string]json.RawMessage{}} }

func (r *record) Recorded(name string) json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.steps[name]
}

func (r *record) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.steps))
}

func (r *record) Record(_ context.Context, name string, value json.RawMessage) (json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps[name] = value
	return value, nil
}

// result is a CallToolResult as a client reads it.
type result struct {
	Content           []struct{ Text string }
	StructuredContent json.RawMessage
	IsError           bool
}

// call runs a tool once.
func call(t *testing.T, reg *tool.Registry, name string, args any, c tool.Call) tool.Outcome {
	t.Helper()
	listed, ok := reg.Lookup(name)
	if !ok {
		t.Fatalf("there is no tool %s", name)
	}
	c.Name, c.Arguments = name, marshal(t, args)
	return listed.Run(t.Context(), c)
}

// finished reads the result of a run that ended, and its structured content.
func finished[T any](t *testing.T, o tool.Outcome) (result, T) {
	t.Helper()
	if o.Kind != tool.Done {
		t.Fatalf("the run ended %+v", o)
	}
	var r result
	var out T
	if err := json.Unmarshal(o.Result, &r); err != nil {
		t.Fatal(err)
	}
	if r.StructuredContent != nil {
		if err := json.Unmarshal(r.StructuredContent, &out); err != nil {
			t.Fatal(err)
		}
		if len(r.Content) != 1 || r.Content[0].Text != string(r.StructuredContent) { // R-P9
			t.Errorf("text %+v is not the structured content", r.Content)
		}
	}
	return r, out
}

func marshal(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
