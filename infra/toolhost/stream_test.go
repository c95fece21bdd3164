package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// counting is a way to an endpoint that records the methods of what passes.
func counting(t *testing.T, endpoint string) (through string, methods func() string) {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.In.Header.Get("Mcp-Method"))
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = to.Scheme, to.Host, to.Host
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL + to.Path, func() string {
		mu.Lock()
		defer mu.Unlock()
		all := strings.Join(seen, " ")
		seen = nil
		return all
	}
}

// command runs a command that must succeed.
func command(t *testing.T, args ...string) (out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), args, &terminal{in: strings.NewReader(""), out: &stdout, err: &stderr}); code != exitOK {
		t.Fatalf("%v: exit %d, %s", args, code, stderr.String())
	}
	return stdout.String(), stderr.String()
}

func TestCommandsListen(t *testing.T) { // R-L1
	endpoint, methods := counting(t, fixtureURL())
	out, told := command(t, "call", "slow_compute", "--seconds", "1", "--url", endpoint)
	// A read may come before a stream has begun to tell, where the machine is slow.
	few := func(got, want string, reads int) bool {
		return strings.HasPrefix(got, want) && strings.Count(got, "tasks/get") <= reads && strings.Count(got, "listen") == 1
	}
	if got := methods(); !few(got, "tools/list tools/call subscriptions/listen", 1) {
		t.Errorf("call sends %s", got)
	}
	if !strings.Contains(out, "1 seconds") || !regexp.MustCompile(`(?m)^Task .*\nworking`).MatchString(told) {
		t.Errorf("call says %q, and tells %q", out, told)
	}
	id, _ := command(t, "call", "slow_compute", "--seconds", "6", "--detach", "--url", endpoint)
	methods()
	out, told = command(t, "watch", strings.TrimSpace(id), "--url", endpoint)
	if got := methods(); !few(got, "tasks/get subscriptions/listen", 2) {
		t.Errorf("watch sends %s", got)
	}
	// A tool's progress is stored every two seconds.
	if !strings.Contains(out, "6 seconds") || !regexp.MustCompile(`(?m)^working: .*seconds`).MatchString(told) {
		t.Errorf("watch says %q, and tells %q", out, told)
	}
}

func TestOlderServer(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "older", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hail"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Name string `json:"name"`
	}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hail, " + in.Name}}}, nil, nil
	})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(h.Close)
	if out, _ := command(t, "tools", "hail", "--json", "--url", h.URL); !json.Valid([]byte(out)) {
		t.Errorf("got %s", out)
	}
	if out, _ := command(t, "call", "hail", "--name", "Ada", "--url", h.URL); out != "Hail, Ada\n" {
		t.Errorf("got %q", out)
	}
	for range server.Sessions() {
		t.Error("a session was left")
	}
}
