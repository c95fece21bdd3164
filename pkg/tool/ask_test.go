package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

type approval struct {
	OK    bool   `json:"ok"`
	Count int    `json:"count,omitempty" minimum:"1"`
	Mail  string `json:"mail,omitempty" format:"email"`
}

// approve asks one question and says what came.
func approve(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
	reply, err := tool.Ask[approval](ctx, "approve", "Sure?")
	if err != nil {
		return "", fmt.Errorf("asking: %w", err)
	}
	return fmt.Sprint(reply.Action, reply.Accepted(), reply.Value), nil
}

func TestAsk(t *testing.T) {
	t.Run("the call is parked on the question and goes on with the answer", func(t *testing.T) { // R-G2
		for _, options := range [][]tooltest.Option{nil, {tooltest.Sync()}} {
			c := start(t, approve, options...)
			q := c.Asked("approve")[0]
			if q.Method != "elicitation/create" || !strings.Contains(string(q.Params), `"mode":"form","message":"Sure?","requestedSchema":{"type":"object"`) {
				t.Errorf("question %s %s", q.Method, q.Params)
			}
			c.Accept("approve", approval{OK: true, Count: 2})
			if got := c.Text(); got != "accepttrue {true 2 }" || c.Runs() != 2 {
				t.Error(got)
			}
		}
	})

	t.Run("decline and cancel are values", func(t *testing.T) { // R-U9
		c := start(t, approve)
		c.Decline("approve")
		if got := c.Text(); got != "declinefalse {false 0 }" {
			t.Error(got)
		}
		c = start(t, approve)
		c.Answer("approve", map[string]any{"action": "cancel"})
		if got := c.Text(); got != "cancelfalse {false 0 }" {
			t.Error(got)
		}
	})

	t.Run("an answer that does not fit is asked for again, saying what was wrong", func(t *testing.T) { // R-U7, R-U4
		c := start(t, approve)
		c.Accept("approve", map[string]any{"ok": "yes"})
		q := c.Asked("approve~2")[0]
		if !strings.Contains(string(q.Params), `Sure?\n\nThe last answer did not fit: content.ok: got \"yes\", want a boolean.`) {
			t.Errorf("params %s", q.Params)
		}
		c.Accept("approve~2", map[string]any{"ok": true, "mail": "nobody"})
		if q := c.Asked("approve~3")[0]; !strings.Contains(string(q.Params), `want a string of format email`) {
			t.Errorf("params %s", q.Params)
		}
		c.Accept("approve~3", map[string]any{"ok": true, "extra": 1}) // an extra property is no fault
		if got := c.Text(); got != "accepttrue {true 0 }" {
			t.Error(got)
		}
	})

	t.Run("after three misfits the tool gets a typed error", func(t *testing.T) { // R-U7
		var misfit *tool.MisfitError
		c := start(t, func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
			text, err := approve(ctx, req)
			errors.As(err, &misfit)
			return text, err
		})
		for _, key := range []string{"approve", "approve~2", "approve~3"} {
			c.Accept(key, map[string]any{"input": "x"})
		}
		if got := c.ToolError(); misfit == nil || misfit.Key != "approve" || !strings.Contains(got, "content.ok: missing, want a boolean") {
			t.Errorf("%q, misfit %v", got, misfit)
		}
	})

	t.Run("several are asked at once and answered one by one", func(t *testing.T) { // R-U3
		type name struct {
			Name string `json:"name"`
		}
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			who, sure := tool.Form[name]("name", "Who?"), tool.Form[approval]("sure", "Sure?")
			if err := tool.AskAll(ctx, who, sure); err != nil {
				return "", err
			}
			return fmt.Sprint(who.Reply.Value.Name, sure.Reply.Value.OK), nil
		})
		c.Asked("name", "sure")
		c.Accept("sure", approval{OK: true})
		c.Asked("name")
		c.Accept("name", name{"Ada"})
		if got := c.Text(); got != "Adatrue" || c.Runs() != 2 {
			t.Error(got)
		}
	})

	t.Run("questions of parallel branches are asked together", func(t *testing.T) {
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			errs := make(chan error)
			for _, key := range []string{"a", "b"} {
				go func() { _, err := tool.Ask[none](ctx, key, "?"); errs <- err }()
			}
			return "done", errors.Join(<-errs, <-errs)
		})
		c.Asked("a", "b")
		c.Decline("a")
		c.Decline("b")
		c.Text()
	})

	t.Run("raw questions show the responses as they came", func(t *testing.T) { // R-U7
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			answers, err := tool.AskAllRaw(ctx, tool.Question{Key: "name", Method: "elicitation/create", Params: json.RawMessage(`{"message":"?"}`)})
			return string(answers["name"]), err
		})
		c.Answer("name", json.RawMessage(`{"action":"accept","content":{"input":1.0}}`))
		if got := c.Text(); got != `{"action":"accept","content":{"input":1.0}}` {
			t.Error(got)
		}
	})

	t.Run("a URL, the client's model and its roots are asked", func(t *testing.T) {
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			action, err := tool.AskURL(ctx, "pay", "Please pay.", "https://example.com/pay")
			if err != nil {
				return "", err
			}
			message, err := tool.Sample(ctx, "joke", &mcp.CreateMessageParams{MaxTokens: 9, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "joke"}}}})
			if err != nil {
				return "", err
			}
			roots, err := tool.Roots(ctx, "roots")
			if err != nil {
				return "", err
			}
			return fmt.Sprint(action, message.Content.(*mcp.TextContent).Text, roots[0].URI), nil
		})
		if q := c.Asked("pay")[0]; string(q.Params) != `{"message":"Please pay.","mode":"url","url":"https://example.com/pay"}` {
			t.Errorf("params %s", q.Params)
		}
		c.Answer("pay", map[string]any{"action": "accept"})
		if q := c.Asked("joke")[0]; q.Method != "sampling/createMessage" || !strings.Contains(string(q.Params), `"maxTokens":9`) {
			t.Errorf("question %+v", q)
		}
		c.Answer("joke", json.RawMessage(`{"role":"assistant","model":"m","content":{"type":"text","text":"ha"}}`))
		if q := c.Asked("roots")[0]; q.Method != "roots/list" || q.Params != nil {
			t.Errorf("question %+v", q)
		}
		c.Answer("roots", json.RawMessage(`{"roots":[{"uri":"file:///a"}]}`))
		if got := c.Text(); got != "acceptha"+"file:///a" {
			t.Error(got)
		}
	})

	t.Run("an answer of another kind is a typed error or a failure, never a panic", func(t *testing.T) {
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			_, err := tool.Sample(ctx, "joke", &mcp.CreateMessageParams{})
			return "", err
		})
		c.Answer("joke", []int{1})
		if got := c.ToolError(); !strings.Contains(got, `"joke"`) {
			t.Error(got)
		}
		found, _ := with(approve, tool.Options{}).Lookup("t")
		out := found.Run(t.Context(), tool.Call{Answers: []tool.Answer{{Key: "approve", Method: "roots/list", Response: json.RawMessage(`{}`)}}})
		if out.Kind != tool.Broken || !strings.Contains(out.Error.Message, "another kind") {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("a swallowed suspension fails, and says what must be returned", func(t *testing.T) { // case 56
		for name, h := range map[string]handler{
			"result": func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
				_, err := approve(ctx, req)
				return fmt.Sprint("ok: ", err == nil), nil
			},
			"another error": func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
				_, err := approve(ctx, req)
				return "", fmt.Errorf("lost its chain: %v", err)
			},
			"sleep": func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
				_ = tool.Sleep(ctx, "a", 1e9)
				return "", nil
			},
		} {
			if got := start(t, h).Failed(); !strings.Contains(got, "must return the error") || !strings.Contains(got, "%w.") {
				t.Errorf("%s: %q", name, got)
			}
		}
	})

	t.Run("a dying process loses no answer", func(t *testing.T) { // case 48
		n := 0
		c := start(t, func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
			if _, err := number(ctx, "before", &n); err != nil {
				return "", err
			}
			text, err := approve(ctx, req)
			if err != nil {
				return "", err
			}
			_, err = number(ctx, "after", &n)
			return text, err
		})
		c.KillAfterEachStep()
		c.Accept("approve", approval{OK: true})
		if got := c.Text(); got != "accepttrue {true 0 }" || n != 2 || c.Runs() != 4 {
			t.Errorf("%q, %d steps, %d runs", got, n, c.Runs())
		}
	})
}

// R-U8
func TestCapabilities(t *testing.T) {
	ask := func(q tool.Question) handler {
		return func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			q.Key = "q"
			_, err := tool.AskRaw(ctx, q)
			return "", err
		}
	}
	form := tool.Question{Method: "elicitation/create", Params: json.RawMessage(`{"message":"?"}`)}
	url := tool.Question{Method: "elicitation/create", Params: json.RawMessage(`{"mode":"url"}`)}
	sample := tool.Question{Method: "sampling/createMessage", Params: json.RawMessage(`{"tools":null}`)}
	tools := tool.Question{Method: "sampling/createMessage", Params: json.RawMessage(`{"tools":[]}`)}
	roots := tool.Question{Method: "roots/list"}
	for _, c := range []struct {
		q              tool.Question
		declared, want string
	}{
		{form, `{"elicitation":{}}`, ""},
		{form, `{"elicitation":{"form":{}}}`, ""},
		{form, `{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{}}}`},
		{form, `{"sampling":{}}`, `{"elicitation":{"form":{}}}`},
		{form, ``, `{"elicitation":{"form":{}}}`},
		{url, `{"elicitation":{"url":{}}}`, ""},
		{url, `{"elicitation":{}}`, `{"elicitation":{"url":{}}}`},
		{sample, `{"sampling":{}}`, ""},
		{sample, `{}`, `{"sampling":{}}`},
		{tools, `{"sampling":{}}`, `{"sampling":{"tools":{}}}`},
		{tools, `{"sampling":{"tools":{}}}`, ""},
		{tools, `{}`, `{"sampling":{"tools":{}}}`},
		{roots, `{"roots":{}}`, ""},
		{roots, `{"elicitation":{}}`, `{"roots":{}}`},
	} {
		for _, options := range [][]tooltest.Option{{}, {tooltest.Sync()}} {
			call := start(t, ask(c.q), append(options, tooltest.Capabilities(c.declared))...)
			if c.want == "" {
				call.Asked("q")
			} else if out := call.Outcome(); out.Kind != tool.Lacks || string(out.Required) != c.want {
				t.Errorf("%s with %s: %v %s, want %s", c.q.Params, c.declared, out.Kind, out.Required, c.want)
			}
		}
	}

	t.Run("a tool may do without", func(t *testing.T) {
		got := start(t, func(ctx context.Context, req *mcp.CallToolRequest) (string, error) {
			text, err := approve(ctx, req)
			if missing := (*tool.MissingCapability)(nil); errors.As(err, &missing) {
				return "unasked", nil
			}
			return text, err
		}, tooltest.Capabilities(`{}`)).Text()
		if got != "unasked" {
			t.Error(got)
		}
	})
}

// R-C4; case 33
func TestPrepare(t *testing.T) {
	type input struct {
		Repo string `json:"repo,omitempty"`
	}
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object","properties":{"repo":{"type":"string","default":"main"}}}`)},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ input) (*mcp.CallToolResult, any, error) {
			plan, err := tool.Prepared[string](ctx)
			if err != nil {
				return nil, nil, err
			}
			reply, err := tool.Ask[approval](ctx, "approve", "Now?") // the same key is another question
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(plan, reply.Value.OK)}}}, nil, err
		}, tool.Options{Task: tool.Required, Prepare: tool.PrepareWith(func(ctx context.Context, _ *mcp.CallToolRequest, in input) (string, error) {
			reply, err := tool.Ask[approval](ctx, "approve", "May I?")
			if err == nil && !reply.Value.OK {
				err = errors.New("not allowed")
			}
			return in.Repo, err
		})})

	t.Run("its value reaches the handler", func(t *testing.T) {
		c := tooltest.Start(t, reg, "t", none{})
		c.Accept("approve", approval{OK: true})
		if c.Asked("approve"); c.Runs() != 1 {
			t.Errorf("%d runs", c.Runs())
		}
		c.Accept("approve", approval{OK: true})
		if got := c.Text(); got != "maintrue" {
			t.Error(got)
		}
	})

	t.Run("its error is the call's result, and the handler never runs", func(t *testing.T) {
		c := tooltest.Start(t, reg, "t", none{})
		c.Decline("approve")
		if got := c.ToolError(); got != "not allowed" || c.Runs() != 0 {
			t.Errorf("%q after %d runs", got, c.Runs())
		}
	})

	t.Run("a panic in it is recovered", func(t *testing.T) {
		reg := with(failing(nil), tool.Options{Task: tool.Required, Prepare: func(context.Context, *mcp.CallToolRequest) (any, error) { panic("no") }})
		tooltest.Start(t, reg, "t", none{}).Failed()
	})
}
