package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/limits"
	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

// R-H8, R-H12; case 52
func TestValidate(t *testing.T) {
	found := addRaw(t, `{"type":"object","additionalProperties":false,"required":["count"],"properties":{
		"count":{"type":"integer","minimum":1,"maximum":9},"mode":{"enum":["a","b"]},"kind":{"const":"k"},
		"name":{"type":"string","minLength":2,"maxLength":3,"pattern":"^[a-z]+$"},"even":{"multipleOf":2},
		"list":{"type":"array","items":{"$ref":"#/$defs/pair"},"maxItems":2,"uniqueItems":true},
		"either":{"anyOf":[{"type":"string"},{"type":"object","required":["x"],"properties":{"x":{"type":"integer"}}}]},
		"maybe":{"type":["string","null"]},"free":{},"small":{"maxProperties":1,"minProperties":1},"set":{"uniqueItems":true},
		"when":{"if":{"required":["a"]},"then":{"required":["b"]}},"odd key":{"type":"boolean"}},
		"$defs":{"pair":{"type":"object","properties":{"left":{"type":"number"}}}}}`)
	for args, want := range map[string]string{
		`{"count":3}`: "",
		`{"count":3.0,"maybe":null,"list":[{"left":1}]}`: "",
		`{"count":"x"}`:                        `arguments.count: got "x", want an integer`,
		`{"count":1.5}`:                        `arguments.count: got 1.5, want an integer`,
		`{"count":null}`:                       `arguments.count: got null, want an integer`,
		`{}`:                                   `arguments.count: missing, want an integer`,
		`{"count":0}`:                          `arguments.count: got 0, want at least 1`,
		`{"count":10}`:                         `arguments.count: got 10, want at most 9`,
		`{"count":1,"mode":"c"}`:               `arguments.mode: got "c", want one of "a", "b"`,
		`{"count":1,"kind":2}`:                 `arguments.kind: got 2, want "k"`,
		`{"count":1,"name":"a"}`:               `arguments.name: has 1 characters, want at least 2`,
		`{"count":1,"name":"abcd"}`:            `arguments.name: has 4 characters, want at most 3`,
		`{"count":1,"name":"AB"}`:              `arguments.name: got "AB", want text that matches ^[a-z]+$`,
		`{"count":1,"even":3}`:                 `arguments.even: got 3, want a multiple of 2`,
		`{"count":1,"list":{}}`:                `arguments.list: got an object, want an array`,
		`{"count":1,"list":[{},{"left":"x"}]}`: `arguments.list[1].left: got "x", want a number`,
		`{"count":1,"list":[{},{"left":1},{"left":2}]}`: `arguments.list: has 3 items, want at most 2`,
		`{"count":1,"set":[1,2,1]}`:                     `arguments.set[2]: 1 stands there twice`,
		`{"count":1,"either":{"x":"y"}}`:                `arguments.either.x: got "y", want an integer`,
		`{"count":1,"either":4}`:                        `arguments.either: got 4, which fits none of the 2 allowed forms`,
		`{"count":1,"maybe":2}`:                         `arguments.maybe: got 2, want a string or null`,
		`{"count":1,"small":{}}`:                        `arguments.small: has 0 properties, want at least 1`,
		`{"count":1,"small":{"a":1,"b":2}}`:             `arguments.small: has 2 properties, want at most 1`,
		`{"count":1,"when":{"a":1}}`:                    `arguments.when.b: missing`,
		`{"count":1,"odd key":1}`:                       `arguments["odd key"]: got 1, want a boolean`,
		`{"count":1,"colour":"red"}`:                    `arguments.colour: unknown property; known are count, either,`,
		`{"count":"x","mode":3}`:                        `arguments.count: got "x", want an integer; arguments.mode: got 3, want one of "a", "b"`,
		`[]`:                                            `arguments: got an array, want an object`,
		`null`:                                          `arguments: got null, want an object`,
		`{"count":1,"count":2}`:                         `arguments.count: given twice`,
		`{"count":1,"free":{"a":[{"b":1,"b":1}]}}`:      `arguments.free.a[0].b: given twice`,
		`{"count":1e400}`:                               `arguments.count: the number is out of range`,
		`{"count":1`:                                    `arguments: not valid JSON`,
		`{"count":1} x`:                                 `arguments: text follows`,
		`{"count":1,"free":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`: `nested deeper than 64 levels`,
	} {
		err := found.Validate(json.RawMessage(args))
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.HasPrefix(got, want) && !strings.HasSuffix(got, want) {
			t.Errorf("%s: %v\nwant %s", args[:min(len(args), 80)], err, want)
		}
	}

	t.Run("nil means no arguments", func(t *testing.T) {
		if err := addRaw(t, `{"type":"object"}`).Validate(nil); err != nil {
			t.Error(err)
		}
	})

	t.Run("huge arguments name the limit", func(t *testing.T) {
		err := found.Validate(json.RawMessage(`{"free":"` + strings.Repeat("x", limits.MaxArguments) + `"}`))
		if want := fmt.Sprintf("the limit is %d", limits.MaxArguments); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	})

	t.Run("a message stays short whatever the value", func(t *testing.T) {
		args := `{"count":"` + strings.Repeat("é", 100_000) + `","` + strings.Repeat("n", 100_000) + `":1}`
		if err := found.Validate(json.RawMessage(args)); err == nil || len(err.Error()) > 1000 {
			t.Errorf("%d bytes", len(err.Error()))
		}
	})
}

// R-H12: what a schema can make of an argument is bounded before the check.
func TestValidateIsBounded(t *testing.T) {
	branching := addRaw(t, `{"type":"object","$defs":{"n":{"anyOf":[
		{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["x"]},
		{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["y"]}]}},"properties":{"a":{"$ref":"#/$defs/n"}}}`)
	nest := func(n int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"a":`, n) + `{}` + strings.Repeat(`}`, n))
	}
	start := time.Now()
	err := branching.Validate(nest(60))
	if err == nil || !strings.Contains(err.Error(), "too much to check") {
		t.Errorf("60 levels of two branches each: %v", err)
	}
	if err := branching.Validate(nest(4)); err == nil || strings.Contains(err.Error(), "too much") {
		t.Errorf("4 levels: %v", err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	plain := addRaw(t, `{"type":"object","properties":{"a":{"$ref":"#"}}}`)
	if err := plain.Validate(nest(60)); err != nil {
		t.Errorf("60 levels without branches: %v", err)
	}
}

func TestDefaults(t *testing.T) {
	type input struct {
		Count int64  `json:"count"`
		Name  string `json:"name,omitempty"`
	}
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","required":["count"],
		"properties":{"count":{"type":"integer"},"name":{"type":"string","default":"nobody"}}}`)},
		func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(in.Name, in.Count)}}}, nil, nil
		}, tool.Options{})
	for name, c := range map[string]struct{ args, want string }{
		"a missing property has its default": {`{"count":1}`, "nobody1"},
		"an integer keeps all 64 bits":       {`{"count":9007199254740993}`, "nobody9007199254740993"},
		"names match exactly":                {`{"count":1,"NAME":"x"}`, "nobody1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tooltest.Start(t, reg, "t", json.RawMessage(c.args)).Text(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("bad arguments are a tool error that names the property", func(t *testing.T) { // R-H8
		got := tooltest.Start(t, reg, "t", map[string]any{"count": "x"}).ToolError()
		if got != `arguments.count: got "x", want an integer` {
			t.Error(got)
		}
	})
}

func FuzzValidate(f *testing.F) {
	found := addRaw(f, `{"type":"object","properties":{"a":{"type":"integer","multipleOf":0.1},"b":{"type":"array","uniqueItems":true,"items":{"$ref":"#"}},
		"c":{"oneOf":[{"type":"string","format":"date"},{"const":1}]}},"patternProperties":{"^x":{"enum":[1,null,{}]}},"unevaluatedProperties":false}`)
	for _, s := range []string{`{}`, `{"a":1,"b":[{},{"a":2}]}`, `{"c":1.0}`, `{"x":null}`, `[[[`, `{"a":1e309}`, "{\"\xff\":1}", `{"a":-0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		if err := found.Validate(args); err == nil && !json.Valid(args) && args != nil {
			t.Errorf("accepted %q", args)
		} else if err != nil && !strings.HasPrefix(err.Error(), "arguments") {
			t.Errorf("%q: the message %q names no place", args, err)
		}
	})
}
