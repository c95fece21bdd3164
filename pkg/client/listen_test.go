package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"toolhost/pkg/client"
	"toolhost/pkg/clock"
)

const (
	done   = `{"resultType":"complete","taskId":"1","status":"completed","result":{"content":[{"type":"text","text":"done"}]},"createdAt":"2026-12-01T08:00:00Z","lastUpdatedAt":"2026-12-01T08:00:02Z","ttlMs":1}`
	works  = `{"resultType":"complete","taskId":"1","status":"working","createdAt":"2026-12-01T08:00:00Z","lastUpdatedAt":"2026-12-01T08:00:01Z","ttlMs":1}`
	agreed = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"taskIds":["1"]}}}`
	ended  = `{"jsonrpc":"2.0","id":$ID,"result":{"resultType":"complete"}}`
)

func told(task string) string {
	return `{"jsonrpc":"2.0","method":"notifications/tasks","params":` + task + `}`
}

func stream(events ...string) reply {
	return reply{header: map[string]string{"Content-Type": "text/event-stream"}, body: "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"}
}

// short are the methods of the requests that a server saw, without their groups.
func (s *script) short() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, x := range s.seen {
		all = append(all, strings.TrimPrefix(strings.TrimPrefix(x.body.Method, "subscriptions/"), "tasks/"))
	}
	return strings.Join(all, " ")
}

func TestListen(t *testing.T) {
	refused := reply{status: 404, body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`}
	for name, scripted := range map[string]struct {
		replies []reply
		want    string // the methods after the first read
	}{
		"tells_of_the_end":                       {[]reply{stream(agreed, told(works), told(done), ended)}, "listen"},
		"that_ends_in_good_order_is_begun_again": {[]reply{stream(agreed, told(works), ended), stream(agreed, told(works), told(done), ended)}, "listen listen"},
		"that_breaks_off_is_followed_by_a_read":  {[]reply{stream(agreed, told(works)), result(works), stream(agreed, told(done), ended)}, "listen get listen"},
		"that_is_refused_leaves_polls":           {[]reply{refused, result(works), result(works), result(done)}, "listen get get get"},
		"that_no_function_streams_leaves_polls":  {[]reply{{status: 406, body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32600,"message":"no"}}`}, result(done)}, "listen get"},
		"to_another_task_leaves_polls":           {[]reply{stream(strings.Replace(agreed, `"1"`, "", 1), ended), result(done)}, "listen get"},
		"that_is_silent_leaves_polls":            {[]reply{{hang: true}, result(works), result(done)}, "listen get get"},
		"that_ends_at_once_again_and_again_leaves_polls": {[]reply{stream(agreed, ended), stream(agreed, ended), stream(agreed, ended), result(done)},
			"listen listen listen get"},
		"that_tells_nonsense_is_followed_by_a_read": {[]reply{stream(agreed, told(`{"taskId":"1","status":5}`), told(`[]`), "{"), result(done)}, "listen get"},
		"of_old_news_changes_nothing":               {[]reply{stream(agreed, told(strings.Replace(works, "08:00:01", "07:59:00", 1)), told(done), ended)}, "listen"},
	} {
		t.Run(name, func(t *testing.T) { // R-L1, R-L4, R-L6
			c, s := listening(client.Options{Clock: hasty{}}, append([]reply{result(works)}, scripted.replies...)...)
			got, err := c.Wait(t.Context(), "1", client.Watch{})
			if err != nil || text(t, got) != "done" {
				t.Errorf("got %s, %v", got, err)
			}
			if got := s.short(); got != "get "+scripted.want {
				t.Errorf("requests %q, want %q", got, "get "+scripted.want)
			}
		})
	}

	t.Run("is_not_done_by_a_client_that_polls", func(t *testing.T) {
		c, s := scripted(client.Options{Clock: hasty{}}, result(works), result(done))
		if _, err := c.Wait(t.Context(), "1", client.Watch{}); err != nil || s.short() != "get get" {
			t.Errorf("%v, %s", err, s.short())
		}
	})

	t.Run("a_task_that_is_listened_to_is_read_once_a_minute", func(t *testing.T) {
		at := clock.NewManual(time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC))
		reader, writer := io.Pipe()
		opened := make(chan struct{})
		var gets int
		transport := roundTrip(func(r *http.Request) (*http.Response, error) {
			resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
			if r.Header.Get("Mcp-Method") == "subscriptions/listen" {
				resp.Header.Set("Content-Type", "text/event-stream")
				resp.Body = reader
				context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(context.Canceled) })
				close(opened)
				return resp, nil
			}
			gets++
			state := works
			if gets == 2 {
				state = done
			}
			resp.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(`{"jsonrpc":"2.0","id":$ID,"result":`+state+`}`, "$ID", idOf(t, r))))
			return resp, nil
		})
		c := client.New("http://script.example/mcp", client.Options{Clock: at, HTTP: &http.Client{Transport: transport}})
		var seen sync.WaitGroup
		seen.Add(2) // the first read, and the stream's first state, which differs
		over := make(chan error, 1)
		go func() {
			_, err := c.Wait(t.Context(), "1", client.Watch{Task: func(task client.Task) {
				if !task.Terminal() {
					seen.Done()
				}
			}})
			over <- err
		}()
		<-opened
		_, _ = io.WriteString(writer, "data: "+agreed+"\n\ndata: "+told(strings.Replace(works, "08:00:01", "08:00:01.5", 1))+"\n\n")
		seen.Wait()
		for at.Waiting() == 0 { // the minute's timer
			runtime.Gosched()
		}
		at.Advance(time.Minute)
		if err := <-over; err != nil || gets != 2 {
			t.Errorf("%v, %d reads", err, gets)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func idOf(t *testing.T, r *http.Request) string {
	t.Helper()
	var m struct{ ID json.RawMessage }
	if err := json.Unmarshal(readAll(&r.Body), &m); err != nil {
		t.Error(err)
	}
	return string(m.ID)
}

// Against the real stack a call costs itself and one stream, however long its
// task takes.
func TestListenStack(t *testing.T) {
	url := serve(t, nil)
	var mu sync.Mutex
	var methods []string
	transport := roundTrip(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		methods = append(methods, r.Header.Get("Mcp-Method"))
		mu.Unlock()
		return http.DefaultTransport.RoundTrip(r)
	})
	c := client.New(url, client.Options{HTTP: &http.Client{Transport: transport}})
	if _, err := c.Call(t.Context(), "slow_compute", json.RawMessage(`{"seconds":1}`), client.Watch{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"tools/call", "subscriptions/listen"}; !slices.Equal(methods, want) {
		t.Errorf("requests %v, want %v", methods, want)
	}

	t.Run("the_end_of_its_context_closes_the_stream", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.Call(ctx, "slow_compute", json.RawMessage(`{"seconds":3600}`), client.Watch{Task: func(client.Task) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
