package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
)

type (
	none  struct{}
	named struct {
		Name string `json:"name"`
	}
)

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func form(key, message, property string) tool.Question {
	params := fmt.Sprintf(`{"mode":"form","message":%q,"requestedSchema":{"type":"object","properties":{%q:{"type":"string"}},"required":[%q]}}`,
		message, property, property)
	return tool.Question{Key: key, Method: "elicitation/create", Params: json.RawMessage(params)}
}

// said is the first string of an accepted answer, or what was chosen instead.
func said(response json.RawMessage) string {
	var answer struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	_ = json.Unmarshal(response, &answer)
	for _, v := range answer.Content {
		return fmt.Sprint(v)
	}
	return answer.Action
}

// fixtures are the tools of these tests, one for each way a call can go.
func fixtures() *tool.Registry {
	r := tool.New()
	tool.Add(r, &mcp.Tool{Name: "greet", Description: "Greets somebody."},
		func(_ context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
			return text("Hello, %s!", in.Name), nil, nil
		}, tool.Options{})

	// The seed's example: asks for a name while it is a task.
	tool.Add(r, &mcp.Tool{Name: "hello_world", Description: "Asks who is there, and says hello."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			answer, err := tool.AskRaw(ctx, form("name", "Please enter your name.", "name"))
			if err != nil {
				return nil, nil, err
			}
			return text("Hello, %s!", said(answer)), nil, nil
		}, tool.Options{Task: tool.Required, TTL: time.Hour, Retention: time.Hour, PollInterval: 5 * time.Second})

	tool.Add(r, &mcp.Tool{Name: "two_questions", Description: "Asks two things at once."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			answers, err := tool.AskAllRaw(ctx, form("name", "Who?", "name"), tool.Question{Key: "where", Method: "roots/list"})
			if err != nil {
				return nil, nil, err
			}
			return text("%s at %s", said(answers["name"]), answers["where"]), nil, nil
		}, tool.Options{Task: tool.Optional})

	tool.Add(r, &mcp.Tool{Name: "instant", Description: "Needs a task only if asked to be slow."},
		func(context.Context, *mcp.CallToolRequest, struct {
			Slow bool `json:"slow,omitempty"`
		}) (*mcp.CallToolResult, any, error) {
			return text("done"), nil, nil
		}, tool.Options{Task: tool.Required, Instant: func(args json.RawMessage) bool { return !strings.Contains(string(args), "true") }})

	tool.Add(r, &mcp.Tool{Name: "prepared", Description: "Asks for a name before it is a task."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			name, err := tool.Prepared[string](ctx)
			if err != nil {
				return nil, nil, err
			}
			city, err := tool.AskRaw(ctx, form("name", "Which city?", "city"))
			if err != nil {
				return nil, nil, err
			}
			return text("%s of %s", name, said(city)), nil, nil
		}, tool.Options{Task: tool.Optional, Prepare: func(ctx context.Context, _ *mcp.CallToolRequest) (any, error) {
			answer, err := tool.AskRaw(ctx, form("name", "Who?", "name"))
			if err != nil {
				return nil, err
			}
			return said(answer), nil
		}})

	tool.Add(r, &mcp.Tool{Name: "fails", Description: "Fails as it is told to."},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			How string `json:"how"`
		}) (*mcp.CallToolResult, any, error) {
			switch in.How {
			case "tool":
				return nil, nil, errors.New("the disk is full")
			case "protocol":
				return nil, nil, &sdk.Error{Code: -32000, Message: "no such host", Data: json.RawMessage(`{"host":"x"}`)}
			case "reserved":
				return nil, nil, &sdk.Error{Code: -32042, Message: "go away"}
			}
			panic("secret: table toolhost-prod")
		}, tool.Options{Task: tool.Optional})

	tool.Add(r, &mcp.Tool{Name: "progress", Description: "Shows how far it is."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			for _, done := range []float64{0, 50, 50, 20, 100} {
				tool.Report(ctx, done, 100, fmt.Sprintf("%v of 100", done))
			}
			return text("done"), nil, nil
		}, tool.Options{})

	tool.Add(r, &mcp.Tool{Name: "samples", Description: "Asks the client's model."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			_, err := tool.Sample(ctx, "say", &mcp.CreateMessageParams{MaxTokens: 10})
			return text("sampled"), nil, err
		}, tool.Options{Task: tool.Optional})

	tool.AddRaw(r, &mcp.Tool{Name: "region", Description: "Has arguments that headers mirror.", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"}}}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text("%s", req.Params.Arguments), nil
		}, tool.Options{})

	tool.Add(r, &mcp.Tool{Name: "big", Description: "Answers with so many bytes."},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			Bytes int `json:"bytes"`
		}) (*mcp.CallToolResult, any, error) {
			return text("%s", strings.Repeat("x", in.Bytes)), nil, nil
		}, tool.Options{Task: tool.Optional})
	return r
}
