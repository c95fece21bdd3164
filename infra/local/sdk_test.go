package local

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
)

// sdkTools are what a client meets that knows no tasks.
func sdkTools() *tool.Registry {
	r := newFixture().reg
	tool.Add(r, &mcp.Tool{Name: "count", Description: "Counts, and shows how far it is."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in struct {
			To int `json:"to"`
		}) (*mcp.CallToolResult, map[string]int, error) {
			for n := range in.To {
				tool.Report(ctx, float64(n+1), float64(in.To), "counting")
			}
			return nil, map[string]int{"counted": in.To}, nil
		}, tool.Options{Task: tool.Optional})
	tool.Add(r, &mcp.Tool{Name: "confirm", Description: "Asks before it does anything."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			a, err := tool.Ask[approval](ctx, "sure", "Sure?")
			if err != nil {
				return nil, nil, err
			}
			if !a.Value.Confirm {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "left alone"}}}, nil, nil
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
		}, tool.Options{})
	return r
}

// R-B2, R-B5, R-N4, R-N10: the official Go SDK's client, in its newest revision
// and in each that begins with initialize, against the whole local stack.
func TestOfficialGoClient(t *testing.T) {
	s := start(t, Options{Registry: sdkTools()})
	for _, c := range []struct {
		revision string // "": the client's newest
		agreed   string
		required string // what a call says that can only be a task
		asks     string // what a call comes to that asks
	}{
		{"", "2026-07-28", "capabil", "done"},
		{"2025-11-25", "2025-11-25", "only be called as a task", "has to ask"},
		{"2025-06-18", "2025-06-18", "only as a task", "has to ask"},
		{"2025-03-26", "2025-03-26", "only as a task", "has to ask"},
	} {
		t.Run(c.agreed, func(t *testing.T) {
			progress := make(chan float64, 10)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, nil
				},
			})
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL},
				&mcp.ClientSessionOptions{ProtocolVersion: c.revision})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			want(t, "revision", session.InitializeResult().ProtocolVersion, c.agreed)
			want(t, "session id", session.ID(), "")
			if c.revision != "" {
				if err := session.Ping(t.Context(), nil); err != nil {
					t.Error("ping:", err)
				}
			}

			var names []string
			for listed, err := range session.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, listed.Name)
			}
			slices.Sort(names)
			want(t, "tools", strings.Join(names, " "), "confirm count deploy endless greet")

			// call is the text of a result, or the error.
			call := func(name string, arguments map[string]any, meta mcp.Meta) (string, bool) {
				got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments, Meta: meta})
				if err != nil {
					return err.Error(), true
				}
				var text strings.Builder
				for _, c := range got.Content {
					if t, is := c.(*mcp.TextContent); is {
						text.WriteString(t.Text)
					}
				}
				return text.String(), got.IsError
			}
			text, failed := call("greet", map[string]any{"name": "Ada"}, nil)
			want(t, "greet", text, "Hello, Ada!")
			want(t, "it fails", failed, false)

			text, _ = call("count", map[string]any{"to": 3}, mcp.Meta{"progressToken": "p"})
			want(t, "count", text, `{"counted":3}`)
			for n := range 3 {
				want(t, "progress", <-progress, float64(n+1))
			}
			if text, failed = call("greet", map[string]any{}, nil); !failed || !strings.Contains(text, "name") {
				t.Errorf("arguments that break the schema: %s", text)
			}
			if text, failed = call("deploy", map[string]any{"name": "x"}, nil); !failed || !strings.Contains(text, c.required) {
				t.Errorf("a tool that is only a task: %s", text)
			}
			if text, _ = call("confirm", map[string]any{}, nil); !strings.Contains(text, c.asks) {
				t.Errorf("a tool that asks: %s", text)
			}
			// After all of this the session is as good as before.
			text, _ = call("greet", map[string]any{"name": "Bob"}, nil)
			want(t, "greet", text, "Hello, Bob!")
		})
	}
}
