package local

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/client"
	"toolhost/pkg/tool"
)

// Through the whole stack: a job gets its URL from the tool, and answers it.
func TestCallback(t *testing.T) {
	reg, urls := tool.New(), make(chan string, 10)
	tool.Add(reg, &mcp.Tool{Name: "render", Description: "Renders elsewhere."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			done, err := tool.NewCallback(ctx, "render")
			if err != nil {
				return nil, nil, err
			}
			if _, err := tool.Step(ctx, "start", func(context.Context) (int, error) { urls <- done.URL; return 0, nil }); err != nil {
				return nil, nil, err
			}
			film, err := tool.Await[string](ctx, done)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: film}}}, nil, err
		}, tool.Options{Task: tool.Required, PollInterval: 50 * time.Millisecond})
	s := start(t, Options{Registry: reg})
	c := client.New(s.URL, client.Options{})
	o, err := c.Start(t.Context(), "render", json.RawMessage(`{}`), client.Watch{})
	if err != nil || o.Task == nil {
		t.Fatalf("%+v, %v", o, err)
	}
	url := <-urls
	if base := strings.TrimSuffix(s.URL, "mcp") + "callbacks/"; !strings.HasPrefix(url, base) {
		t.Fatalf("the URL is %s, want it below %s", url, base)
	}
	for _, r := range []struct {
		method, url, body string
		status            int
	}{
		{http.MethodGet, url, "", http.StatusMethodNotAllowed},
		{http.MethodPost, url + "x", `"a film"`, http.StatusNotFound},
		{http.MethodPost, url + "/x", `"a film"`, http.StatusNotFound},
		{http.MethodPost, url, `"a film"`, http.StatusNoContent},
	} {
		request, err := http.NewRequestWithContext(t.Context(), r.method, r.url, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		response, body := fetch(t, request)
		want(t, r.method+" "+body, response.StatusCode, r.status)
	}
	got, err := c.Wait(t.Context(), o.Task.ID, client.Watch{})
	if err != nil || !strings.Contains(string(got), "a film") {
		t.Errorf("%s, %v", got, err)
	}
}
