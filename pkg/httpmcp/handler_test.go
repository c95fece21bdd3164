package httpmcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/fault"
	"toolhost/pkg/httpmcp"
	"toolhost/pkg/queue"
	"toolhost/pkg/server"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// throttled is a database that has too much to do.
type throttled struct{ store.Store }

func (throttled) Load(context.Context, string) (task.Task, error) {
	return task.Task{}, fault.New(fault.Busy, "store", "slow down")
}

type none struct{}

// handler is the transport in front of the tools.
func handler(t *testing.T, tools *tool.Registry, o httpmcp.Options) http.Handler {
	t.Helper()
	var q struct{ queue.Queue }
	s, err := server.New(server.Options{Tools: tools, Store: throttled{}, Queue: q, Keys: [][]byte{make([]byte, 32)}})
	if err != nil {
		t.Fatal(err)
	}
	return httpmcp.New(s, o)
}

const meta = `"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

func post(method, name, params string) *http.Request {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + meta + `}}`
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080/mcp", strings.NewReader(body))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}, "Mcp-Name": {name}}
	return r
}

func list() *http.Request { return post("tools/list", "", "") }

// A caller that lacks a scope is told where to get another token.
func TestChallenge(t *testing.T) { // R-V2
	tools := tool.New()
	tool.Add(tools, &mcp.Tool{Name: "write"}, func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	}, tool.Options{Scopes: []string{"write"}})
	var q struct{ queue.Queue }
	s, err := server.New(server.Options{Tools: tools, Store: throttled{}, Queue: q, Keys: [][]byte{make([]byte, 32)}, Scoped: true})
	if err != nil {
		t.Fatal(err)
	}
	h := httpmcp.New(s, httpmcp.Options{Challenge: func(scopes []string) string { return "Bearer scope=" + strings.Join(scopes, " ") }})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, post("tools/call", "write", `"name":"write",`))
	if got := w.Header().Get("WWW-Authenticate"); w.Code != http.StatusForbidden || got != "Bearer scope=write" {
		t.Errorf("%d %q %s", w.Code, got, w.Body)
	}
}

// R-H4, R-H5 and the HTTP status table, as far as they are HTTP's own.
func TestStatus(t *testing.T) {
	small := httpmcp.Options{MaxBody: 1000, AllowedOrigins: []string{"https://app.example"}, AllowedHosts: []string{"127.0.0.1", "::1", "mcp.example"}}
	with := func(r *http.Request, name, value string) *http.Request {
		r.Header.Set(name, value)
		return r
	}
	at := func(host string) *http.Request {
		r := list()
		r.Host = host
		return r
	}
	sized := func(r *http.Request, declared int64) *http.Request {
		r.ContentLength = declared
		return r
	}
	for _, c := range []struct {
		name    string
		request *http.Request
		status  int
		says    string // in the body, or "Header: value"
	}{
		{"a result", list(), 200, `"tools":[]`},
		{"a media type with a charset", with(list(), "Content-Type", "application/json; charset=utf-8"), 200, ""},
		{"another charset", with(list(), "Content-Type", "application/json; charset=utf-16"), 415, "UTF-8"},
		{"a packed body", with(list(), "Content-Encoding", "gzip"), 415, "without a Content-Encoding"},
		{"a body that says it is not packed", with(list(), "Content-Encoding", "identity"), 200, ""},
		{"another media type", with(list(), "Content-Type", "text/plain"), 415, "application/json"},
		{"no media type", with(list(), "Content-Type", ""), 415, ""},
		{"GET", httptest.NewRequest("GET", "http://127.0.0.1/mcp", nil), 405, "Allow: POST"},
		{"DELETE", httptest.NewRequest("DELETE", "http://127.0.0.1/mcp", nil), 405, "Allow: POST"},
		{"a body over the limit", sized(post("tools/list", "", `"x":"`+strings.Repeat("x", 1000)+`",`), -1), 413, "1000 bytes"},
		{"an origin that is allowed", with(list(), "Origin", "https://app.example"), 200, "Access-Control-Allow-Origin: https://app.example"},
		{"an origin that is not", with(list(), "Origin", "https://app.example.evil"), 403, "origin"},
		{"an origin that is none", with(list(), "Origin", "null"), 403, ""},
		{"a page on this machine", with(list(), "Origin", "http://localhost:5173"), 200, ""},
		{"a page on this machine, to a server elsewhere", with(at("mcp.example"), "Origin", "http://localhost:5173"), 403, ""},
		{"a host name that was rebound", at("evil.example"), 403, "host"},
		{"IPv6", at("[::1]:8080"), 200, ""},
		{"throttled", post("tasks/get", "x", `"taskId":"x",`), 429, "Retry-After: 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			handler(t, tool.New(), small).ServeHTTP(w, c.request)
			name, value, isHeader := strings.Cut(c.says, ": ")
			if w.Code != c.status || isHeader && w.Header().Get(name) != value || !isHeader && !strings.Contains(w.Body.String(), c.says) {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			if w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) || !json.Valid(w.Body.Bytes()) {
				t.Errorf("no JSON of a known length: %v %s", w.Header(), w.Body)
			}
			if w.Header().Get("Mcp-Session-Id") != "" { // R-H6
				t.Error("a session")
			}
		})
	}
	t.Run("a notification has no body", func(t *testing.T) {
		w, r := httptest.NewRecorder(), list()
		r.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		handler(t, tool.New(), small).ServeHTTP(w, r)
		if w.Code != 202 || w.Body.Len() != 0 || w.Header().Get("Content-Type") != "" {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	})
	t.Run("a page of an allowed origin may ask first", func(t *testing.T) {
		w, r := httptest.NewRecorder(), httptest.NewRequest("OPTIONS", "http://127.0.0.1/mcp", nil)
		r.Header.Set("Origin", "https://app.example")
		r.Header.Set("Access-Control-Request-Method", "POST")
		r.Header.Set("Access-Control-Request-Headers", "mcp-name,mcp-param-region, x-other")
		handler(t, tool.New(), small).ServeHTTP(w, r)
		allowed := w.Header().Get("Access-Control-Allow-Headers")
		if w.Code != 204 || !strings.Contains(allowed, "Mcp-Name") || !strings.Contains(allowed, "Mcp-Param-Region") || strings.Contains(allowed, "X-Other") {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	})
}

// steps is a tool that reports 1, then waits to be released, then returns.
func steps(release <-chan struct{}, ended chan<- error) *tool.Registry {
	r := tool.New()
	tool.Add(r, &mcp.Tool{Name: "steps"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		tool.Report(ctx, 1, 2, "half")
		select {
		case <-release:
		case <-ctx.Done():
		}
		ended <- ctx.Err()
		return &mcp.CallToolResult{}, nil, ctx.Err()
	}, tool.Options{})
	return r
}

func TestStream(t *testing.T) {
	open := func(t *testing.T, accept string) (release chan struct{}, ended chan error, response *http.Response, leave func()) {
		release, ended = make(chan struct{}), make(chan error, 1)
		s := httptest.NewServer(handler(t, steps(release, ended), httpmcp.Options{}))
		t.Cleanup(s.Close)
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		made := post("tools/call", "steps", `"name":"steps",`)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, made.Body)
		if err != nil {
			t.Fatal(err)
		}
		if r.Header = made.Header; accept != "" {
			r.Header.Set("Accept", accept)
		}
		if accept == "application/json" {
			close(release) // there will be no first event to wait for
		}
		if response, err = http.DefaultClient.Do(r); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return release, ended, response, cancel
	}
	for _, accept := range []string{"", "*/*", "application/json, text/event-stream", "text/*;q=0.5"} {
		t.Run("the first event arrives before the second is made, Accept: "+accept, func(t *testing.T) { // R-L7, case 16
			release, _, response, _ := open(t, accept)
			events := bufio.NewReader(response.Body)
			first, err := readEvent(events)
			if err != nil || !strings.Contains(first, `"progress":1`) {
				t.Fatalf("%q, %v", first, err)
			}
			if h := response.Header; h.Get("Content-Type") != "text/event-stream" || h.Get("X-Accel-Buffering") != "no" {
				t.Errorf("%v", h)
			}
			close(release)
			last, err := readEvent(events)
			if err != nil || !strings.Contains(last, `"result"`) {
				t.Errorf("%q, %v", last, err)
			}
			if rest, err := io.ReadAll(events); err != nil || len(rest) > 0 {
				t.Errorf("after the response: %q, %v", rest, err)
			}
		})
	}
	t.Run("a client that takes JSON alone gets JSON", func(t *testing.T) {
		_, _, response, _ := open(t, "application/json")
		body, err := io.ReadAll(response.Body)
		if err != nil || response.Header.Get("Content-Type") != "application/json" || !json.Valid(body) || bytes.Contains(body, []byte("progress")) {
			t.Errorf("%v %s %v", response.Header, body, err)
		}
	})
	t.Run("closing the stream cancels the call", func(t *testing.T) { // R-H10
		_, ended, response, leave := open(t, "")
		if _, err := readEvent(bufio.NewReader(response.Body)); err != nil {
			t.Fatal(err)
		}
		leave()
		if err := <-ended; err == nil {
			t.Error("the tool went on")
		}
	})
}

// readEvent is the data of the next event.
func readEvent(r *bufio.Reader) (string, error) {
	var data strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return data.String(), err
		}
		if line == "\n" {
			return data.String(), nil
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			data.WriteString(text)
		}
	}
}
