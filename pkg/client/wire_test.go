package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"toolhost/pkg/client"
)

func working(more string) reply {
	return result(`{"resultType":"complete","taskId":"1","status":"working","ttlMs":null` + more + `}`)
}

var (
	created   = result(`{"resultType":"task","taskId":"1","status":"working","createdAt":"2026-12-01T00:00:00Z","lastUpdatedAt":"2026-12-01T00:00:00Z","ttlMs":60000,"pollIntervalMs":5000}`)
	completed = result(`{"resultType":"complete","taskId":"1","status":"completed","ttlMs":60000,"result":{"content":[]}}`)
	refusing  = reply{status: 502, header: map[string]string{"Content-Type": "text/html"}, body: "<html>bad gateway</html>"}
	busy      = reply{status: 429, header: map[string]string{"Retry-After": "7"}, body: `{"message":"Too Many Requests"}`}
	empty     = result(`{"resultType":"complete","tools":[]}`)
)

// gaps are the times between the requests.
func (s *script) gaps() (gaps []time.Duration) {
	for i := 1; i < len(s.seen); i++ {
		gaps = append(gaps, s.seen[i].at.Sub(s.seen[i-1].at))
	}
	return gaps
}

func (s *script) methods() (methods []string) {
	for _, x := range s.seen {
		methods = append(methods, x.body.Method)
	}
	return methods
}

func TestPolls(t *testing.T) {
	t.Run("as_often_as_the_server_says_and_every_second_where_it_says_nothing", func(t *testing.T) { // R-P3
		synctest.Test(t, func(t *testing.T) {
			c, s := scripted(client.Options{}, created, working(`,"pollIntervalMs":250`), working(""), working(`,"pollIntervalMs":15000`), completed)
			if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); err != nil {
				t.Fatal(err)
			}
			want := []time.Duration{5 * time.Second, 250 * time.Millisecond, time.Second, 15 * time.Second}
			for i, gap := range s.gaps() {
				if gap != want[i] {
					t.Errorf("poll %d came after %v, want %v", i, gap, want[i])
				}
			}
		})
	})
	t.Run("at_once_after_an_answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			asks := result(`{"resultType":"complete","taskId":"1","status":"input_required","ttlMs":null,"pollIntervalMs":15000,"inputRequests":{"k":{"method":"elicitation/create","params":{}}}}`)
			a := &answers{content: map[string]string{"k": `{}`}}
			c, s := scripted(client.Options{Answerer: a.answer}, asks, result(`{"resultType":"complete"}`), asks, completed)
			if _, err := c.Wait(t.Context(), "1", client.Watch{}); err != nil {
				t.Fatal(err)
			}
			if gaps := s.gaps(); gaps[1] != 0 || gaps[2] != 15*time.Second {
				t.Errorf("%v between %v", gaps, s.methods())
			}
			// The key was shown again, as an eventually consistent server may.
			if len(a.asked) != 1 {
				t.Errorf("asked %v", a.asked)
			}
		})
	})
}

func TestRepeats(t *testing.T) {
	for name, test := range map[string]struct {
		replies  []reply
		requests int
		fails    bool
	}{
		"a_read_after_a_bad_gateway":                {[]reply{refusing, refusing, empty}, 3, false},
		"a_read_four_times_and_no_more":             {[]reply{refusing}, 4, true},
		"a_read_after_a_JSON-RPC_internal_error":    {[]reply{{body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"m"}}`}, empty}, 2, false},
		"no_read_that_is_wrong":                     {[]reply{{status: 200, body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"m"}}`}}, 1, true},
		"no_read_where_nobody_has_answered":         {[]reply{{err: errors.New("connection refused")}}, 1, true},
		"no_read_of_what_is_no_MCP_server":          {[]reply{{body: "<html>", header: map[string]string{"Content-Type": "text/html"}}}, 1, true},
		"a_read_that_hangs":                         {[]reply{{hang: true}}, 1, true},
		"a_read_that_is_throttled":                  {[]reply{busy, empty}, 2, false},
		"no_read_that_is_throttled_for_an_hour":     {[]reply{{status: 429, header: map[string]string{"Retry-After": "3600"}}}, 1, true},
		"a_read_whose_stream_was_cut_before_any_is": {[]reply{{header: map[string]string{"Content-Type": "text/event-stream"}, body: ": hello\n\n"}}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := scripted(client.Options{}, test.replies...)
				_, err := c.Tools(t.Context())
				if (err != nil) != test.fails || len(s.seen) != test.requests {
					t.Errorf("%d requests, %v", len(s.seen), err)
				}
			})
		})
	}
	t.Run("a_read_after_the_network_failed_where_a_server_was_before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, s := scripted(client.Options{}, empty, reply{err: errors.New("no route")}, reply{hang: true}, empty)
			for range 2 {
				if _, err := c.Tools(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if gaps := s.gaps(); len(gaps) != 3 || gaps[2] < 30*time.Second {
				t.Errorf("got %v", gaps)
			}
		})
	})
	t.Run("waits_as_long_as_the_server_says", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, s := scripted(client.Options{}, busy, empty)
			if _, err := c.Tools(t.Context()); err != nil || s.gaps()[0] != 7*time.Second {
				t.Errorf("%v, %v", s.gaps(), err)
			}
		})
	})
	t.Run("waits_until_the_time_that_the_server_says", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			until := time.Now().Add(9 * time.Second).UTC().Format(http.TimeFormat)
			c, s := scripted(client.Options{}, reply{status: 503, header: map[string]string{"Retry-After": until}}, empty)
			if _, err := c.Tools(t.Context()); err != nil || s.gaps()[0] != 9*time.Second {
				t.Errorf("%v, %v", s.gaps(), err)
			}
		})
	})
	t.Run("a_call_that_was_turned_away_unread", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, s := scripted(client.Options{}, busy, result(`{"content":[]}`))
			if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); err != nil || len(s.seen) != 2 {
				t.Errorf("%d requests, %v", len(s.seen), err)
			}
		})
	})
	t.Run("no_call_that_is_refused_without_a_word_of_when", func(t *testing.T) { // case 45
		c, s := scripted(client.Options{}, reply{status: 429, body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"Too many open tasks","data":{"limit":"openTasks","max":3}}}`})
		if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); err == nil || len(s.seen) != 1 {
			t.Errorf("%d requests, %v", len(s.seen), err)
		}
	})
	for name, r := range map[string]reply{
		"bad_gateway": refusing, "network": {err: errors.New("reset")},
		"internal": {body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"m"}}`},
		"cut":      {header: map[string]string{"Content-Type": "text/event-stream"}, body: "data: {}"},
	} {
		t.Run("no_call_that_may_have_begun/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := scripted(client.Options{}, empty, r)
				if _, err := c.Tools(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); err == nil || len(s.seen) != 2 {
					t.Errorf("%d requests, %v", len(s.seen), err)
				}
			})
		})
	}
	t.Run("its_context_ends_a_pause", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			c, _ := scripted(client.Options{}, busy)
			begun := time.Now()
			if _, err := c.Tools(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 3*time.Second {
				t.Errorf("%v after %v", err, time.Since(begun))
			}
		})
	})
}

func TestAnswersThatNoServerGives(t *testing.T) {
	events := map[string]string{"Content-Type": "text/event-stream; charset=utf-8"}
	for name, test := range map[string]struct {
		reply reply
		says  string
	}{
		"a_web_page":           {reply{header: map[string]string{"Content-Type": "text/html"}, body: "<h1>hi</h1>"}, "HTTP 200 OK with text/html"},
		"another_JSON":         {reply{status: 403, body: `{"message":"Missing Authentication Token"}`}, "Missing Authentication Token"},
		"nothing":              {reply{status: 204}, "HTTP 204"},
		"a_redirect":           {reply{status: 301, header: map[string]string{"Location": "https://example.com/mcp"}}, "https://example.com/mcp"},
		"another_id":           {reply{body: `{"jsonrpc":"2.0","id":"x","result":{}}`}, "HTTP 200"},
		"neither":              {reply{body: `{"jsonrpc":"2.0","id":$ID}`}, "HTTP 200"},
		"bytes":                {reply{body: "\xff\xfe\x00"}, "HTTP 200"},
		"too_much":             {reply{body: strings.Repeat(" ", 17<<20)}, "larger than"},
		"an_event_of_another":  {reply{header: events, body: "data: {\"id\":99,\"result\":{}}\n\n"}, "another request"},
		"an_event_of_no_JSON":  {reply{header: events, body: "data: hello\n\n"}, "not JSON"},
		"too_much_in_an_event": {reply{header: events, body: "data: " + strings.Repeat("x", 17<<20) + "\n\n"}, "larger than"},
		"a_result_of_no_kind":  {result(`{"resultType":"surprise"}`), `"surprise"`},
		"a_result_of_no_shape": {result(`[]`), "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := scripted(client.Options{}, test.reply)
			if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a_task_for_what_can_be_none", func(t *testing.T) { // R-P2
		c, _ := scripted(client.Options{}, created)
		if tools, err := c.Tools(t.Context()); err == nil {
			t.Errorf("got %v", tools)
		}
	})
	for name, test := range map[string]struct{ task, says string }{
		"a_status_of_no_kind":      {`"status":"resting"`, "resting"},
		"completed_without_result": {`"status":"completed"`, "no result"},
		"failed_without_error":     {`"status":"failed","statusMessage":"out of paper"`, "out of paper"},
		"questions_of_no_shape":    {`"status":"input_required","inputRequests":[]`, "not an object"},
		"times_of_no_shape":        {`"status":"working","createdAt":"yesterday"`, "can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := scripted(client.Options{}, result(`{"resultType":"complete","taskId":"1","ttlMs":null,`+test.task+`}`))
			if _, err := c.Wait(t.Context(), "1", client.Watch{}); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("a_list_of_tools_without_end", func(t *testing.T) {
		c, _ := scripted(client.Options{}, result(`{"resultType":"complete","tools":[],"nextCursor":"again"}`))
		if _, err := c.Tools(t.Context()); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a_call_that_asks_without_end", func(t *testing.T) {
		a := &answers{content: map[string]string{"k": "{}"}}
		c, s := scripted(client.Options{Answerer: a.answer}, result(`{"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create"}}}`))
		if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); err == nil || len(s.seen) > 100 {
			t.Errorf("%v after %d requests", err, len(s.seen))
		}
	})
	t.Run("a_round_that_asks_nothing_and_gives_nothing", func(t *testing.T) {
		c, s := scripted(client.Options{}, result(`{"resultType":"input_required"}`))
		if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); err == nil || len(s.seen) != 1 {
			t.Errorf("%v after %d requests", err, len(s.seen))
		}
	})
}

func TestRounds(t *testing.T) {
	t.Run("a_state_without_questions_is_sent_back_after_a_moment", func(t *testing.T) { // R-H13
		synctest.Test(t, func(t *testing.T) {
			c, s := scripted(client.Options{}, result(`{"resultType":"input_required","requestState":"\u00e9\ud83d\ude00\/"}`), result(`{"content":[]}`))
			if _, err := c.Call(t.Context(), "x", json.RawMessage(`{}`), client.Watch{}); err != nil {
				t.Fatal(err)
			}
			var sent string
			if err := json.Unmarshal(s.seen[1].body.Params["requestState"], &sent); err != nil || sent != "é😀/" || s.gaps()[0] != time.Second {
				t.Errorf("sent %q after %v", sent, s.gaps())
			}
			if _, there := s.seen[1].body.Params["inputResponses"]; there {
				t.Error("there are answers to nothing")
			}
		})
	})
	t.Run("a_state_that_is_gone_is_not_sent_again", func(t *testing.T) {
		a := &answers{content: map[string]string{"k": "{}"}}
		asks := `"inputRequests":{"k":{"method":"elicitation/create"}}}`
		c, s := scripted(client.Options{Answerer: a.answer},
			result(`{"resultType":"input_required","requestState":"s",`+asks), result(`{"resultType":"input_required",`+asks), result(`{"content":[]}`))
		if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); err != nil {
			t.Fatal(err)
		}
		if state, there := s.seen[2].body.Params["requestState"]; there {
			t.Errorf("sent %s", state)
		}
	})
}

func TestRequests(t *testing.T) {
	t.Run("carry_version_capabilities_and_the_headers_that_mirror_the_body", func(t *testing.T) { // R-N10, R-H1
		c, s := scripted(client.Options{Answerer: (&answers{}).answer}, working(""))
		if _, err := c.Get(t.Context(), "täsk"); err != nil {
			t.Fatal(err)
		}
		x := s.seen[0]
		if x.header.Get("Mcp-Method") != "tasks/get" || !strings.HasPrefix(x.header.Get("Mcp-Name"), "=?base64?") ||
			x.header.Get("MCP-Protocol-Version") != "2026-07-28" {
			t.Errorf("got %v", x.header)
		}
		meta := string(x.body.Params["_meta"])
		for _, part := range []string{`"io.modelcontextprotocol/tasks":{}`, `"elicitation":{"form":{},"url":{}}`, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`} {
			if !strings.Contains(meta, part) {
				t.Errorf("%s is not in %s", part, meta)
			}
		}
	})
	t.Run("a_tools_headers_follow_its_newest_listing", func(t *testing.T) { // R-H2
		mismatch := reply{status: 400, body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32020,"message":"m"}}`}
		listed := result(`{"tools":[{"name":"x","inputSchema":{"properties":{"a":{"properties":{"b":{"type":"integer","x-mcp-header":"Bee"}}},"c":{"type":"boolean","x-mcp-header":"Sea"},"d":{"x-mcp-header":"Dee"}}}}]}`)
		c, s := scripted(client.Options{}, mismatch, listed, result(`{"content":[]}`))
		if _, err := c.Call(t.Context(), "x", json.RawMessage(`{"a":{"b": 7 },"c":false,"d":null}`), client.Watch{}); err != nil {
			t.Fatal(err)
		}
		h := s.seen[2].header
		if h.Get("Mcp-Param-Bee") != "7" || h.Get("Mcp-Param-Sea") != "false" || h.Values("Mcp-Param-Dee") != nil {
			t.Errorf("got %v", h)
		}
		c, s = scripted(client.Options{}, mismatch, listed, mismatch)
		if _, err := c.Call(t.Context(), "x", nil, client.Watch{}); err == nil || len(s.seen) != 3 {
			t.Errorf("%v after %v", err, s.methods())
		}
	})
	t.Run("arguments_that_are_no_JSON_are_not_sent", func(t *testing.T) {
		c, s := scripted(client.Options{}, empty)
		if _, err := c.Call(t.Context(), "x", json.RawMessage(`{`), client.Watch{}); err == nil || len(s.seen) != 0 {
			t.Errorf("%v after %v", err, s.methods())
		}
	})
	t.Run("a_server_describes_itself", func(t *testing.T) {
		c, s := scripted(client.Options{}, result(`{"resultType":"complete","instructions":"be kind"}`))
		got, err := c.Discover(t.Context())
		if err != nil || !strings.Contains(string(got), "be kind") || s.seen[0].header.Values("Mcp-Name") != nil {
			t.Errorf("%s, %v, %v", got, err, s.seen[0].header)
		}
	})
	t.Run("all_pages_are_listed", func(t *testing.T) { // R-H7
		c, s := scripted(client.Options{}, result(`{"tools":[{"name":"a"}],"nextCursor":""}`), result(`{"tools":[{"name":"b"}]}`))
		tools, err := c.Tools(t.Context())
		if err != nil || len(tools) != 2 || string(s.seen[1].body.Params["cursor"]) != `""` {
			t.Errorf("%v, %v", tools, err)
		}
	})
}

func TestStreams(t *testing.T) {
	for name, body := range map[string]string{
		"line_feeds":        "event: message\ndata: {\"method\":\"notifications/progress\",\"params\":{\"progress\":1}}\n\n: hi\n\ndata: {\"id\":$ID,\ndata: \"result\":{\"content\":[]}}\n\n",
		"carriage_returns":  "data:{\"method\":\"notifications/progress\",\"params\":{\"progress\":1}}\r\r:\r\rid: 4\rdata: {\"id\":$ID,\"result\":{\"content\":[]}}\r\r",
		"both_and_no_comma": "\r\ndata: {\"method\":\"notifications/progress\",\"params\":{\"progress\":1}}\r\n\r\nretry: 1\r\n\r\ndata: {\"id\":$ID,\"result\":{\"content\":[]}}\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := scripted(client.Options{}, reply{header: map[string]string{"Content-Type": "text/event-stream"}, body: body})
			told := 0
			_, err := c.Call(t.Context(), "x", nil, client.Watch{Progress: func(float64, float64, string) { told++ }})
			if err != nil || told != 1 {
				t.Errorf("%v, %d notifications", err, told)
			}
		})
	}
	t.Run("a_connection_that_breaks_in_the_middle_is_told_as_that", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {\"id\":1,"))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}))
		defer s.Close()
		_, err := client.New(s.URL, client.Options{}).Call(t.Context(), "x", nil, client.Watch{})
		var unreachable *client.UnreachableError
		if !errors.As(err, &unreachable) || unreachable.Status != 0 {
			t.Errorf("got %v", err)
		}
	})
}
