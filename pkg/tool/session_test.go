package tool_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/limits"
	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

// TestMain lets the test binary be the program of a stdio server.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		serve(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// program dials this test binary as a server of one kind; see serve.
func program(kind string) tool.Dial { return tool.Command(os.Args[0], "serve", kind) }

func serve(kind string) {
	if kind == "sdk" {
		s := newServer()
		s.die = func() { os.Exit(3) }
		_ = s.mcp.Run(context.Background(), &mcp.StdioTransport{})
		return
	}
	serveByHand(kind)
}

// host registers the tools that dial leads to.
func host(t *testing.T, dial tool.Dial, options func(*mcp.Tool) tool.Options) (*tool.Registry, *dials) {
	t.Helper()
	d, reg := &dials{dial: dial}, tool.New()
	s, err := tool.FromSession(t.Context(), reg, d.Dial, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return reg, d
}

// briefly gives a tool that hangs little time.
func briefly(d *mcp.Tool) tool.Options {
	if d.Name == "hang" || d.Name == "echo" {
		return tool.Options{Task: tool.Optional, Timeout: 100 * time.Millisecond}
	}
	return tool.Options{Task: tool.Optional}
}

// overHTTP is the server at a URL: with sessions, as before 2026-07-28, unless
// options say Stateless.
func overHTTP(t *testing.T, s *server, options *mcp.StreamableHTTPOptions) *httptest.Server {
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, options))
	t.Cleanup(func() { close(s.over); h.Close() })
	return h
}

// Each way to reach a server gives the same.
func TestFromSession(t *testing.T) {
	for name, dial := range map[string]func(t *testing.T) tool.Dial{
		"in memory": func(*testing.T) tool.Dial { return tool.InMemory(newServer().mcp) },
		"a program": func(*testing.T) tool.Dial { return program("sdk") },
		"a URL": func(t *testing.T) tool.Dial {
			return tool.URL(overHTTP(t, newServer(), &mcp.StreamableHTTPOptions{Stateless: true}).URL)
		},
		"a URL that sends JSON": func(t *testing.T) tool.Dial {
			return tool.URL(overHTTP(t, newServer(), &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}).URL)
		},
		"a URL with sessions": func(t *testing.T) tool.Dial { return tool.URL(overHTTP(t, newServer(), nil).URL) },
	} {
		t.Run(name, func(t *testing.T) {
			reg, d := host(t, dial(t), nil)

			t.Run("all pages of the list are registered", func(t *testing.T) {
				if n := len(reg.Tools()); n != 10 {
					t.Errorf("%d tools", n)
				}
				add, _ := reg.Lookup("add")
				if d := add.Definition(); d.Title != "Add" || !d.Annotations.ReadOnlyHint {
					t.Errorf("definition %+v", d)
				}
			})

			t.Run("a typed result passes", func(t *testing.T) {
				got := tooltest.Start(t, reg, "add", map[string]any{"a": 1, "b": 2}).Outcome()
				if want := `"content":[{"type":"text","text":"{\"sum\":3}"}],"structuredContent":{"sum":3},"isError":false}`; !strings.HasSuffix(string(got.Result), want) {
					t.Errorf("result %s", got.Result)
				}
			})

			t.Run("every kind of content passes, and _meta", func(t *testing.T) {
				got := string(tooltest.Start(t, reg, "show", none{}).Outcome().Result)
				for _, want := range []string{
					`"_meta":{"shown":true}`, `"text":"a<b"`, `"priority":1`,
					`{"type":"image","mimeType":"image/png","data":"cG5n"}`,
					`{"type":"resource_link","uri":"file:///a","name":"a"}`,
					`"resource":{"uri":"file:///b","text":"b"}`,
				} {
					if !strings.Contains(strings.ReplaceAll(got, `\u003c`, "<"), want) {
						t.Errorf("no %s in %s", want, got)
					}
				}
			})

			t.Run("a tool error passes", func(t *testing.T) {
				if got := tooltest.Start(t, reg, "refuse", none{}).ToolError(); got != "not today" {
					t.Error(got)
				}
			})

			t.Run("an error of the server's passes, within the rules for codes", func(t *testing.T) { // R-P8
				out := tooltest.Start(t, reg, "break", none{}).Outcome()
				if out.Kind != tool.Broken || out.Error.Code != -32603 || out.Error.Message != "broken" || !strings.Contains(string(out.Error.Data), `{"why":"it is"}`) {
					t.Errorf("outcome %+v, error %+v", out, out.Error)
				}
			})

			t.Run("a capability that the server misses is missing here", func(t *testing.T) { // R-N8
				out := tooltest.Start(t, reg, "lack", none{}).Outcome()
				if out.Kind != tool.Lacks || string(out.Required) != `{"roots":{}}` {
					t.Errorf("outcome %+v", out)
				}
			})

			t.Run("arguments are checked before the server sees them", func(t *testing.T) { // R-H8
				if got := tooltest.Start(t, reg, "add", map[string]any{"a": "x"}).ToolError(); !strings.Contains(got, "arguments.a") {
					t.Error(got)
				}
			})

			t.Run("progress is reported, all of it before the result", func(t *testing.T) {
				if strings.Contains(name, "JSON") {
					return // one JSON body has no room for progress
				}
				c := tooltest.Start(t, reg, "tell", none{})
				c.Text()
				if got := fmt.Sprint(c.Reports()); got != "[{1 3 step} {2 3 step} {3 3 step}]" {
					t.Error(got)
				}
			})

			t.Run("calls share one connection", func(t *testing.T) {
				var all sync.WaitGroup
				for i := range 20 {
					all.Go(func() {
						add, _ := reg.Lookup("add")
						out := add.Run(t.Context(), tool.Call{Arguments: fmt.Appendf(nil, `{"a":%d,"b":1}`, i)})
						if !strings.Contains(string(out.Result), fmt.Sprintf(`{"sum":%d}`, i+1)) {
							t.Errorf("%d: %s", i, out.Result)
						}
					})
				}
				all.Wait()
				if n := d.made(); n != 1 {
					t.Errorf("%d connections", n)
				}
			})

			if strings.Contains(name, "sessions") {
				return // that is how servers before 2026-07-28 speak
			}
			for way, options := range map[string][]tooltest.Option{"as a task": nil, "within its request": {tooltest.Sync()}} {
				t.Run("a server that asks by results parks, and goes on with the answers and its state, "+way, func(t *testing.T) { // R-U4, R-H13
					c := tooltest.Start(t, reg, "wizard", none{}, options...)
					c.Asked("name", "extra")
					c.Accept("name", map[string]any{"v": 1})
					c.Accept("extra", map[string]any{"v": 2})
					c.Accept("name~2", map[string]any{"v": 3})
					c.Accept("name~3", map[string]any{"v": 4})
					if got := c.Text(); got != "start/12/3-/4" {
						t.Error(got)
					}
				})
			}
		})
	}
}

func TestFromSessionFailures(t *testing.T) {
	t.Run("an answer above the limit is a tool error that names it", func(t *testing.T) {
		reg, d := host(t, program("big"), nil)
		for range 2 {
			if got := tooltest.Start(t, reg, "echo", none{}).ToolError(); !strings.Contains(got, fmt.Sprintf("the limit is %d", limits.MaxResult)) {
				t.Error(got)
			}
		}
		if n := d.made(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})

	for name, dial := range map[string]tool.Dial{
		"a program":             program("huge"),
		"a URL that sends JSON": tool.URL(serveHTTP(t, "huge", "application/json")),
		"a URL":                 tool.URL(serveHTTP(t, "huge", "text/event-stream")),
	} {
		t.Run("an answer beyond what is read is a tool error, and the next call gets a fresh connection: "+name, func(t *testing.T) {
			reg, d := host(t, dial, nil)
			for i := 1; i <= 2; i++ {
				got := tooltest.Start(t, reg, "echo", none{}).ToolError()
				if !strings.Contains(got, fmt.Sprint("more than ", 16<<20)) || !strings.Contains(got, fmt.Sprint(limits.MaxResult)) {
					t.Error(got)
				}
				if n := d.made(); n != i {
					t.Errorf("%d connections", n)
				}
			}
		})
	}

	t.Run("a server that dies during a call makes a tool error, is not called again, and the next call gets a fresh one", func(t *testing.T) {
		s := newServer()
		reg, d := host(t, tool.InMemory(s.mcp), nil)
		s.die = d.cut
		if got := tooltest.Start(t, reg, "die", none{}).ToolError(); !strings.Contains(got, "ended during the call") {
			t.Error(got)
		}
		if n := s.calls.Load(); n != 1 {
			t.Errorf("%d calls", n)
		}
		tooltest.Start(t, reg, "add", map[string]any{"a": 1}).Text()
		if n := d.made(); n != 2 {
			t.Errorf("%d connections", n)
		}
	})

	t.Run("a program that dies during a call", func(t *testing.T) {
		reg, d := host(t, program("sdk"), nil)
		for i := 1; i <= 2; i++ {
			if got := tooltest.Start(t, reg, "die", none{}).ToolError(); !strings.Contains(got, "ended during the call") {
				t.Error(got)
			}
			tooltest.Start(t, reg, "add", map[string]any{"a": 1}).Text()
			if n := d.made(); n != i+1 {
				t.Errorf("%d programs after %d deaths", n, i)
			}
		}
	})

	t.Run("a server that died between calls is replaced without a word", func(t *testing.T) {
		reg, d := host(t, tool.InMemory(newServer().mcp), nil)
		d.cut()
		tooltest.Start(t, reg, "add", map[string]any{"a": 1}).Text()
		if n := d.made(); n != 2 {
			t.Errorf("%d connections", n)
		}
	})

	t.Run("a call that hangs ends by its timeout, and the next gets a fresh connection", func(t *testing.T) {
		for _, dial := range []tool.Dial{tool.InMemory(newServer().mcp), program("sdk"), tool.URL(overHTTP(t, newServer(), nil).URL)} {
			reg, d := host(t, dial, briefly)
			if got := tooltest.Start(t, reg, "hang", none{}).ToolError(); !strings.Contains(got, "within 100ms") {
				t.Error(got)
			}
			tooltest.Start(t, reg, "tell", none{}).Text()
			if n := d.made(); n != 2 {
				t.Errorf("%d connections", n)
			}
		}
	})

	t.Run("a program that reads no more holds no call", func(t *testing.T) {
		reg, _ := host(t, program("deaf"), briefly)
		large := map[string]any{"text": strings.Repeat("x", 500<<10)} // more than a pipe holds
		if got := tooltest.Start(t, reg, "echo", large).ToolError(); !strings.Contains(got, "within 100ms") {
			t.Error(got)
		}
	})

	t.Run("a cancel reaches the server, other calls go on, and the next gets a fresh connection", func(t *testing.T) { // R-X3
		for _, overURL := range []bool{false, true} {
			s := newServer()
			dial := tool.InMemory(s.mcp)
			if overURL {
				dial = tool.URL(overHTTP(t, s, nil).URL)
			}
			reg, d := host(t, dial, nil)
			hang, _ := reg.Lookup("hang")
			ends := make([]context.CancelFunc, 2)
			outcomes := make(chan tool.Outcome)
			for i := range ends {
				ctx, cancel := context.WithCancel(t.Context())
				ends[i] = cancel
				go func() { outcomes <- hang.Run(ctx, tool.Call{}) }()
				<-s.started
			}
			for i := range ends {
				ends[i]()
				if out := <-outcomes; out.Kind != tool.Stopped {
					t.Errorf("outcome %+v", out)
				}
				if err := <-s.ended; err == nil {
					t.Error("it was not cancelled")
				}
			}
			tooltest.Start(t, reg, "add", map[string]any{"a": 1}).Text()
			if n := d.made(); n != 2 {
				t.Errorf("%d connections", n)
			}
		}
	})

	t.Run("a remote server that has forgotten the session gets a new one, and the call once", func(t *testing.T) {
		s := newServer()
		h := overHTTP(t, s, nil)
		reg, d := host(t, tool.URL(h.URL), nil)
		for session := range s.mcp.Sessions() {
			_ = session.Close()
		}
		tooltest.Start(t, reg, "add", map[string]any{"a": 1}).Text()
		if n := s.calls.Load(); d.made() != 2 || n != 1 {
			t.Errorf("%d connections, %d calls", d.made(), n)
		}
	})

	t.Run("a remote server that is gone is a tool error, and used again when it is back", func(t *testing.T) {
		s := newServer()
		var down atomic.Bool
		inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, nil)
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			inner.ServeHTTP(w, r)
		}))
		defer h.Close()
		reg, _ := host(t, tool.URL(h.URL), nil)
		down.Store(true)
		if got := tooltest.Start(t, reg, "add", map[string]any{"a": 1}).ToolError(); !strings.Contains(got, "gave no answer") {
			t.Error(got)
		}
		down.Store(false)
		tooltest.Start(t, reg, "add", map[string]any{"a": 1}).Text()
		h.CloseClientConnections()
		h.Close()
		if got := tooltest.Start(t, reg, "add", map[string]any{"a": 1}).ToolError(); !strings.Contains(got, "can't be reached") {
			t.Error(got)
		}
	})

	t.Run("a remote server that hangs up during a call is not called again", func(t *testing.T) {
		reg, _ := host(t, tool.URL(serveHTTP(t, "dropped", "application/json")), nil)
		if got := tooltest.Start(t, reg, "echo", none{}).ToolError(); !strings.Contains(got, "Whether the call took effect is not known") {
			t.Error(got)
		}
	})

	t.Run("a server that sends its questions learns that nobody answers", func(t *testing.T) {
		reg, _ := host(t, tool.InMemory(newServer().mcp), nil)
		if got := tooltest.Start(t, reg, "elicit", none{}).ToolError(); got == "" {
			t.Error("no reason")
		}
	})

	t.Run("a server is told what the caller's client can do, and nothing else", func(t *testing.T) { // R-U8
		reg, _ := host(t, program("mirror"), nil)
		got := tooltest.Start(t, reg, "echo", none{}, tooltest.Capabilities(`{"elicitation":{"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)).Text()
		if !strings.Contains(got, `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}`) {
			t.Error(got)
		}
	})

	t.Run("content of a kind that nobody knows yet passes, and integers that a float can't hold", func(t *testing.T) {
		reg, _ := host(t, program("strange"), nil)
		if out := tooltest.Start(t, reg, "echo", none{}).Outcome(); !strings.Contains(string(out.Result), `"content":[{"z":1.0,"type":"hologram"}],"structuredContent":{"z":1,"a":9007199254740993}`) {
			t.Errorf("result %s", out.Result)
		}
	})

	t.Run("schemas are listed byte for byte", func(t *testing.T) {
		reg, _ := host(t, program("strange"), nil)
		echo, _ := reg.Lookup("echo")
		if got := string(echo.ListEntry()); !strings.Contains(got, `"inputSchema":`+echoSchema) {
			t.Error(got)
		}
	})

	for kind, want := range map[string]string{
		"task":    "no tool result",
		"garbage": "ended during the call",
		"null":    "no tool result",
	} {
		t.Run("an answer that is no result is a tool error: "+kind, func(t *testing.T) {
			reg, _ := host(t, program(kind), nil)
			if got := tooltest.Start(t, reg, "echo", none{}).ToolError(); !strings.Contains(got, want) {
				t.Error(got)
			}
		})
	}

	t.Run("after Close a call is a tool error", func(t *testing.T) {
		reg := tool.New()
		s, err := tool.FromSession(t.Context(), reg, tool.InMemory(newServer().mcp), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := tooltest.Start(t, reg, "add", map[string]any{"a": 1}).ToolError(); !strings.Contains(got, "can't be reached") {
			t.Error(got)
		}
	})
}

func TestFromSessionRegistration(t *testing.T) {
	t.Run("options may rename, and choose how a tool is run", func(t *testing.T) {
		reg, _ := host(t, tool.InMemory(newServer().mcp), func(d *mcp.Tool) tool.Options {
			d.Name = "their-" + d.Name
			return tool.Options{Task: tool.Required}
		})
		add, ok := reg.Lookup("their-add")
		if !ok || add.Options().Task != tool.Required {
			t.Fatal("not as chosen")
		}
		tooltest.Start(t, reg, "their-add", map[string]any{"a": 1}).Text()
	})

	t.Run("by default only what is harmless may run again after a worker's death", func(t *testing.T) {
		reg, _ := host(t, tool.InMemory(newServer().mcp), nil)
		for name, attempts := range map[string]int{"add": limits.Attempts, "refuse": 1} {
			if found, _ := reg.Lookup(name); found.Options().Attempts != attempts || found.Options().Task != tool.Optional {
				t.Errorf("%s: %+v", name, found.Options())
			}
		}
	})

	t.Run("what can't be registered is an error that says what, and leaves the registry alone", func(t *testing.T) {
		for kind, want := range map[string]string{
			"duplicate": `tool "echo" is registered twice`,
			"misnamed":  `the name has the character ' '`,
			"unlisted":  "can't be listed",
			"endless":   `the cursor "again" came twice`,
			"schema":    `tool "echo": input schema`,
		} {
			reg := tool.New()
			_, err := tool.FromSession(t.Context(), reg, program(kind), nil)
			if err == nil || !strings.Contains(err.Error(), want) || len(reg.Tools()) != 0 {
				t.Errorf("%s: %v, with %d tools registered", kind, err, len(reg.Tools()))
			}
		}
	})

	t.Run("a program that can't be started, or is silent, is an error", func(t *testing.T) {
		if _, err := tool.FromSession(t.Context(), tool.New(), tool.Command("/no/such/program"), nil); err == nil {
			t.Error("no error")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := tool.FromSession(ctx, tool.New(), program("silent"), nil); err == nil {
			t.Error("no error")
		}
	})

	t.Run("a program gets none of this process's secrets", func(t *testing.T) {
		t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
		reg, _ := host(t, program("environment"), nil)
		if got := tooltest.Start(t, reg, "echo", none{}).Text(); strings.Contains(got, "secret") || !strings.Contains(got, "PATH=") {
			t.Error(got)
		}
	})
}
