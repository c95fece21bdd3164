package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
)

type everything struct {
	Env    string    `json:"env" title:"Where" jsonschema:"The environment." enum:"stage|prod" titles:"Staging|Production, live" default:"stage"`
	Color  string    `json:"color,omitempty" enum:"red|green"`
	Tags   []string  `json:"tags" enum:"a|b" minItems:"1" maxItems:"2"`
	Titled []string  `json:"titled,omitempty" enum:"a|b" titles:"A|B" default:"a|b"`
	Count  int       `json:"count" minimum:"1" maximum:"9"`
	Ratio  *float64  `json:"ratio"`
	Yes    bool      `json:"yes" default:"true"`
	Name   string    `json:"name" minLength:"1" maxLength:"9"`
	Mail   string    `json:"mail,omitempty" format:"email"`
	Site   string    `json:"site,omitempty" format:"uri"`
	Day    string    `json:"day,omitempty" format:"date"`
	When   time.Time `json:"when,omitzero"`
}

// formOf is the schema that Ask sends for a type, or how the call failed.
func formOf[T any](t testing.TB) string {
	t.Helper()
	out := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
		_, err := tool.Ask[T](ctx, "q", "?")
		return "", err
	}).Outcome()
	if out.Kind != tool.Asked {
		return out.Error.Message
	}
	var params struct{ RequestedSchema json.RawMessage }
	if err := json.Unmarshal(out.Questions[0].Params, &params); err != nil {
		t.Fatal(err)
	}
	return string(params.RequestedSchema)
}

func TestForm(t *testing.T) {
	t.Run("a type becomes a schema within MCP's subset", func(t *testing.T) { // R-P5
		want := `{"type":"object","properties":{` +
			`"env":{"type":"string","title":"Where","description":"The environment.","default":"stage","oneOf":[{"title":"Staging","const":"stage"},{"title":"Production, live","const":"prod"}]},` +
			`"color":{"type":"string","enum":["red","green"]},` +
			`"tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2},` +
			`"titled":{"type":"array","items":{"anyOf":[{"title":"A","const":"a"},{"title":"B","const":"b"}]},"default":["a","b"]},` +
			`"count":{"type":"integer","minimum":1,"maximum":9},"ratio":{"type":"number"},"yes":{"type":"boolean","default":true},` +
			`"name":{"type":"string","minLength":1,"maxLength":9},"mail":{"type":"string","format":"email"},"site":{"type":"string","format":"uri"},` +
			`"day":{"type":"string","format":"date"},"when":{"type":"string","format":"date-time"}},"required":["tags","count","name"]}`
		got := formOf[everything](t)
		var g, w any
		if json.Unmarshal([]byte(got), &g) != nil || json.Unmarshal([]byte(want), &w) != nil {
			t.Fatalf("not JSON: %s", got)
		}
		gotText, _ := json.Marshal(g)
		wantText, _ := json.Marshal(w)
		if string(gotText) != string(wantText) {
			t.Errorf("got  %s\nwant %s", gotText, wantText)
		}
		if env, when := strings.Index(got, `"env"`), strings.Index(got, `"when"`); env > when {
			t.Error("the fields are not in their order")
		}
		if got := formOf[struct{}](t); got != `{"type":"object","properties":{}}` {
			t.Errorf("a mere confirmation is %s", got)
		}
	})

	t.Run("a type beyond the subset fails and names the field", func(t *testing.T) {
		type inner struct{ A int }
		for want, got := range map[string]string{
			"field Deep: a form has no field": formOf[struct{ Deep inner }](t),
			"field List: a list needs":        formOf[struct{ List []string }](t),
			"field F: unknown format": formOf[struct {
				F string `format:"ipv4"`
			}](t),
			"field E: an enum is for": formOf[struct {
				E int `enum:"1|2"`
			}](t),
			"field T: 1 titles for 2": formOf[struct {
				T string `enum:"a|b" titles:"A"`
			}](t),
			"field M: minimum does not": formOf[struct {
				M string `minimum:"1"`
			}](t),
			"field N: minimum is": formOf[struct {
				N int `minimum:"x"`
			}](t),
			"field D: default": formOf[struct {
				D int `default:"x"`
			}](t),
			`does not equal any of`: formOf[struct {
				D string `enum:"a" default:"b"`
			}](t),
			"is not a struct": formOf[map[string]string](t),
		} {
			if !strings.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})

	t.Run("answers are held to the form, with defaults", func(t *testing.T) {
		var value everything
		h := func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			reply, err := tool.Ask[everything](ctx, "q", "?")
			value = reply.Value
			return "", err
		}
		c := start(t, h)
		c.Accept("q", map[string]any{"tags": []string{"a"}, "count": 3, "name": "x", "when": "2026-12-01T10:00:00Z", "mail": "a@example.com"})
		if c.Text(); value.Env != "stage" || !value.Yes || len(value.Titled) != 2 || value.When.Hour() != 10 || value.Ratio != nil {
			t.Errorf("value %+v", value)
		}
		for property, content := range map[string]map[string]any{
			"content.env":     {"env": "moon"},
			"content.tags[0]": {"tags": []string{"c"}},
			"content.tags":    {"tags": []string{}},
			"content.count":   {"count": 10},
			"content.name":    {"name": ""},
			"content.mail":    {"mail": "x"},
			"content.site":    {"site": "/a"},
			"content.day":     {"day": "2026-13-01"},
			"content.when":    {"when": "noon"},
		} {
			full := map[string]any{"tags": []string{"a"}, "count": 3, "name": "x"}
			for k, v := range content {
				full[k] = v
			}
			c := start(t, h)
			c.Accept("q", full)
			if q := c.Asked("q~2")[0]; !strings.Contains(string(q.Params), property+": ") {
				t.Errorf("%v: %s", content, q.Params)
			}
		}
	})
}

func FuzzAnswer(f *testing.F) {
	found, _ := with(func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
		_, err := tool.Ask[everything](ctx, "q", "?")
		return "", err
	}, tool.Options{}).Lookup("t")
	for _, s := range []string{`{}`, `{"action":"accept"}`, `{"action":"accept","content":{"tags":["a"],"count":1,"name":"x"}}`, `{"action":1}`, `null`, `[`, `{"action":"accept","content":{"when":null}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, response []byte) {
		out := found.Run(t.Context(), tool.Call{
			Capabilities: json.RawMessage(`{"elicitation":{}}`),
			Answers:      []tool.Answer{{Key: "q", Method: "elicitation/create", Response: response}},
		})
		if again := out.Kind == tool.Asked && out.Questions[0].Key == "q~2"; !again && out.Kind != tool.Done {
			t.Errorf("%q: outcome %+v", response, out)
		}
	})
}
