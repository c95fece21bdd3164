package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/fault"
	"toolhost/pkg/protocol"
	"toolhost/pkg/queue"
	"toolhost/pkg/server"
	"toolhost/pkg/store"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// brokenStore fails every read as it is told to.
type brokenStore struct {
	store.Store
	load func() error
}

func (s brokenStore) Load(context.Context, string) (task.Task, error) { return task.Task{}, s.load() }

// alone is a server without a database, for calls that need none.
func alone(t testing.TB, tools *tool.Registry, db store.Store, log *slog.Logger) *server.Server {
	t.Helper()
	var q struct{ queue.Queue }
	s, err := server.New(server.Options{Tools: tools, Store: db, Queue: q, Keys: [][]byte{make([]byte, 32)}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(method, params string) server.Request {
	body := []byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + everything + `}}}`)
	return server.Request{Headers: protocol.ReadHeaders(mirror(body)), Body: body}
}

// legacy is a request of a client that agreed on the revision in initialize.
func legacy(revision, method, params string) server.Request {
	return server.Request{Headers: protocol.ReadHeaders(legacyHeader(revision)),
		Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`)}
}

// The HTTP status table: one row for each nature of an answer. What belongs to
// HTTP alone (403, 405, 413, 415) is tested in httpmcp.
func TestStatus(t *testing.T) {
	unknown := `"taskId":"x",`
	unsupported := request("tools/list", "")
	unsupported.Body = bytes.Replace(unsupported.Body, []byte("2026-07-28"), []byte("2026-12-01"), 1)
	unsupported.Headers.Version.Value = "2026-12-01"
	for _, c := range []struct {
		name    string
		request server.Request
		load    error
		status  int
		code    int
	}{
		{"a result", request("tools/list", ""), nil, 200, 0},
		{"a tool error", request("tools/call", `"name":"greet",`), nil, 200, 0},
		{"an unknown task", request("tasks/get", unknown), fault.New(fault.NotFound, "store", "no item"), 200, -32602},
		{"an unknown tool", request("tools/call", `"name":"nobody",`), nil, 200, -32602},
		{"a bad cursor", request("tools/list", `"cursor":"x",`), nil, 200, -32602},
		{"bad params", request("tasks/get", ""), nil, 200, -32602},
		{"a bad requestState", request("tools/call", `"name":"greet","requestState":"x",`), nil, 200, -32602},
		{"an internal error", request("tasks/get", unknown), errors.New("boom"), 200, -32603},
		{"not JSON", server.Request{Body: []byte("{")}, nil, 400, -32700},
		{"no request", server.Request{Body: []byte("{}")}, nil, 400, -32600},
		{"no _meta", server.Request{Headers: protocol.Headers{Version: protocol.Header{Present: true, Value: "2026-07-28"}},
			Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)}, nil, 400, -32602},
		{"headers that are not there", server.Request{Body: request("tools/list", "").Body}, nil, 400, -32020},
		{"a missing capability", request("tools/call", `"name":"samples",`), nil, 400, -32021},
		{"an unsupported version", unsupported, nil, 400, -32022},
		{"a legacy version that is not served", legacy("2024-11-05", "ping", ""), nil, 400, -32602},
		{"an unknown method", request("no/such", ""), nil, 404, -32601},
		{"an unknown method, to a legacy client", legacy("2025-11-25", "no/such", ""), nil, 200, -32601},
		{"bad params, of a legacy client", legacy("2025-11-25", "tools/call", ""), nil, 200, -32602},
		{"throttled, a legacy client", legacy("2025-11-25", "tasks/get", `"taskId":"x"`), fault.New(fault.Busy, "store", "slow down"), 429, -32603},
		{"a method without its capability", request("subscriptions/listen", `"notifications":{},`), nil, 404, -32601},
		{"throttled", request("tasks/get", unknown), fault.New(fault.Busy, "store", "slow down"), 429, -32603},
		{"a notification", server.Request{Body: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)}, nil, 202, 0},
		{"a refused notification", server.Request{Body: []byte(`{"jsonrpc":"2.0","method":5}`)}, nil, 400, -32600},
	} {
		t.Run(c.name, func(t *testing.T) {
			tools := fixtures()
			if c.status == 400 && c.code == -32021 { // as a synchronous tool
				tools = tool.New()
				tool.Add(tools, &mcp.Tool{Name: "samples"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
					_, err := tool.Sample(ctx, "say", &mcp.CreateMessageParams{MaxTokens: 10})
					return nil, nil, err
				}, tool.Options{})
			}
			s := alone(t, tools, brokenStore{load: func() error { return c.load }}, nil)
			got := s.Handle(t.Context(), c.request, nil)
			var a answer
			if got.Body != nil {
				if err := json.Unmarshal(got.Body, &a); err != nil {
					t.Fatal(err)
				}
			}
			if got.Status != c.status || a.code() != c.code || (got.Body == nil) != (c.status == 202) || (got.RetryAfter > 0) != (c.status == 429) {
				t.Errorf("%d %s, want %d and %d", got.Status, got.Body, c.status, c.code)
			}
		})
	}
}

// R-V4
func TestHandle(t *testing.T) {
	t.Run("a defect of ours is an internal error with a reference, and its stack goes to the log", func(t *testing.T) {
		var log bytes.Buffer
		s := alone(t, fixtures(), brokenStore{load: func() error { panic("secret") }}, slog.New(slog.NewTextHandler(&log, nil)))
		got := s.Handle(t.Context(), request("tasks/get", `"taskId":"x",`), nil)
		if got.Status != 200 || !strings.Contains(string(got.Body), "reference") || strings.Contains(string(got.Body), "secret") ||
			!strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "handle_test.go") {
			t.Errorf("%s\n%s", got.Body, log.String())
		}
	})
	t.Run("a client that went away is no error of ours", func(t *testing.T) {
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s := alone(t, fixtures(), brokenStore{load: func() error { return ctx.Err() }}, slog.New(slog.NewTextHandler(&log, nil)))
		if s.Handle(ctx, request("tasks/get", `"taskId":"x",`), nil); strings.Contains(log.String(), "ERROR") {
			t.Error(log.String())
		}
	})
}

// waits is a tool that runs until its context ends, then says why.
func waits(ended chan<- error) *tool.Registry {
	r := tool.New()
	tool.Add(r, &mcp.Tool{Name: "waits"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, nil, ctx.Err()
	}, tool.Options{})
	return r
}

func TestSynchronousRun(t *testing.T) {
	t.Run("its context ends before the function's time, with room for an answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			began := time.Now()
			got := alone(t, waits(ended), brokenStore{}, nil).Handle(ctx, request("tools/call", `"name":"waits",`), nil)
			if took := time.Since(began); took != 9*time.Second || !errors.Is(<-ended, context.DeadlineExceeded) {
				t.Errorf("took %v", took)
			}
			if got.Status != 200 || !strings.Contains(string(got.Body), `"isError":true`) {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		})
	})
	t.Run("a client that goes away cancels it", func(t *testing.T) { // R-H10
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 1)
			ctx, leave := context.WithCancel(t.Context())
			time.AfterFunc(time.Minute, leave)
			alone(t, waits(ended), brokenStore{}, nil).Handle(ctx, request("tools/call", `"name":"waits",`), nil)
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	})
	t.Run("a tool that never stops asking is told to", func(t *testing.T) {
		r := tool.New()
		tool.Add(r, &mcp.Tool{Name: "asks"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
			for i := range 100 {
				if _, err := tool.AskRaw(ctx, form("q"+strings.Repeat("x", i), "?", "a")); err != nil {
					return nil, nil, err
				}
			}
			return nil, nil, nil
		}, tool.Options{})
		s, state, rounds := alone(t, r, brokenStore{}, nil), "", 0
		for range 100 {
			params := `"name":"asks",`
			if state != "" {
				params += `"requestState":"` + state + `","inputResponses":{"q` + strings.Repeat("x", rounds-1) + `":{"action":"accept"}},`
			}
			var a answer
			if err := json.Unmarshal(s.Handle(t.Context(), request("tools/call", params), nil).Body, &a); err != nil {
				t.Fatal(err)
			}
			if a.field("resultType") != "input_required" {
				if !strings.Contains(string(a.Result), "more than 32 times") {
					t.Errorf("%s", a.Result)
				}
				break
			}
			state = a.field("requestState")
			rounds++
		}
		if rounds != 32 {
			t.Errorf("%d rounds", rounds)
		}
	})
}

func TestNew(t *testing.T) {
	var q struct{ queue.Queue }
	whole := server.Options{Tools: tool.New(), Store: brokenStore{}, Queue: q, Keys: [][]byte{make([]byte, 16)}}
	if _, err := server.New(whole); err != nil {
		t.Fatal(err)
	}
	for name, less := range map[string]func(*server.Options){
		"tools": func(o *server.Options) { o.Tools = nil },
		"store": func(o *server.Options) { o.Store = nil },
		"queue": func(o *server.Options) { o.Queue = nil },
		"keys":  func(o *server.Options) { o.Keys = nil },
	} {
		o := whole
		less(&o)
		if _, err := server.New(o); !fault.Is(err, fault.Invalid) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// Whatever comes in: an answer of the table, and no defect of ours.
func FuzzHandle(f *testing.F) {
	for _, r := range []server.Request{request("tools/list", `"cursor":"eA",`), request("tools/call", `"name":"region","arguments":{"region":"x","count":1},`),
		request("tasks/update", `"taskId":"x","inputResponses":{"a":{}},`), request("subscriptions/listen", `"notifications":{"taskIds":[]},`)} {
		f.Add(r.Body, "eu", "1")
	}
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]`), "", "")
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"bytes":1},"task":{"ttl":1}}}`), "", "")
	var log bytes.Buffer
	s := alone(f, fixtures(), brokenStore{load: func() error { return fault.New(fault.NotFound, "store", "none") }}, slog.New(slog.NewTextHandler(&log, nil)))
	f.Fuzz(func(t *testing.T, body []byte, region, count string) {
		log.Reset()
		h := mirror(body)
		h.Set("Mcp-Param-Region", region)
		h.Set("Mcp-Param-Count", count)
		got := s.Handle(t.Context(), server.Request{Headers: protocol.ReadHeaders(h), Body: body}, nil)
		if !slices.Contains([]int{200, 202, 400, 404}, got.Status) || got.Body != nil && !json.Valid(got.Body) || strings.Contains(log.String(), "request failed") {
			t.Errorf("%d %s\n%s", got.Status, got.Body, log.String())
		}
	})
}
