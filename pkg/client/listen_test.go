package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"toolhost/infra/conformance/fixtures"
	"toolhost/infra/local"
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
		"that_ends_at_once_again_and_again_pauses_for_polls": {[]reply{stream(agreed, ended), stream(agreed, ended), result(done)},
			"listen listen get"},
		"that_tells_nonsense_is_followed_by_a_read": {[]reply{stream(agreed, told(`{"taskId":"1","status":5}`), told(`[]`), "{"), result(done)}, "listen get"},
		"of_old_news_changes_nothing":               {[]reply{stream(agreed, told(strings.Replace(works, "08:00:01", "07:59:00", 1)), told(done), ended)}, "listen"},
	} {
		t.Run(name, func(t *testing.T) { // R-L1, R-L4, R-L6
			synctest.Test(t, func(t *testing.T) { // no poll is due before all else has happened
				c, s := listening(client.Options{}, append([]reply{result(works)}, scripted.replies...)...)
				got, err := c.Wait(t.Context(), "1", client.Watch{})
				if err != nil || text(t, got) != "done" {
					t.Errorf("got %s, %v", got, err)
				}
				if got := s.short(); got != "get "+scripted.want {
					t.Errorf("requests %q, want %q", got, "get "+scripted.want)
				}
			})
		})
	}

	t.Run("is_not_done_by_a_client_that_polls", func(t *testing.T) {
		c, s := scripted(client.Options{Clock: hasty{}}, result(works), result(done))
		if _, err := c.Wait(t.Context(), "1", client.Watch{}); err != nil || s.short() != "get get" {
			t.Errorf("%v, %s", err, s.short())
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func idOf(r *http.Request) string {
	var m struct{ ID json.RawMessage }
	_ = json.Unmarshal(readAll(&r.Body), &m) // what has none gets no answer
	return string(m.ID)
}

// ear is a way to the real stack that sees the streams.
type ear struct {
	mu      sync.Mutex
	methods []string
	streams chan io.ReadCloser // as they are opened
}

func (e *ear) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	method := r.Header.Get("Mcp-Method")
	e.mu.Lock()
	e.methods = append(e.methods, method)
	e.mu.Unlock()
	if method == "subscriptions/listen" {
		e.streams <- resp.Body
	}
	return resp, nil
}

func (e *ear) short() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.NewReplacer("subscriptions/", "", "tasks/", "", "tools/", "").Replace(strings.Join(e.methods, " "))
}

// patient is a clock on which no poll is ever due.
type patient struct{}

func (patient) Now() time.Time { return time.Now() }

func (patient) After(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

func listenTo(url string, o client.Options) (*client.Client, *ear) {
	e := &ear{streams: make(chan io.ReadCloser, 10)}
	o.HTTP = &http.Client{Transport: e}
	return client.New(url, o), e
}

// Against the real stack a call costs itself and one stream, however long its
// task takes.
func TestListenStack(t *testing.T) { // R-L3
	moved := clock.NewMovable()
	url := serve(t, moved)
	answer := map[string]json.RawMessage{"name": json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`)}
	// ask calls a tool that asks, and returns when its question has come.
	ask := func(t *testing.T) (e *ear, id string, ended chan error) {
		t.Helper()
		b := newBlocked()
		c, e := listenTo(url, client.Options{Answerer: b.answer, Clock: patient{}})
		ended, ids := make(chan error, 1), make(chan string, 10)
		go func() {
			got, err := c.Call(t.Context(), "hello_world", nil, client.Watch{Task: func(task client.Task) { ids <- task.ID }})
			if err == nil && text(t, got) != "Hello, Ada!" {
				err = errors.New(string(got))
			}
			ended <- err
		}()
		<-b.asked
		t.Cleanup(func() {
			if len(b.asked) > 0 {
				t.Error("asked twice")
			}
		})
		return e, <-ids, ended
	}
	other := client.New(url, client.Options{})
	t.Run("a_call_costs_itself_and_one_stream", func(t *testing.T) {
		c, e := listenTo(url, client.Options{Clock: patient{}})
		if _, err := c.Call(t.Context(), "slow_compute", json.RawMessage(`{"seconds":2}`), client.Watch{}); err != nil || e.short() != "call listen" {
			t.Errorf("%v, requests %s", err, e.short())
		}
	})
	t.Run("a_stream_whose_time_is_up_is_followed_by_another", func(t *testing.T) {
		e, id, ended := ask(t)
		<-e.streams
		moved.Advance(15 * time.Minute)
		<-e.streams
		if err := other.Answer(t.Context(), id, answer); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil || e.short() != "call listen listen" {
			t.Errorf("%v, requests %s", err, e.short())
		}
	})
	t.Run("a_stream_that_is_cut_is_followed_by_a_read_and_another", func(t *testing.T) {
		e, id, ended := ask(t)
		_ = (<-e.streams).Close()
		<-e.streams
		if err := other.Answer(t.Context(), id, answer); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil || e.short() != "call listen get listen" {
			t.Errorf("%v, requests %s", err, e.short())
		}
	})
	t.Run("the_end_of_its_context_closes_the_stream", func(t *testing.T) { // R-H10
		ctx, cancel := context.WithCancel(t.Context())
		c, e := listenTo(url, client.Options{})
		ended := make(chan error, 1)
		go func() {
			_, err := c.Call(ctx, "slow_compute", json.RawMessage(`{"seconds":3600}`), client.Watch{})
			ended <- err
		}()
		body := <-e.streams
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := body.Read(make([]byte, 1)); err == nil {
			t.Error("the stream is open")
		}
	})
	t.Run("where_no_function_streams_it_polls", func(t *testing.T) {
		s, err := local.Start(t.Context(), local.Options{Registry: fixtures.Registry(), Environment: map[string]string{"TOOLHOST_MAX_LISTEN": "0s"}})
		if err != nil {
			t.Fatal(err)
		}
		c, e := listenTo(s.URL, client.Options{})
		if _, err := c.Call(t.Context(), "slow_compute", json.RawMessage(`{"seconds":1}`), client.Watch{}); err != nil || !strings.HasPrefix(e.short(), "call listen get") {
			t.Errorf("%v, requests %s", err, e.short())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
