package main

import (
	"encoding/json"
	"strings"
	"testing"

	"toolhost/pkg/client"
	"toolhost/pkg/jsonrpc"
)

// elicited is a form that uses all of MCP's elicitation subset.
const elicited = `{"type":"object","required":["name","age","size"],"properties":{
	"name":{"type":"string","title":"Your name","minLength":2,"maxLength":5},
	"mail":{"type":"string","format":"email"},"site":{"type":"string","format":"uri"},
	"day":{"type":"string","format":"date"},"time":{"type":"string","format":"date-time"},
	"age":{"type":"integer","minimum":0,"maximum":150,"default":30},"ratio":{"type":"number"},
	"sure":{"type":"boolean","default":true},
	"size":{"type":"string","enum":["s","m"],"enumNames":["Small","Medium"],"default":"m"},
	"color":{"oneOf":[{"const":"r","title":"Red"},{"const":"g"}],"type":"string"},
	"tags":{"type":"array","items":{"enum":["a","b","c"]},"minItems":1,"maxItems":2,"default":["a"]},
	"kinds":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}}}`

func form(t *testing.T) map[string]*input {
	t.Helper()
	inputs, err := formInputs(json.RawMessage(elicited))
	if err != nil || inputs[0].name != "name" || inputs[len(inputs)-1].name != "kinds" {
		t.Fatalf("%+v, %v", inputs, err)
	}
	byName := map[string]*input{}
	for i := range inputs {
		if inputs[i].field() == nil {
			t.Errorf("%s has no widget", inputs[i].name)
		}
		byName[inputs[i].name] = &inputs[i]
	}
	return byName
}

func TestForm(t *testing.T) {
	t.Run("begins_with_the_defaults", func(t *testing.T) {
		f := form(t)
		for name, want := range map[string]string{"age": "30", "sure": "true", "size": `"m"`, "tags": `["a"]`, "name": `""`} {
			if got, given := f[name].value(); string(got) != want || !given {
				t.Errorf("%s is %s", name, got)
			}
		}
		for _, name := range []string{"mail", "ratio", "color", "kinds"} {
			if got, given := f[name].value(); given {
				t.Errorf("%s is %s", name, got)
			}
		}
	})
	t.Run("says_what_may_be_entered", func(t *testing.T) {
		f := form(t)
		for name, want := range map[string]string{"age": "integer", "size": "s | m", "color": "r | g (optional)", "tags": "any of a | b | c (optional)"} {
			if got := f[name].kindText(); got != want {
				t.Errorf("%s: %s", name, got)
			}
		}
		if f["size"].options[1].Title != "Medium" || f["color"].options[0].Title != "Red" || f["color"].options[1].Title != "g" {
			t.Errorf("got %+v, %+v", f["size"].options, f["color"].options)
		}
	})
	for name, texts := range map[string]struct{ good, bad string }{
		"name": {"Ada", "|A|Adalbert"}, "mail": {"a@b.example", "nobody"}, "site": {"https://a.example/x", "a b"},
		"day": {"2026-12-01", "1.12.2026"}, "time": {"2026-12-01T10:00:00Z", "10:00"},
		"age": {"150", "|x|1.5|151|-1|1e2"}, "ratio": {"-1.5e3", "x|0x10|NaN|1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			in := form(t)[name]
			if err := in.check(texts.good); err != nil {
				t.Errorf("%q is refused: %v", texts.good, err)
			}
			for text := range strings.SplitSeq(texts.bad, "|") {
				if in.check(text) == nil {
					t.Errorf("%q is taken", text)
				}
			}
		})
	}
	t.Run("counts_choices", func(t *testing.T) {
		in := form(t)["tags"]
		if in.checkPicks(nil) == nil || in.checkPicks([]string{"a", "b", "c"}) == nil || in.checkPicks([]string{"a", "b"}) != nil {
			t.Error("one or two are wanted")
		}
	})
	t.Run("what_is_set_takes_the_place_of_the_default", func(t *testing.T) {
		q := client.Question{Key: "k", Params: json.RawMessage(`{"requestedSchema":` + elicited + `}`)}
		for set, want := range map[string]string{
			"name=Ada tags=b tags=c":             `{"age":30,"name":"Ada","size":"m","tags":["b","c"]}`,
			"name=A=b size=s sure=false ratio=2": `{"age":30,"name":"A=b","ratio":2,"size":"s","sure":false}`,
			"name=Ada size=xl":                   "",
			"name=Ada age=old":                   "",
			"name":                               "",
		} {
			got, err := (&terminal{}).contentOf(strings.Fields(set), q)
			if want == "" && err == nil || want != "" && string(jsonrpc.Encode(got)) != want {
				t.Errorf("%s: %s, %v", set, jsonrpc.Encode(got), err)
			}
		}
	})
	for name, schema := range map[string]string{
		"no_schema": ``, "null": `null`, "true": `true`, "a_list": `[]`, "no_properties": `{"properties":{}}`,
	} {
		t.Run(name+"_is_a_form_without_fields", func(t *testing.T) {
			if inputs, err := formInputs(json.RawMessage(schema)); err != nil || len(inputs) != 0 {
				t.Errorf("%+v, %v", inputs, err)
			}
		})
	}
	for _, schema := range []string{`{"properties":[]}`, `{"properties":{"a":[]}}`, `{"properties":{"a":{"enum":[1]}}}`} {
		t.Run("what_can't_be_read_is_an_error", func(t *testing.T) {
			if inputs, err := formInputs(json.RawMessage(schema)); err == nil {
				t.Errorf("%s: %+v", schema, inputs)
			}
		})
	}
}

func TestReadSchema(t *testing.T) {
	t.Run("a_reference_to_itself_ends", func(t *testing.T) {
		s, err := readSchema(json.RawMessage(`{"$defs":{"a":{"$ref":"#/$defs/a"},"b":{"anyOf":[{"$ref":"#/$defs/b"},{"type":"array","items":{"$ref":"#/$defs/a"}}]}},
			"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/$defs/b"},"z":{"$ref":"https://example.com/z"}}}`))
		if err != nil || len(s.properties) != 3 || len(s.properties[0].kinds) != 0 {
			t.Errorf("%+v, %v", s, err)
		}
	})
	t.Run("types_stand_in_alternatives_and_behind_references", func(t *testing.T) {
		s, err := readSchema(json.RawMessage(`{"$defs":{"a~/b":{"type":"array","items":{"type":"integer"}}},
			"properties":{"list":{"anyOf":[{"$ref":"#/$defs/a~0~1b"},{"type":"null"}]},"word":{"enum":["a","b"]}}}`))
		if err != nil || !s.properties[0].kinds.only("array") || !s.properties[0].items.only("integer") || !s.properties[1].kinds.only("string") {
			t.Errorf("%+v, %v", s, err)
		}
	})
	for _, schema := range []string{`null`, `true`, `{}`, `{"type":5}`, `{"properties":{"a":null,"b":[1],"c":{"type":[1]}}}`} {
		t.Run(schema, func(t *testing.T) {
			if _, err := readSchema(json.RawMessage(schema)); err != nil {
				t.Error(err)
			}
		})
	}
}
