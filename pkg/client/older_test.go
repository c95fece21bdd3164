package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/client"
)

type greetArguments struct {
	Name string `json:"name"`
}

// exact is what no decoding into Go's own types leaves as it is.
const exact = `{"z":9007199254740993,"a":1.10}`

// olderServer is the official SDK's. With sessions it knows no revision that has
// none.
func olderServer(t *testing.T, o *mcp.StreamableHTTPOptions) (*mcp.Server, string, chan string) {
	heard := make(chan string, 1)
	s := mcp.NewServer(&mcp.Implementation{Name: "older", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	mcp.AddTool(s, &mcp.Tool{Name: "greet"}, func(_ context.Context, _ *mcp.CallToolRequest, in greetArguments) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name}}, StructuredContent: json.RawMessage(exact)}, nil, nil
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
	mcp.AddTool(s, &mcp.Tool{Name: "hang"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		heard <- "begun"
		<-ctx.Done()
		heard <- "cancelled"
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "part"}, func(_ context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: time.Millisecond})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the rest"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		if err := r.Session.Ping(ctx, nil); err != nil {
			return nil, nil, err
		}
		if _, err := r.Session.ListRoots(ctx, nil); err == nil {
			return nil, nil, errors.New("there are no roots")
		}
		got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return nil, nil, err
		}
		name, _ := got.Content["name"].(string)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: got.Action + " " + name}}}, nil, nil
	})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
	t.Cleanup(h.Close)
	return s, h.URL, heard
}

// traffic counts what goes over the wire: "POST tools/call 200".
type traffic struct {
	mu   sync.Mutex
	seen []string
	// cut, if set, decides what becomes of a response.
	cut func(*http.Request, *http.Response)
}

func (w *traffic) RoundTrip(r *http.Request) (*http.Response, error) {
	var m struct{ Method string }
	if r.Method == http.MethodPost {
		_ = json.Unmarshal(readAll(&r.Body), &m)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, strings.TrimSpace(r.Method+" "+m.Method))
	if w.cut != nil {
		w.cut(r, resp)
	}
	return resp, nil
}

func (w *traffic) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

func connectOlder(t *testing.T, url string, o client.Options) (*client.Client, *traffic) {
	w := &traffic{}
	o.HTTP = &http.Client{Transport: w}
	c := client.New(url, o)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, w
}

func TestOlder(t *testing.T) { // R-B1, R-B2, from the other side
	for name, server := range map[string]struct {
		options  *mcp.StreamableHTTPOptions
		revision string
	}{
		"with_sessions":          {nil, ""},
		"with_JSON_answers":      {&mcp.StreamableHTTPOptions{JSONResponse: true}, ""},
		"stateless":              {&mcp.StreamableHTTPOptions{Stateless: true}, "2025-11-25"},
		"of_an_earlier_revision": {nil, "2025-03-26"},
		"of_the_newest_revision": {&mcp.StreamableHTTPOptions{Stateless: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, url, _ := olderServer(t, server.options)
			c, _ := connectOlder(t, url, client.Options{Revision: server.revision})
			tools, err := c.Tools(t.Context())
			if err != nil || len(tools) != 6 || !strings.Contains(string(tools[2].InputSchema), `"name"`) { // on three pages
				t.Errorf("%+v, %v", tools, err)
			}
			got, err := c.Call(t.Context(), "greet", json.RawMessage(`{"name":"Ada"}`), client.Watch{})
			if err != nil || text(t, got) != "Hello, Ada" {
				t.Errorf("%s, %v", got, err)
			}
			if !strings.Contains(string(got), exact) {
				t.Errorf("the result was changed: %s", got)
			}
			if got, err := c.Call(t.Context(), "fail", json.RawMessage(`{}`), client.Watch{}); err != nil || !strings.Contains(string(got), `"isError":true`) {
				t.Errorf("%s, %v", got, err)
			}
			var refused *client.Error
			if _, err := c.Call(t.Context(), "nothing", nil, client.Watch{}); !errors.As(err, &refused) || refused.Code != -32602 {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestOlderSession(t *testing.T) {
	server, url, heard := olderServer(t, nil)
	c, wire := connectOlder(t, url, client.Options{})
	greet := func(t *testing.T, c *client.Client) {
		t.Helper()
		got, err := c.Call(t.Context(), "greet", json.RawMessage(`{"name":"Bob"}`), client.Watch{})
		if err != nil || text(t, got) != "Hello, Bob" {
			t.Errorf("%s, %v", got, err)
		}
	}
	want := func(t *testing.T, wire *traffic, methods ...string) {
		t.Helper()
		if got := wire.take(); !slices.Equal(got, methods) {
			t.Errorf("requests %q, want %q", got, methods)
		}
	}
	t.Run("is_begun_once", func(t *testing.T) {
		greet(t, c)
		want(t, wire, "POST tools/call", "POST initialize", "POST notifications/initialized", "POST tools/call")
		greet(t, c)
		want(t, wire, "POST tools/call")
	})
	t.Run("is_begun_once_by_many_calls_at_once", func(t *testing.T) {
		c, wire := connectOlder(t, url, client.Options{})
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() { greet(t, c) })
		}
		calls.Wait()
		begun := 0
		for _, m := range wire.take() {
			if m == "POST initialize" {
				begun++
			}
		}
		if begun != 1 {
			t.Errorf("begun %d times", begun)
		}
	})
	t.Run("that_the_server_has_forgotten_is_replaced", func(t *testing.T) {
		for session := range server.Sessions() {
			_ = session.Close()
		}
		greet(t, c)
		want(t, wire, "POST tools/call", "POST initialize", "POST notifications/initialized", "POST tools/call")
	})
	t.Run("progress_arrives_before_the_result", func(t *testing.T) {
		got, err := c.Call(t.Context(), "work", nil, client.Watch{Progress: func(_, _ float64, m string) { heard <- m }})
		if err != nil || text(t, got) != "half" {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("the_end_of_its_context_cancels_a_call", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, "hang", nil, client.Watch{})
			ended <- err
		}()
		<-heard
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if got := <-heard; got != "cancelled" {
			t.Error(got)
		}
		greet(t, c)
	})
	t.Run("a_failure_between_does_not_end_it", func(t *testing.T) {
		c, wire := connectOlder(t, url, client.Options{Clock: hasty{}})
		greet(t, c)
		wire.take()
		broken := false
		wire.cut = func(_ *http.Request, resp *http.Response) {
			if !broken {
				broken = true
				resp.StatusCode, resp.Header = 500, http.Header{}
			}
		}
		if _, err := c.Call(t.Context(), "greet", nil, client.Watch{}); err == nil {
			t.Error("no error")
		}
		greet(t, c)
		want(t, wire, "POST tools/call", "POST tools/call")
	})
	t.Run("is_ended_by_Close", func(t *testing.T) {
		c, wire := connectOlder(t, url, client.Options{})
		greet(t, c)
		wire.take()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		want(t, wire, "DELETE")
		greet(t, c) // in another
	})
	t.Run("a_stream_that_the_server_lets_go_on_is_gone_on_with", func(t *testing.T) {
		_, url, _ := olderServer(t, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
		c, wire := connectOlder(t, url, client.Options{Clock: hasty{}})
		got, err := c.Call(t.Context(), "part", nil, client.Watch{})
		if err != nil || text(t, got) != "the rest" {
			t.Errorf("%s, %v", got, err)
		}
		want(t, wire, "POST tools/call", "POST initialize", "POST notifications/initialized", "POST tools/call", "GET")
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
}

// What the official SDK's server does not do, and others do.
func TestOlderWire(t *testing.T) {
	begin := result(`{"protocolVersion":"2025-06-18"}`)
	begin.header = map[string]string{"Mcp-Session-Id": "s"}
	accepted, plain := reply{status: 202}, result(`{"content":[]}`)
	part := reply{header: map[string]string{"Content-Type": "text/event-stream"}, body: "id: 7\nretry: 50\ndata:\n\n"}
	rest := stream(`{"jsonrpc":"2.0","id":3,"result":{"content":[]}}`)
	for name, test := range map[string]struct {
		replies []reply // after initialize and notifications/initialized
		want    string  // the methods
		fails   bool
	}{
		"a_lost_session_that_is_told_by_an_error_is_replaced": {[]reply{plain, refusal(404, "-32001"), begin, accepted, plain}, "call call initialize initialized call", false},
		"and_not_for_ever": {[]reply{plain, refusal(404, "-32001"), begin, accepted, refusal(404, "-32001")}, "call call initialize initialized call", true},
		"a_session_that_can't_be_replaced_is_an_error":         {[]reply{plain, {status: 404}, {status: 502}}, "call call initialize", true},
		"a_stream_goes_on_from_its_last_event":                 {[]reply{plain, part, rest}, "call call GET 7", false},
		"also_after_a_failure":                                 {[]reply{plain, part, {err: errors.New("no route")}, rest}, "call call GET 7 GET 7", false},
		"and_where_it_can't_has_broken_off":                    {[]reply{plain, part, {status: 405}}, "call call GET 7", true},
		"and_is_not_asked_to_for_ever":                         {[]reply{plain, part}, "call call GET 7 GET 7 GET 7 GET 7", true},
		"an_error_is_the_servers_and_no_call_is_sent_twice":    {[]reply{plain, {status: 502}}, "call call", true},
		"a_call_that_was_turned_away_unread_is_made_once_more": {[]reply{plain, {status: 429}, plain}, "call call call", false},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := scripted(client.Options{Revision: "2025-11-25", Clock: hasty{}}, append([]reply{begin, accepted}, test.replies...)...)
			if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); (err != nil) != test.fails {
				t.Errorf("got %v", err)
			}
			var got []string
			for i, x := range s.seen {
				m := x.body.Method[strings.LastIndex(x.body.Method, "/")+1:]
				if m == "" {
					m = "GET " + x.header.Get("Last-Event-ID")
				}
				if m != "initialize" && (x.header.Get("Mcp-Session-Id") != "s" || x.header.Get("MCP-Protocol-Version") != "2025-06-18") {
					t.Errorf("%s carries %v", m, x.header)
				}
				if x.header.Get("Mcp-Method") != "" || x.body.Params["_meta"] != nil {
					t.Errorf("%s is of a newer revision", m)
				}
				if i > 1 {
					got = append(got, m)
				}
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("requests %q, want %q", got, test.want)
			}
		})
	}
}

func TestOlderQuestions(t *testing.T) {
	_, url, _ := olderServer(t, nil)
	ask := func(t *testing.T, a client.Answerer) (json.RawMessage, error) {
		c, _ := connectOlder(t, url, client.Options{Answerer: a})
		return c.Call(t.Context(), "ask", nil, client.Watch{})
	}
	t.Run("are_answered_in_the_middle_of_a_call", func(t *testing.T) {
		got, err := ask(t, func(_ context.Context, q client.Question) (json.RawMessage, error) {
			if q.Method != "elicitation/create" || !strings.Contains(string(q.Params), "Who?") {
				t.Errorf("asked %+v", q)
			}
			return json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`), nil
		})
		if err != nil || text(t, got) != "accept Ada" {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("that_nobody_answers_end_the_call", func(t *testing.T) {
		away := errors.New("away")
		if got, err := ask(t, func(context.Context, client.Question) (json.RawMessage, error) { return nil, away }); !errors.Is(err, away) {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("are_not_asked_where_nobody_can_be", func(t *testing.T) {
		got, err := ask(t, nil)
		if err != nil || !strings.Contains(string(got), `"isError":true`) {
			t.Errorf("%s, %v", got, err)
		}
	})
}

func TestCancelOnEnd(t *testing.T) { // R-X3
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			c := client.New(serve(t, nil), client.Options{CancelOnEnd: true, Revision: revision})
			ctx, stop := context.WithCancel(t.Context())
			var id string
			_, err := c.Call(ctx, "slow_compute", json.RawMessage(`{"seconds":600}`), client.Watch{Task: func(task client.Task) { id = task.ID; stop() }})
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if _, err := c.Wait(t.Context(), id, client.Watch{}); !errors.Is(err, client.ErrCancelled) {
				t.Error(err)
			}
		})
	}
	t.Run("says_that_it_could_not", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		c, s := scripted(client.Options{CancelOnEnd: true, Clock: hasty{}}, created, refusal(200, "-32603"))
		_, err := c.Call(ctx, "x", nil, client.Watch{Task: func(client.Task) { stop() }})
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "refused") || s.methods()[1] != "tasks/cancel" {
			t.Errorf("%v, %v", err, s.methods())
		}
	})
	t.Run("leaves_a_task_alone_whose_context_has_not_ended", func(t *testing.T) {
		c, s := scripted(client.Options{CancelOnEnd: true, Clock: hasty{}}, created, refusal(200, "-32602"))
		if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); !errors.Is(err, client.ErrUnknownTask) || len(s.seen) != 2 {
			t.Errorf("%v, %v", err, s.methods())
		}
	})
	t.Run("leaves_a_task_alone_that_was_over_first", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		failed := result(`{"resultType":"complete","taskId":"1","status":"failed","ttlMs":1,"error":{"code":1,"message":"m"}}`)
		c, s := scripted(client.Options{CancelOnEnd: true, Clock: hasty{}}, created, failed)
		_, err := c.Call(ctx, "x", nil, client.Watch{Task: func(task client.Task) {
			if task.Terminal() {
				stop()
			}
		}})
		var over *client.FailedError
		if !errors.As(err, &over) || len(s.seen) != 2 {
			t.Errorf("%v, %v", err, s.methods())
		}
	})
}
