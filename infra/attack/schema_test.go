package attack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"toolhost/pkg/limits"
)

// schemas are those of tools whose authors meant well.
var schemas = map[string]string{
	// For a backtracking matcher, catastrophic.
	"pattern": `{"type":"object","properties":{"s":{"type":"string","pattern":"^(a+)+$"},"t":{"type":"string","pattern":"^(([a-z])+.)+[A-Z]([a-z])+$"}}}`,
	"unique":  `{"type":"object","properties":{"list":{"type":"array","uniqueItems":true}}}`,
	"names":   `{"type":"object","patternProperties":{"^(x+x+)+y$":{"type":"integer"}},"additionalProperties":{"type":"string"},"propertyNames":{"pattern":"^(x+x+)+y$"}}`,
	// An expression: each level may be tried in several ways.
	"tree": `{"type":"object","properties":{"e":{"$ref":"#/$defs/e"}},"$defs":{"e":{"oneOf":[
		{"type":"integer"},
		{"type":"object","properties":{"op":{"const":"add"},"of":{"$ref":"#/$defs/e"}},"required":["op","of"]},
		{"type":"object","properties":{"op":{"const":"sub"},"of":{"$ref":"#/$defs/e"}},"required":["op","of"]},
		{"type":"object","properties":{"op":{"const":"neg"},"of":{"$ref":"#/$defs/e"}},"required":["op","of"]}]}}}`,
	"list": `{"type":"object","properties":{"l":{"$ref":"#/$defs/l"}},"$defs":{"l":{"type":"array","items":{"$ref":"#/$defs/l"}}}}`,
	"free": `{"type":"object"}`,
}

// TestSchemas feeds tools with arguments that are made to take long.
func TestSchemas(t *testing.T) { // R-H8, R-H12; case 52
	g := attacked(t)
	nest := func(begin, end, within string, n int) string {
		return strings.Repeat(begin, n) + within + strings.Repeat(end, n)
	}
	var numbers, keys, objects strings.Builder
	for i := range 140_000 {
		fmt.Fprintf(&numbers, "%d,", i)
	}
	for i := range 40_000 {
		fmt.Fprintf(&objects, `{"a":[%d,{"b":2}]},`, i)
	}
	for i := range 60_000 {
		fmt.Fprintf(&keys, `"%s%dy":"1",`, strings.Repeat("x", i%8), i)
	}
	for name, attack := range map[string]struct{ tool, arguments, want string }{
		"a pattern that backtracks":        {"pattern", `{"s":"` + strings.Repeat("a", 900_000) + `!"}`, "arguments.s"},
		"another":                          {"pattern", `{"t":"` + strings.Repeat("a", 900_000) + `!"}`, "arguments.t"},
		"a pattern of property names":      {"names", `{"` + strings.Repeat("x", 500_000) + `":1}`, "arguments"},
		"many that have to be unique":      {"unique", `{"list":[` + numbers.String() + `0]}`, "arguments.list"},
		"many objects that have to be":     {"unique", `{"list":[` + objects.String() + `{}]}`, ""},
		"many properties":                  {"names", `{` + keys.String() + `"z":1}`, "arguments"},
		"an expression of many levels":     {"tree", `{"e":` + nest(`{"op":"neg","of":`, `}`, `"x"`, 60) + `}`, "arguments"},
		"one of as many that is right":     {"tree", `{"e":` + nest(`{"op":"neg","of":`, `}`, `1`, 60) + `}`, "too much to check"},
		"one of few":                       {"tree", `{"e":` + nest(`{"op":"neg","of":`, `}`, `1`, 5) + `}`, ""},
		"a list of many levels":            {"list", `{"l":` + nest("[", "]", "", limits.MaxJSONDepth-1) + `}`, ""},
		"of one too many":                  {"list", `{"l":` + nest("[", "]", "", limits.MaxJSONDepth) + `}`, "levels"},
		"of nearly as many as can be read": {"free", `{"l":` + nest("[", "]", "", 900) + `}`, "levels"},
		"a wide list":                      {"free", `{"l":[` + strings.Repeat("[],", 300_000) + `[]]}`, ""},
		"a wide list of the wrong type":    {"list", `{"l":[` + strings.Repeat("1,", 400_000) + `1]}`, "arguments.l"},
		"over the limit":                   {"free", `{"l":"` + strings.Repeat("x", limits.MaxArguments) + `"}`, "the limit is"},
		"a number beyond 64 bits":          {"free", `{"l":` + strings.Repeat("9", 300) + `}`, ""},
		"hostile names":                    {"free", `{"__proto__":{"x":1},"constructor":1,"":1,"\u0000":1,"$ref":"http://127.0.0.1:1/x"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.call(attack.tool, json.RawMessage(attack.arguments))
			if got := a.toolError(); a.status != 200 || a.Error != nil || (got == "") != (attack.want == "") || !strings.Contains(got, attack.want) {
				t.Errorf("%d %.300s", a.status, a.body)
			}
			if len(a.body) > 4<<10 {
				t.Errorf("the answer has %d bytes", len(a.body))
			}
		})
		g.alive()
	}
}
