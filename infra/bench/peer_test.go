package bench

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/httpmcp"
)

// BenchmarkPeer is a synchronous call of a trivial tool, beside the official Go
// SDK's own server, stateless, with the same handler function: as an http.Handler
// with a recorder, and over a loopback connection. Neither touches a database.
func BenchmarkPeer(b *testing.B) {
	server := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: greeting.Name, Description: greeting.Description}, greet)
	get := func(*http.Request) *mcp.Server { return server }
	toolhost := httpmcp.New(newServer(b, shelf{}), httpmcp.Options{})
	for _, peer := range []struct {
		name    string
		handler http.Handler
	}{
		{"json", mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})},
		{"stream", mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})},
	} {
		b.Run("handler/"+peer.name, func(b *testing.B) {
			pair(b, "toolhost", turn{run: record(b, toolhost)}, "sdk", turn{run: record(b, peer.handler)})
		})
		b.Run("loopback/"+peer.name, func(b *testing.B) {
			pair(b, "toolhost", turn{run: loop(b, toolhost)}, "sdk", turn{run: loop(b, peer.handler)})
		})
	}
}

var greetAda = []byte(body("tools/call", `"name":"greet","arguments":{"name":"Ada"}`))

// post is the call as a client sends it.
func post(r *http.Request) *http.Request {
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "greet"} {
		r.Header.Set(name, value)
	}
	return r
}

func check(b *testing.B, status int, body []byte) {
	if status != http.StatusOK || !bytes.Contains(body, []byte("Hello, Ada!")) {
		b.Fatalf("%d %s", status, body)
	}
}

func record(b *testing.B, h http.Handler) func() {
	return func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, post(httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", bytes.NewReader(greetAda))))
		check(b, w.Code, w.Body.Bytes())
	}
}

func loop(b *testing.B, h http.Handler) func() {
	s := httptest.NewServer(h)
	b.Cleanup(s.Close)
	return func() {
		r, err := http.NewRequest(http.MethodPost, s.URL+"/mcp", bytes.NewReader(greetAda))
		must(b, err)
		response, err := s.Client().Do(post(r))
		must(b, err)
		all, err := io.ReadAll(response.Body)
		must(b, err)
		must(b, response.Body.Close())
		check(b, response.StatusCode, all)
	}
}
