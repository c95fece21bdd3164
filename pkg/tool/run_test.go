package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

type none struct{}

// handler is a tool without arguments whose result is text.
type handler func(ctx context.Context, req *mcp.CallToolRequest) (string, error)

// with registers a handler as the tool "t".
func with(h handler, o tool.Options) *tool.Registry {
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "t"}, func(ctx context.Context, req *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		text, err := h(ctx, req)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	}, o)
	return reg
}

// start starts a durable call of a handler.
func start(t testing.TB, h handler, options ...tooltest.Option) *tooltest.Call {
	return tooltest.Start(t, with(h, tool.Options{}), "t", none{}, options...)
}

func failing(err error) handler {
	return func(context.Context, *mcp.CallToolRequest) (string, error) { return "", err }
}

func TestRun(t *testing.T) {
	t.Run("a plain error is a tool error that the model sees", func(t *testing.T) { // R-G3
		if got := start(t, failing(errors.New("no such file"))).ToolError(); got != "no such file" {
			t.Error(got)
		}
	})

	t.Run("a protocol error fails the call with it", func(t *testing.T) { // R-G4
		c := start(t, failing(&sdk.Error{Code: -32602, Message: "bad", Data: json.RawMessage(`{"a":1}`)}))
		if e := c.Outcome().Error; e == nil || e.Code != -32602 || e.Message != "bad" || string(e.Data) != `{"a":1}` {
			t.Errorf("error %+v", e)
		}
	})

	t.Run("a protocol error with data that is no JSON loses it", func(t *testing.T) {
		c := start(t, failing(&sdk.Error{Code: 7, Message: "bad", Data: json.RawMessage(`{`)}))
		if e := c.Outcome().Error; e == nil || e.Code != 7 || e.Data != nil {
			t.Errorf("error %+v", e)
		}
	})

	t.Run("a code of MCP's own becomes -32603 with the original in data", func(t *testing.T) { // R-P8
		for _, code := range []int64{-32020, -32021, -32050, -32099, -32002, -32042} {
			e := start(t, failing(&sdk.Error{Code: code, Message: "own"})).Outcome().Error
			if e == nil || e.Code != jsonrpc.CodeInternal || e.Message != "own" || !strings.Contains(string(e.Data), fmt.Sprint(code)) {
				t.Errorf("%d became %+v", code, e)
			}
		}
	})

	t.Run("a panic shows a reference id and keeps its stack for the log, and its text from both", func(t *testing.T) { // R-V3, R-V4
		out := start(t, func(context.Context, *mcp.CallToolRequest) (string, error) { panic("secret table") }).Outcome()
		if out.Kind != tool.Broken || out.Error.Code != jsonrpc.CodeInternal || strings.Contains(out.Error.Message, "secret") {
			t.Fatalf("outcome %+v", out)
		}
		_, id, _ := strings.Cut(strings.TrimSuffix(out.Error.Message, ")"), "reference ")
		if cause := out.Cause.Error(); id == "" || !strings.Contains(cause, id) || strings.Contains(cause, "secret table") || !strings.Contains(cause, "run_test.go") {
			t.Errorf("cause %s", cause)
		}
	})

	t.Run("a panic of Go's own says what it is", func(t *testing.T) {
		out := start(t, func(context.Context, *mcp.CallToolRequest) (string, error) { return []string{}[len(t.Name()):][0], nil }).Outcome()
		if cause := out.Cause.Error(); !strings.Contains(cause, "slice bounds out of range") {
			t.Errorf("cause %s", cause)
		}
	})

	t.Run("using the session says what to use instead", func(t *testing.T) {
		got := start(t, func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
			_, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
			return "", err
		}).Failed()
		if !strings.Contains(got, "req.Session") || !strings.Contains(got, "tool.Ask") {
			t.Error(got)
		}
	})

	t.Run("an error of a raw handler is internal", func(t *testing.T) { // R-V4
		reg := tool.New()
		tool.AddRaw(reg, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, errors.New("secret")
			}, tool.Options{})
		out := tooltest.Start(t, reg, "t", none{}).Outcome()
		if out.Kind != tool.Broken || strings.Contains(out.Error.Message, "secret") || !strings.Contains(out.Cause.Error(), "secret") {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("a raw handler gets its arguments as they came", func(t *testing.T) {
		reg := tool.New()
		tool.AddRaw(reg, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"default":1}}}`)},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
			}, tool.Options{})
		if got := tooltest.Start(t, reg, "t", json.RawMessage(`{"b":1.0}`)).Text(); got != `{"b":1.0}` {
			t.Error(got)
		}
	})

	t.Run("Retry asks for another attempt", func(t *testing.T) {
		cause := errors.New("busy")
		out := start(t, failing(fmt.Errorf("wrapped: %w", tool.Retry(cause, time.Minute)))).Outcome()
		if out.Kind != tool.Again || out.After != time.Minute || !errors.Is(out.Cause, cause) {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("a run whose context ended is stopped, with or without the context's own error", func(t *testing.T) { // R-X3
		for _, own := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			found, _ := with(func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
				cancel()
				<-ctx.Done()
				if own {
					return "", ctx.Err()
				}
				return "", errors.New("signal: killed")
			}, tool.Options{}).Lookup("t")
			if out := found.Run(ctx, tool.Call{}); out.Kind != tool.Stopped || out.Cause == nil {
				t.Errorf("outcome %+v", out)
			}
		}
	})

	t.Run("a result that wins the race against a cancel stays", func(t *testing.T) { // R-X3
		ctx, cancel := context.WithCancel(t.Context())
		found, _ := with(func(context.Context, *mcp.CallToolRequest) (string, error) {
			cancel()
			return "done", nil
		}, tool.Options{}).Lookup("t")
		if out := found.Run(ctx, tool.Call{}); out.Kind != tool.Done || out.ToolError {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("a tool's own timeout is a tool error", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			reg := with(func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}, tool.Options{Timeout: time.Second})
			if got := tooltest.Start(t, reg, "t", none{}).ToolError(); !strings.Contains(got, "within 1s") {
				t.Error(got)
			}
		})
	})

	t.Run("a context that outlives its run gives errors", func(t *testing.T) {
		var leaked context.Context
		start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			leaked = ctx
			return "", nil
		}).Text()
		_, step := tool.Step(leaked, "a", func(context.Context) (int, error) { return 1, nil })
		_, ask := tool.Ask[none](leaked, "a", "?")
		_, prepared := tool.Prepared[int](leaked)
		sleep := tool.Sleep(leaked, "a", time.Hour)
		tool.Report(leaked, 1, 2, "late")
		for _, err := range []error{step, ask, prepared, sleep, leaked.Err()} {
			if err == nil {
				t.Error("a call after the end was accepted")
			}
		}
	})

	t.Run("a context that is no tool's gives errors", func(t *testing.T) {
		if _, err := tool.Step(t.Context(), "a", func(context.Context) (int, error) { return 1, nil }); err == nil {
			t.Error("accepted")
		}
		if err := tool.AskAll(t.Context()); err == nil {
			t.Error("accepted")
		}
	})

	t.Run("a call of another version goes on only if the tool says so", func(t *testing.T) {
		run := func(o tool.Options) tool.Outcome {
			found, _ := with(failing(nil), o).Lookup("t")
			return found.Run(t.Context(), tool.Call{Version: "1"})
		}
		if out := run(tool.Options{Version: "2"}); out.Kind != tool.Broken || !strings.Contains(out.Error.Message, `version "1"`) {
			t.Errorf("outcome %+v", out)
		}
		if out := run(tool.Options{Version: "2", Compatible: func(old string) bool { return old == "1" }}); out.Kind != tool.Done {
			t.Errorf("outcome %+v", out)
		}
		if out := run(tool.Options{Version: "2", Compatible: func(string) bool { panic("no") }}); out.Kind != tool.Broken {
			t.Errorf("outcome %+v", out)
		}
		if out := run(tool.Options{Version: "1"}); out.Kind != tool.Done {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("the handler gets an Extra and no session", func(t *testing.T) {
		start(t, func(_ context.Context, req *mcp.CallToolRequest) (string, error) {
			if req.Session != nil || req.Extra == nil || req.Params.Name != "t" || req.Extra.Header.Get("X") != "" {
				t.Errorf("request %+v", req)
			}
			return "", nil
		}).Text()
	})

	t.Run("reports reach the caller in order; what is no number does not", func(t *testing.T) {
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			tool.Report(ctx, 1, 2, "half")
			tool.Report(ctx, math.NaN(), 2, "nonsense")
			tool.Report(ctx, 2, 2, "all")
			return "", nil
		})
		c.Text()
		if got := fmt.Sprint(c.Reports()); got != "[{1 2 half} {2 2 all}]" {
			t.Error(got)
		}
	})
}

func TestResult(t *testing.T) {
	result := func(t *testing.T, d mcp.Tool, res *mcp.CallToolResult) tool.Outcome {
		t.Helper()
		d.Name, d.InputSchema = "t", json.RawMessage(`{"type":"object"}`)
		reg := tool.New()
		tool.AddRaw(reg, &d, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil }, tool.Options{})
		found, _ := reg.Lookup("t")
		return found.Run(t.Context(), tool.Call{})
	}
	text := &mcp.TextContent{Text: "hi"}
	object := json.RawMessage(`{"type":"object","required":["a"]}`)

	for name, c := range map[string]struct {
		tool mcp.Tool
		res  *mcp.CallToolResult
		want string
	}{
		"no content is an empty array (R-P5)": {res: &mcp.CallToolResult{}, want: `{"resultType":"complete","content":[],"isError":false}`},
		"no result is an empty one":           {want: `{"resultType":"complete","content":[],"isError":false}`},
		"nil content is left out":             {res: &mcp.CallToolResult{Content: []mcp.Content{nil, (*mcp.TextContent)(nil)}}, want: `{"resultType":"complete","content":[],"isError":false}`},
		"content and isError":                 {res: &mcp.CallToolResult{Content: []mcp.Content{text}, IsError: true}, want: `{"resultType":"complete","content":[{"type":"text","text":"hi"}],"isError":true}`},
		"related-task is dropped (R-P6)": {res: &mcp.CallToolResult{Meta: mcp.Meta{"io.modelcontextprotocol/related-task": "x", "a": 1.0}},
			want: `{"_meta":{"a":1},"resultType":"complete","content":[],"isError":false}`},
		"structured content stands as text too (R-P9)": {res: &mcp.CallToolResult{StructuredContent: map[string]any{"a": 1}},
			want: `{"resultType":"complete","content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1},"isError":false}`},
		"content of the tool's own stays": {tool: mcp.Tool{OutputSchema: object}, res: &mcp.CallToolResult{Content: []mcp.Content{text}, StructuredContent: map[string]any{"a": 1}},
			want: `{"resultType":"complete","content":[{"type":"text","text":"hi"}],"structuredContent":{"a":1},"isError":false}`},
		"what is no object stands as text anyway": {res: &mcp.CallToolResult{Content: []mcp.Content{text}, StructuredContent: []int{1}},
			want: `{"resultType":"complete","content":[{"type":"text","text":"hi"},{"type":"text","text":"[1]"}],"structuredContent":[1],"isError":false}`},
		"a tool error need not fit the output schema": {tool: mcp.Tool{OutputSchema: object}, res: &mcp.CallToolResult{StructuredContent: map[string]any{}, IsError: true},
			want: `{"resultType":"complete","content":[],"isError":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			if out := result(t, c.tool, c.res); out.Kind != tool.Done || string(out.Result) != c.want || out.ToolError != (c.res != nil && c.res.IsError) {
				t.Errorf("got  %s %v\nwant %s", out.Result, out.Error, c.want)
			}
		})
	}

	t.Run("what does not fit the output schema fails, and the log says why", func(t *testing.T) { // R-P9
		for _, structured := range []any{map[string]any{"b": 1}, nil} {
			out := result(t, mcp.Tool{OutputSchema: object}, &mcp.CallToolResult{StructuredContent: structured})
			if out.Kind != tool.Broken || out.Error.Code != jsonrpc.CodeInternal || !strings.Contains(out.Error.Message, "output schema") ||
				!strings.Contains(out.Cause.Error(), "structuredContent") {
				t.Errorf("outcome %+v", out)
			}
		}
	})

	t.Run("a result above the limit is a tool error that names both", func(t *testing.T) { // case 25
		out := result(t, mcp.Tool{}, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("x", limits.MaxResult)}}})
		if out.Kind != tool.Done || !out.ToolError || !strings.Contains(string(out.Result), fmt.Sprint(limits.MaxResult)) || len(out.Result) > 1000 {
			t.Errorf("%d bytes", len(out.Result))
		}
	})

	t.Run("a result that can't be encoded is internal", func(t *testing.T) {
		out := result(t, mcp.Tool{}, &mcp.CallToolResult{StructuredContent: make(chan int)})
		if out.Kind != tool.Broken || out.Cause == nil {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("a nil pointer stands for the zero value, a nil map for an empty one, as in the SDK", func(t *testing.T) {
		type output struct {
			A int `json:"a"`
		}
		reg := tool.New()
		tool.Add(reg, &mcp.Tool{Name: "p"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, *output, error) {
			return nil, nil, nil
		}, tool.Options{})
		tool.Add(reg, &mcp.Tool{Name: "m"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, map[string]int, error) {
			return nil, nil, nil
		}, tool.Options{})
		if got := tooltest.Start(t, reg, "p", none{}).Text(); got != `{"a":0}` {
			t.Error(got)
		}
		if got := tooltest.Start(t, reg, "m", none{}).Text(); got != `{}` {
			t.Error(got)
		}
	})
}

// What the schema allows and the Go type can't hold is told without Go's words (R-H8, R-V4).
func TestMisfit(t *testing.T) {
	r := tool.New()
	tool.Add(r, &mcp.Tool{Name: "count"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		N int `json:"n"`
	}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	}, tool.Options{})
	count, _ := r.Lookup("count")
	out := count.Run(t.Context(), tool.Call{Name: "count", Arguments: json.RawMessage(`{"n":9223372036854775808}`)})
	if !out.ToolError || !strings.Contains(string(out.Result), "a number in them is more than the tool can take") || strings.Contains(string(out.Result), "Go") {
		t.Errorf("%s", out.Result)
	}
}
