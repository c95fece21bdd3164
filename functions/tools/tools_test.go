package tools

import (
	"encoding/json"
	"slices"
	"testing"

	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

func TestRegistry(t *testing.T) {
	names := func() (all []string) {
		for _, listed := range Registry().Tools() {
			all = append(all, listed.Name())
		}
		return all
	}
	t.Run("lists_in_a_fixed_order", func(t *testing.T) { // R-H7
		want := names()
		for range 10 {
			if got := names(); !slices.Equal(got, want) {
				t.Errorf("got %v, then %v", want, got)
			}
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

type object = map[string]any

// result is the structured content of a call that must end without a tool error.
func result[T any](t *testing.T, c *tooltest.Call) T {
	t.Helper()
	var out T
	text := c.Text()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}
