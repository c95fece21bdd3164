package tool_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/limits"
	"toolhost/pkg/tool"
)

func raw(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

// addRaw registers a tool with a schema and returns it.
func addRaw(t testing.TB, schema string) *tool.Tool {
	t.Helper()
	reg := tool.New()
	tool.AddRaw(reg, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}, raw, tool.Options{})
	found, _ := reg.Lookup("t")
	return found
}

// panicOf is the text that f panics with, "" if it does not.
func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text, _ = p.(string)
			if text == "" {
				text = "not a text"
			}
		}
	}()
	f()
	return ""
}

func TestAdd(t *testing.T) {
	t.Run("a faulty tool panics with what is wrong", func(t *testing.T) {
		object := json.RawMessage(`{"type":"object"}`)
		for name, c := range map[string]struct {
			tool mcp.Tool
			o    tool.Options
			want string
		}{
			"no name":            {mcp.Tool{InputSchema: object}, tool.Options{}, "0 characters"},
			"long name":          {mcp.Tool{Name: strings.Repeat("a", 129), InputSchema: object}, tool.Options{}, "129 characters"},
			"bad name":           {mcp.Tool{Name: "a b", InputSchema: object}, tool.Options{}, `character ' '`},
			"a scope of two":     {mcp.Tool{Name: "a", InputSchema: object}, tool.Options{Scopes: []string{"read write"}}, `"read write" can be no scope`},
			"a scope twice":      {mcp.Tool{Name: "a", InputSchema: object}, tool.Options{Scopes: []string{"read", "read"}}, "stands twice"},
			"no schema":          {mcp.Tool{Name: "a"}, tool.Options{}, "input schema: missing"},
			"nil schema":         {mcp.Tool{Name: "a", InputSchema: (*jsonschema.Schema)(nil)}, tool.Options{}, "got null"},
			"not JSON":           {mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{`)}, tool.Options{}, "not valid JSON"},
			"no object":          {mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"string"}`)}, tool.Options{}, `must be "object", got string`},
			"dialect (R-H12)":    {mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"$schema":"http://json-schema.org/draft-03/schema#","type":"object"}`)}, tool.Options{}, "unknown dialect"},
			"nested dialect":     {mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"$schema":"urn:x"}}}`)}, tool.Options{}, "unknown dialect"},
			"remote ref (R-H12)": {mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"https://example.com/s.json"}}}`)}, tool.Options{}, "none is fetched"},
			"lost ref":           {mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object","$ref":"#/$defs/a"}`)}, tool.Options{}, "leads to nothing"},
			"endless ref":        {mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object","allOf":[{"$ref":"#"}]}`)}, tool.Options{}, "never ends"},
			"odd keyword":        {mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":[]}`)}, tool.Options{}, "properties"},
			"bad pattern":        {mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"pattern":"("}}}`)}, tool.Options{}, "("},
			"bad default":        {mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","default":1}}}`)}, tool.Options{}, "string"},
			"output schema":      {mcp.Tool{Name: "a", InputSchema: object, OutputSchema: json.RawMessage(`3`)}, tool.Options{}, "output schema"},
			"mode":               {mcp.Tool{Name: "a", InputSchema: object}, tool.Options{Task: 9}, "Task mode"},
			"short TTL":          {mcp.Tool{Name: "a", InputSchema: object}, tool.Options{TTL: time.Second}, "TTL"},
			"negative":           {mcp.Tool{Name: "a", InputSchema: object}, tool.Options{Retention: -1}, "Retention"},
			"instant never":      {mcp.Tool{Name: "a", InputSchema: object}, tool.Options{Instant: func(json.RawMessage) bool { return true }}, "Instant"},
			"poll":               {mcp.Tool{Name: "a", InputSchema: object}, tool.Options{PollInterval: time.Minute, MaxPollInterval: time.Second}, "MaxPollInterval"},
			"attempts":           {mcp.Tool{Name: "a", InputSchema: object}, tool.Options{Attempts: -1}, "Attempts"},
		} {
			got := panicOf(func() { tool.AddRaw(tool.New(), &c.tool, raw, c.o) })
			if !strings.Contains(got, c.want) || !strings.Contains(got, "tool.AddRaw") {
				t.Errorf("%s: panic %q, want %q", name, got, c.want)
			}
		}
	})

	t.Run("a name is registered once", func(t *testing.T) {
		reg := tool.New()
		add := func() {
			tool.AddRaw(reg, &mcp.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`)}, raw, tool.Options{})
		}
		add()
		if got := panicOf(add); !strings.Contains(got, `"a" is registered twice`) {
			t.Errorf("panic %q", got)
		}
	})

	t.Run("a typed tool that is no object or has no handler panics", func(t *testing.T) {
		h := func(context.Context, *mcp.CallToolRequest, string) (*mcp.CallToolResult, any, error) {
			return nil, nil, nil
		}
		if got := panicOf(func() { tool.Add(tool.New(), &mcp.Tool{Name: "a"}, h, tool.Options{}) }); !strings.Contains(got, `"object"`) {
			t.Errorf("panic %q", got)
		}
		if got := panicOf(func() {
			tool.Add[string, any](tool.New(), &mcp.Tool{Name: "a"}, nil, tool.Options{})
		}); !strings.Contains(got, "no handler") {
			t.Errorf("panic %q", got)
		}
	})

	t.Run("tools are listed in the order of their registration", func(t *testing.T) { // R-H7
		reg := tool.New()
		for _, name := range []string{"z", "a", "m"} {
			tool.AddRaw(reg, &mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, raw, tool.Options{})
		}
		got := ""
		for _, l := range reg.Tools() {
			got += l.Name()
		}
		if got != "zam" {
			t.Errorf("order %q", got)
		}
	})

	t.Run("a schema is listed as it was written", func(t *testing.T) { // R-P5
		schema := `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"z":{"$anchor":"z","type":"string","x-own":"<&>"}},` +
			`"properties":{"b":{"$ref":"#z"},"a":{"type":"number","minimum":1.0}},"allOf":[{"if":{"required":["a"]},"then":{"required":["b"]},"else":true}],"additionalProperties":false}`
		found := addRaw(t, schema)
		if !strings.Contains(string(found.ListEntry()), `"inputSchema":`+schema) {
			t.Errorf("listed as %s", found.ListEntry())
		}
		if got := found.Definition().InputSchema.(json.RawMessage); string(got) != schema {
			t.Errorf("defined as %s", got)
		}
	})

	t.Run("options have the defaults of the limits", func(t *testing.T) {
		o := addRaw(t, `{"type":"object"}`).Options()
		if o.Task != tool.Never || o.TTL != limits.TTL || o.Retention != limits.Retention || o.Attempts != limits.Attempts ||
			o.PollInterval != limits.PollInterval || o.MaxPollInterval != limits.MaxPollInterval || o.Timeout != 0 {
			t.Errorf("options %+v", o)
		}
	})
}

// R-H11
func TestHeaderParams(t *testing.T) {
	found := addRaw(t, `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
		"in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}`)
	got := found.HeaderParams()
	if len(got) != 2 || got[0].Name != "N" || strings.Join(got[0].Path, ".") != "in.n" || got[0].Type != "integer" || got[1].Name != "Region" {
		t.Errorf("headers %+v", got)
	}
	for name, schema := range map[string]string{
		"empty":       `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		"null":        `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":null}}}`,
		"space":       `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`,
		"no string":   `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":1}}}`,
		"number":      `{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
		"untyped":     `{"type":"object","properties":{"a":{"x-mcp-header":"A"}}}`,
		"root":        `{"type":"object","x-mcp-header":"A"}`,
		"twice":       `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
		"in items":    `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`,
		"in a branch": `{"type":"object","anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`,
		"in $defs":    `{"type":"object","$defs":{"a":{"type":"string","x-mcp-header":"A"}}}`,
	} {
		if got := panicOf(func() { addRaw(t, schema) }); !strings.Contains(got, "x-mcp-header") {
			t.Errorf("%s: panic %q", name, got)
		}
	}
}

// R-H11: the annotation may stand in a tag of the input's type.
func TestHeaderTags(t *testing.T) {
	type where struct {
		Zone int `json:"zone,omitempty" x-mcp-header:"Zone"`
	}
	type embedded struct {
		Dry bool `x-mcp-header:"Dry-Run"`
	}
	type input struct {
		embedded
		Region string `json:"region" jsonschema:"Where to." x-mcp-header:"Region"`
		Where  *where `json:"where,omitempty"`
		Plain  string `json:"plain"`
	}
	reg := tool.New()
	addTagged[input](reg)
	found, _ := reg.Lookup("t")
	want := []tool.HeaderParam{{Name: "Dry-Run", Path: []string{"Dry"}, Type: "boolean"}, {Name: "Region", Path: []string{"region"}, Type: "string"},
		{Name: "Zone", Path: []string{"where", "zone"}, Type: "integer"}}
	if got := found.HeaderParams(); !reflect.DeepEqual(got, want) {
		t.Errorf("headers %+v, want %+v", got, want)
	}
	if entry := string(found.ListEntry()); strings.Count(entry, `"x-mcp-header":`) != 3 || !strings.Contains(entry, `"x-mcp-header":"Region"`) {
		t.Errorf("listed as %s", entry)
	}

	t.Run("a tag where no header can stand is refused", func(t *testing.T) {
		for name, add := range map[string]func(*tool.Registry){
			"in a list": addTagged[struct{ A []where }],
			"in a map":  addTagged[struct{ A map[string]where }],
			"on a number": addTagged[struct {
				A float64 `x-mcp-header:"A"`
			}],
			"on what may be null": addTagged[struct {
				A *string `x-mcp-header:"A"`
			}],
			"no token": addTagged[struct {
				A string `x-mcp-header:"a b"`
			}],
			"empty": addTagged[struct {
				A string `x-mcp-header:""`
			}],
		} {
			if got := panicOf(func() { add(tool.New()) }); !strings.Contains(got, "x-mcp-header") {
				t.Errorf("%s: panic %q", name, got)
			}
		}
	})
}

func addTagged[In any](reg *tool.Registry) {
	tool.Add(reg, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	}, tool.Options{})
}

// R-C5
func TestInstant(t *testing.T) {
	type input struct {
		Seconds int `json:"seconds"`
	}
	h := func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	}
	instant := func(is func(input) bool, args string) bool {
		reg := tool.New()
		tool.Add(reg, &mcp.Tool{Name: "t"}, h, tool.Options{Task: tool.Optional, Instant: tool.InstantIf(is)})
		found, _ := reg.Lookup("t")
		return found.Instant(json.RawMessage(args))
	}
	zero := func(in input) bool { return in.Seconds == 0 }
	if !instant(zero, `{"seconds":0}`) || instant(zero, `{"seconds":1}`) {
		t.Error("the predicate does not decide")
	}
	if instant(zero, `{"seconds":"0"}`) || instant(func(input) bool { panic("no") }, `{"seconds":0}`) {
		t.Error("bad arguments or a panic count as instant")
	}
	if addRaw(t, `{"type":"object"}`).Instant(nil) {
		t.Error("a tool without a predicate is instant")
	}
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".", "./tooltest").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	for _, path := range strings.Fields(string(out)) {
		for _, foreign := range []string{"github.com/aws/", "/functions/", "/infra/", "/pkg/store", "/pkg/queue"} {
			if strings.Contains(path, foreign) {
				t.Errorf("a tool's author would import %s", path)
			}
		}
	}
}
