package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"toolhost/pkg/client"
)

// stage is a server whose streams a test writes to by hand, without a network. In
// a synctest bubble a stream that is left open fails the test.
type stage struct {
	mu      sync.Mutex
	state   string // what tasks/get says
	streams []*io.PipeWriter
	opened  []time.Time
	gets    []time.Time
	updates int
	onOpen  func(n int, w *io.PipeWriter) // in a goroutine of its own
	refuse  func(n int) *reply            // the answer to the n-th listen, nil to serve it
}

func (s *stage) RoundTrip(r *http.Request) (*http.Response, error) {
	id := idOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Header.Get("Mcp-Method") {
	case "tools/call":
		return result(strings.Replace(s.state, `"complete"`, `"task"`, 1)).answer(r, id), nil
	case "tasks/update":
		s.updates++
		return result(`{"resultType":"complete"}`).answer(r, id), nil
	case "tasks/get":
		s.gets = append(s.gets, time.Now())
		return result(s.state).answer(r, id), nil
	}
	n := len(s.opened)
	s.opened = append(s.opened, time.Now())
	if s.refuse != nil {
		if refused := s.refuse(n); refused != nil {
			return refused.answer(r, id), nil
		}
	}
	body, w := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = w.CloseWithError(r.Context().Err()) })
	s.streams = append(s.streams, w)
	if s.onOpen != nil {
		go s.onOpen(n, w)
	}
	resp := stream().answer(r, id)
	resp.Body = body
	return resp, nil
}

func (s *stage) set(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

func (s *stage) client(o client.Options) *client.Client {
	o.HTTP = &http.Client{Transport: s}
	return client.New("http://stage.example/mcp", o)
}

func event(w io.Writer, messages ...string) {
	for _, m := range messages {
		_, _ = io.WriteString(w, "data: "+m+"\n\n") // the client may have gone
	}
}

// at is the task as it is in its n-th second.
func at(n int, status, more string) string {
	return fmt.Sprintf(`{"resultType":"complete","taskId":"1","status":%q,"statusMessage":"step %d","createdAt":"2026-12-01T08:00:00Z","lastUpdatedAt":"2026-12-01T08:00:%02dZ","ttlMs":1,"pollIntervalMs":5000%s}`, status, n, n, more)
}

const (
	ending = `,"result":{"content":[{"type":"text","text":"done"}]}`
	asking = `,"inputRequests":{"k":{"method":"elicitation/create","params":{}}}`
)

// play runs a test in a bubble: a goroutine or a stream that outlives the wait
// fails it.
func play(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func wait(t *testing.T, c *client.Client, w client.Watch) {
	t.Helper()
	got, err := c.Wait(t.Context(), "1", w)
	if err != nil || text(t, got) != "done" {
		t.Errorf("%s, %v", got, err)
	}
}

func TestStream(t *testing.T) { // R-L1, R-L3
	play(t, "all_states_come_in_their_order_for_one_request", func(t *testing.T) {
		s := &stage{state: at(0, "working", ""), onOpen: func(_ int, w *io.PipeWriter) {
			event(w, agreed)
			for n := range 20 {
				time.Sleep(2 * time.Second)
				event(w, told(at(n, "working", "")))
			}
			event(w, told(at(20, "completed", ending)))
		}}
		var steps []string
		got, err := s.client(client.Options{}).Call(t.Context(), "x", nil, client.Watch{Task: func(task client.Task) { steps = append(steps, task.StatusMessage) }})
		if err != nil || text(t, got) != "done" {
			t.Fatalf("%s, %v", got, err)
		}
		if len(steps) != 21 || !slices.IsSortedFunc(steps, func(a, b string) int { return len(a) - len(b) }) || steps[20] != "step 20" {
			t.Errorf("told %q", steps)
		}
		// The one read is from before the stream had told anything.
		if len(s.opened) != 1 || len(s.gets) > 1 {
			t.Errorf("%d listens, %d reads", len(s.opened), len(s.gets))
		}
	})
	play(t, "that_acknowledges_and_then_is_silent_holds_nothing_up", func(t *testing.T) {
		s := &stage{state: at(0, "working", ""), onOpen: func(_ int, w *io.PipeWriter) { event(w, agreed) }}
		time.AfterFunc(12*time.Second, func() { s.set(at(1, "completed", ending)) })
		begun := time.Now()
		wait(t, s.client(client.Options{}), client.Watch{})
		if took := time.Since(begun); took != 15*time.Second || len(s.gets) != 4 { // at 0, 5, 10, 15
			t.Errorf("%v, %d reads", took, len(s.gets))
		}
	})
	play(t, "that_falls_silent_is_noticed_after_a_minute_and_not_relied_upon", func(t *testing.T) {
		s := &stage{state: at(0, "working", ""), onOpen: func(_ int, w *io.PipeWriter) {
			event(w, agreed, told(at(0, "working", "")))
		}}
		time.AfterFunc(30*time.Second, func() { s.set(at(1, "working", "")) })
		time.AfterFunc(62*time.Second, func() { s.set(at(2, "completed", ending)) })
		begun := time.Now()
		wait(t, s.client(client.Options{}), client.Watch{})
		if took := time.Since(begun); took != 65*time.Second || len(s.gets) != 3 { // at 0, 60, 65
			t.Errorf("%v, %d reads", took, len(s.gets))
		}
	})
	play(t, "of_a_task_that_is_polled_slowly_is_checked_as_slowly", func(t *testing.T) {
		slow := func(task string) string { return strings.Replace(task, "5000", "30000", 1) }
		s := &stage{state: slow(at(0, "working", "")), onOpen: func(_ int, w *io.PipeWriter) {
			event(w, agreed, told(slow(at(0, "working", ""))))
		}}
		time.AfterFunc(time.Second, func() { s.set(at(1, "completed", ending)) })
		begun := time.Now()
		wait(t, s.client(client.Options{}), client.Watch{})
		if took := time.Since(begun); took != 2*time.Minute {
			t.Error(took)
		}
	})
	play(t, "that_breaks_off_with_a_question_open_asks_it_once", func(t *testing.T) { // R-G2
		s := &stage{state: at(1, "input_required", asking), onOpen: func(n int, w *io.PipeWriter) {
			event(w, agreed, told(at(1, "input_required", asking)))
			time.Sleep(2 * time.Second)
			if n == 0 {
				_ = w.CloseWithError(io.ErrUnexpectedEOF)
				return
			}
			event(w, told(at(1, "input_required", asking)), told(at(2, "working", "")), told(at(3, "completed", ending)))
		}}
		a := &answers{content: map[string]string{"k": "{}"}}
		slow := func(ctx context.Context, q client.Question) (json.RawMessage, error) {
			time.Sleep(3 * time.Second) // over the break
			return a.answer(ctx, q)
		}
		wait(t, s.client(client.Options{Answerer: slow}), client.Watch{})
		if len(a.asked) != 1 || s.updates != 1 || len(s.opened) != 2 {
			t.Errorf("asked %q, %d answers, %d listens", a.asked, s.updates, len(s.opened))
		}
	})
	play(t, "that_is_behind_a_read_takes_nothing_back", func(t *testing.T) {
		s := &stage{state: at(5, "working", ""), onOpen: func(_ int, w *io.PipeWriter) {
			event(w, agreed, told(at(3, "working", "")), told(at(4, "input_required", asking)), told(at(6, "completed", ending)))
		}}
		var steps []string
		wait(t, s.client(client.Options{}), client.Watch{Task: func(task client.Task) { steps = append(steps, task.StatusMessage) }})
		if !slices.Equal(steps, []string{"step 5", "step 6"}) {
			t.Errorf("told %q", steps)
		}
	})
	play(t, "that_can't_be_had_for_a_while_is_asked_for_ever_less_often", func(t *testing.T) {
		s := &stage{state: at(0, "working", ""), refuse: func(n int) *reply {
			if n < 30 {
				return &reply{status: 502, header: map[string]string{"Content-Type": "text/html"}, body: "<html>"}
			}
			return nil
		}, onOpen: func(_ int, w *io.PipeWriter) { event(w, agreed, told(at(1, "completed", ending))) }}
		begun := time.Now()
		wait(t, s.client(client.Options{}), client.Watch{})
		// Polls go on meanwhile, every 5 s.
		if took := time.Since(begun); took < 5*time.Minute || took > time.Hour || len(s.opened) != 31 || len(s.gets) < int(took/(6*time.Second)) {
			t.Errorf("%v, %d listens, %d reads", took, len(s.opened), len(s.gets))
		}
	})
	play(t, "is_asked_for_again_when_the_server_says", func(t *testing.T) {
		s := &stage{state: at(0, "working", ""), refuse: func(n int) *reply {
			if n == 0 {
				return &reply{status: 429, header: map[string]string{"Retry-After": "7"}, body: `{"message":"Too Many Requests"}`}
			}
			return nil
		}, onOpen: func(_ int, w *io.PipeWriter) { event(w, agreed, told(at(1, "completed", ending))) }}
		wait(t, s.client(client.Options{}), client.Watch{})
		if gap := s.opened[1].Sub(s.opened[0]); gap != 10*time.Second { // with the first poll after 7 s
			t.Error(gap)
		}
	})
	play(t, "is_not_asked_for_again_of_a_server_that_has_none", func(t *testing.T) {
		none := refusal(404, "-32601")
		s := &stage{state: at(0, "working", ""), refuse: func(int) *reply { return &none }}
		time.AfterFunc(time.Second, func() { s.set(at(1, "completed", ending)) })
		c := s.client(client.Options{})
		for range 3 {
			wait(t, c, client.Watch{})
		}
		if len(s.opened) != 1 {
			t.Errorf("%d listens", len(s.opened))
		}
	})
	play(t, "each_of_two_waits_has_its_own", func(t *testing.T) {
		s := &stage{state: at(0, "working", ""), onOpen: func(_ int, w *io.PipeWriter) {
			event(w, agreed)
			time.Sleep(time.Second)
			event(w, told(at(1, "completed", ending)))
		}}
		c := s.client(client.Options{})
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { wait(t, c, client.Watch{}) })
		}
		both.Wait()
		if len(s.opened) != 2 || len(s.gets) != 2 {
			t.Errorf("%d listens, %d reads", len(s.opened), len(s.gets))
		}
	})
	t.Run("ends_with_the_wait", func(t *testing.T) { // or play fails
		away := errors.New("away")
		for name, end := range map[string]struct {
			state    string
			answerer client.Answerer
			stop     bool
			want     error
		}{
			"that_has_a_result":   {at(1, "completed", ending), nil, false, nil},
			"that_is_given_up":    {at(1, "working", ""), nil, true, context.Canceled},
			"that_nobody_answers": {at(1, "input_required", asking), func(context.Context, client.Question) (json.RawMessage, error) { return nil, away }, false, away},
			"of_a_cancelled_task": {at(1, "cancelled", ""), nil, false, client.ErrCancelled},
			"of_a_question_in_hand": {at(1, "input_required", asking), func(ctx context.Context, _ client.Question) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}, true, context.Canceled},
		} {
			play(t, name, func(t *testing.T) {
				s := &stage{state: at(0, "working", ""), onOpen: func(_ int, w *io.PipeWriter) {
					event(w, agreed, told(end.state)) // and goes on
				}}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				if end.stop {
					time.AfterFunc(3*time.Second, stop)
				}
				_, err := s.client(client.Options{Answerer: end.answerer}).Wait(ctx, "1", client.Watch{})
				if !errors.Is(err, end.want) {
					t.Errorf("got %v", err)
				}
				if _, err := s.streams[0].Write([]byte(":\n")); err == nil {
					t.Error("the stream is open")
				}
			})
		}
	})
}
