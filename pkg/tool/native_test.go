package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

// wizard is written for the official SDK: it asks in rounds, by results with
// InputRequests, and keeps its place in requestState.
func wizard(_ context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
	ask := func(state string, names ...string) (*mcp.CallToolResult, any, error) {
		requests := mcp.InputRequestMap{}
		for _, name := range names {
			requests[name] = &mcp.ElicitParams{Message: name + "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
		}
		return &mcp.CallToolResult{InputRequests: requests, RequestState: state}, nil, nil
	}
	answer := func(name string) string {
		r, ok := req.Params.InputResponses[name].(*mcp.ElicitResult)
		if !ok {
			return "-"
		}
		return fmt.Sprint(r.Content["v"])
	}
	state := req.Params.RequestState
	switch strings.Count(state, "/") {
	case 0:
		if req.Params.InputResponses == nil && state == "" {
			return ask("start", "name", "extra")
		}
		return ask(state+"/"+answer("name")+answer("extra"), "name") // the same name again
	case 1:
		return ask(state+"/"+answer("name")+answer("extra"), "name")
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: state + "/" + answer("name")}}}, nil, nil
}

// R-U4, R-H13; case 51
func TestNativeQuestions(t *testing.T) {
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "t"}, wizard, tool.Options{Task: tool.Optional})
	for name, c := range map[string]struct {
		options []tooltest.Option
		kill    bool
		runs    int
	}{
		"as a task":                       {nil, false, 4},
		"as a task that dies every round": {nil, true, 4},
		"within its request":              {[]tooltest.Option{tooltest.Sync()}, false, 4},
	} {
		t.Run("a handler of the SDK's own style runs unchanged "+name, func(t *testing.T) {
			call := tooltest.Start(t, reg, "t", none{}, c.options...)
			if c.kill {
				call.KillAfterEachStep()
			}
			if q := call.Asked("name", "extra")[0]; q.Method != "elicitation/create" || !strings.Contains(string(q.Params), `"mode":"form","message":"name?"`) {
				t.Errorf("question %s %s", q.Method, q.Params)
			}
			call.Accept("name", map[string]any{"v": 1})
			call.Accept("extra", map[string]any{"v": 2})
			call.Accept("name~2", map[string]any{"v": 3})
			call.Accept("name~3", map[string]any{"v": 4})
			if got := call.Text(); got != "start/12/3-/4" {
				t.Error(got)
			}
		})
	}

	t.Run("a recorded round that was never asked is asked as it was recorded", func(t *testing.T) {
		runs := 0
		reg := tool.New()
		tool.Add(reg, &mcp.Tool{Name: "t"}, func(ctx context.Context, req *mcp.CallToolRequest, in none) (*mcp.CallToolResult, any, error) {
			runs++
			return wizard(ctx, req, in)
		}, tool.Options{})
		call := tooltest.Start(t, reg, "t", none{})
		call.KillAfter("~round/1")
		call.Asked("name", "extra")
		if runs != 1 {
			t.Errorf("the handler ran %d times", runs)
		}
	})

	one := func(res *mcp.CallToolResult) *tool.Registry {
		reg := tool.New()
		tool.Add(reg, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
			return res, nil, nil
		}, tool.Options{})
		return reg
	}

	t.Run("a capability that was not declared is missing", func(t *testing.T) { // R-U8
		reg := one(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"u": &mcp.ElicitParams{URL: "https://example.com"}}})
		if out := tooltest.Start(t, reg, "t", none{}, tooltest.Capabilities(`{"elicitation":{}}`)).Outcome(); out.Kind != tool.Lacks || string(out.Required) != `{"elicitation":{"url":{}}}` {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("content beside questions is a fault", func(t *testing.T) {
		reg := one(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{}}, InputRequests: mcp.InputRequestMap{"r": &mcp.ListRootsParams{}}})
		if got := tooltest.Start(t, reg, "t", none{}).Failed(); !strings.Contains(got, "both content and InputRequests") {
			t.Error(got)
		}
	})

	t.Run("no questions but a state: called again, or another attempt of a task", func(t *testing.T) { // R-H13
		reg := one(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "s"})
		if out := tooltest.Start(t, reg, "t", none{}, tooltest.Sync()).Outcome(); out.Kind != tool.Asked || len(out.Questions) != 0 || out.State == "" {
			t.Errorf("outcome %+v", out)
		}
		if out := tooltest.Start(t, reg, "t", none{}).Outcome(); out.Kind != tool.Again {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("an answer that can't be read is a tool error", func(t *testing.T) {
		reg := one(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"r": &mcp.ListRootsParams{}}})
		c := tooltest.Start(t, reg, "t", none{})
		c.Answer("r", "nonsense")
		if got := c.ToolError(); !strings.Contains(got, `"r"`) {
			t.Error(got)
		}
	})
}
