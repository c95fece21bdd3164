package local

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/client"
	"toolhost/pkg/tool"
)

// tune opens a subscriptions/listen and returns its events' data as they arrive.
func tune(ctx context.Context, t *testing.T, url, task string) (http.Header, <-chan string) {
	t.Helper()
	r := post(t, url, fmt.Sprintf(`{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"taskIds":[%q]},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`, task))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"subscriptions/listen"}}
	response, err := http.DefaultClient.Do(r.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string)
	go func() {
		defer close(events)
		defer response.Body.Close()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
				events <- data
			}
		}
	}()
	return response.Header, events
}

// Cases 16, 40: through the event JSON and the streaming format of Lambda, each
// event arrives before the next one is made.
func TestListen(t *testing.T) {
	goOn := make(chan struct{})
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "gated", Description: "Ends when it is told to."},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			select {
			case <-goOn:
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		}, tool.Options{Task: tool.Required})
	create := func(t *testing.T, s *Stack) string {
		t.Helper()
		o, err := client.New(s.URL, client.Options{}).Start(t.Context(), "gated", nil, client.Watch{})
		if err != nil || o.Task == nil {
			t.Fatalf("%+v, %v", o, err)
		}
		return o.Task.ID
	}
	t.Run("each event arrives before the next is made", func(t *testing.T) {
		s := start(t, Options{Registry: reg})
		id := create(t, s)
		header, events := tune(t.Context(), t, s.URL, id)
		want(t, "content type", header.Get("Content-Type"), "text/event-stream")
		want(t, "buffering", header.Get("X-Accel-Buffering"), "no") // R-L7
		for _, part := range []string{`"notifications/subscriptions/acknowledged","params":{"notifications":{"taskIds":["` + id + `"]}`, `"status":"working"`} {
			if got := <-events; !strings.Contains(got, part) {
				t.Fatalf("got %s, want %s", got, part)
			}
		}
		goOn <- struct{}{} // the tool is not over before the client has both
		for _, part := range []string{`"status":"completed"`, `"id":"l","result":{"resultType":"complete"`} {
			if got := <-events; !strings.Contains(got, part) {
				t.Fatalf("got %s, want %s", got, part)
			}
		}
		if got, open := <-events; open {
			t.Errorf("then %s", got)
		}
	})
	t.Run("a client that has hung up, and one that has not, keep no stack from its end", func(t *testing.T) { // R-H10
		s := start(t, Options{Registry: reg})
		id := create(t, s)
		ctx, hangUp := context.WithCancel(t.Context())
		_, gone := tune(ctx, t, s.URL, id)
		_, stays := tune(t.Context(), t, s.URL, id)
		<-gone
		<-stays
		hangUp()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for range stays { // it ends
		}
	})
}
