package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/client"
)

type greetArguments struct {
	Name string `json:"name"`
}

// olderServer is the official SDK's, which has sessions, and so no revision that
// has none.
func olderServer(t *testing.T, heard <-chan string) (*mcp.Server, string) {
	s := mcp.NewServer(&mcp.Implementation{Name: "older", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in greetArguments) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("not today")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "work"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		p := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half"}
		if err := r.Session.NotifyProgress(ctx, p); err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: <-heard}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return nil, nil, err
		}
		name, _ := got.Content["name"].(string)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: got.Action + " " + name}}}, nil, nil
	})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(h.Close)
	return s, h.URL
}

func connectOlder(t *testing.T, url string, o client.Options) *client.Client {
	c := client.New(url, o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestOlder(t *testing.T) { // R-B1, R-B2, from the other side
	heard := make(chan string, 1)
	server, url := olderServer(t, heard)
	c := connectOlder(t, url, client.Options{})

	t.Run("all_its_tools_are_listed", func(t *testing.T) {
		tools, err := c.Tools(t.Context())
		if err != nil || len(tools) != 4 || !strings.Contains(string(tools[2].InputSchema), `"name"`) {
			t.Errorf("%+v, %v", tools, err)
		}
	})
	t.Run("a_call_is_answered", func(t *testing.T) {
		got, err := c.Call(t.Context(), "greet", json.RawMessage(`{"name":"Ada"}`), client.Watch{})
		if err != nil || text(t, got) != "Hello, Ada" {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("a_tool_error_is_a_result", func(t *testing.T) {
		got, err := c.Call(t.Context(), "fail", json.RawMessage(`{}`), client.Watch{})
		if err != nil || !strings.Contains(string(got), `"isError":true`) {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("its_errors_are_the_servers", func(t *testing.T) {
		_, err := c.Call(t.Context(), "nothing", nil, client.Watch{})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Code != -32602 {
			t.Error(err)
		}
	})
	t.Run("progress_arrives", func(t *testing.T) {
		got, err := c.Call(t.Context(), "work", nil, client.Watch{Progress: func(_, _ float64, m string) { heard <- m }})
		if err != nil || text(t, got) != "half" {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("a_question_in_the_middle_of_a_call_is_answered", func(t *testing.T) {
		c := connectOlder(t, url, client.Options{Answerer: func(_ context.Context, q client.Question) (json.RawMessage, error) {
			if !strings.Contains(string(q.Params), "Who?") {
				t.Errorf("asked %s", q.Params)
			}
			return json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`), nil
		}})
		got, err := c.Call(t.Context(), "ask", nil, client.Watch{})
		if err != nil || text(t, got) != "accept Ada" {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("a_session_that_the_server_has_forgotten_is_replaced", func(t *testing.T) {
		for session := range server.Sessions() {
			_ = session.Close()
		}
		got, err := c.Call(t.Context(), "greet", json.RawMessage(`{"name":"Bob"}`), client.Watch{})
		if err != nil || text(t, got) != "Hello, Bob" {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("what_is_no_server_at_all_is_said_to_be_none", func(t *testing.T) {
		web := httptest.NewServer(http.NotFoundHandler())
		t.Cleanup(web.Close)
		_, err := client.New(web.URL, client.Options{}).Tools(t.Context())
		var unreachable *client.UnreachableError
		if !errors.As(err, &unreachable) || unreachable.Status != http.StatusNotFound {
			t.Error(err)
		}
	})
	t.Run("one_that_has_answered_is_not_taken_for_older", func(t *testing.T) {
		c, s := scripted(client.Options{}, result(`{"tools":[]}`), reply{status: 400, body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`})
		if _, err := c.Tools(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Tools(t.Context()); err == nil || len(s.seen) != 2 {
			t.Errorf("%v, %d requests", err, len(s.seen))
		}
	})
}

func TestCancelOnEnd(t *testing.T) { // R-X3
	c := client.New(serve(t, nil), client.Options{CancelOnEnd: true})
	ctx, stop := context.WithCancel(t.Context())
	var id string
	_, err := c.Call(ctx, "slow_compute", json.RawMessage(`{"seconds":600}`), client.Watch{Task: func(task client.Task) { id = task.ID; stop() }})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := c.Wait(t.Context(), id, client.Watch{}); !errors.Is(err, client.ErrCancelled) {
		t.Error(err)
	}
}
