package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/infra/emulator"
	"toolhost/pkg/callback"
	"toolhost/pkg/limits"
	"toolhost/pkg/server"
	"toolhost/pkg/task"
	"toolhost/pkg/tool"
)

// studio is a host with a tool that has a film rendered elsewhere, and then
// says what came of it.
type studio struct {
	*host
	mu   sync.Mutex
	urls []string // given to the job, once a task
	runs int
	// waits is called in each run just before the tool waits; it may be nil.
	waits func()
}

func newStudio(t *testing.T) *studio {
	t.Helper()
	s, tools := &studio{}, tool.New()
	tool.Add(tools, &mcp.Tool{Name: "render"}, func(ctx context.Context, _ *mcp.CallToolRequest, in named) (*mcp.CallToolResult, any, error) {
		s.mu.Lock()
		s.runs++
		s.mu.Unlock()
		done, err := tool.NewCallback(ctx, "rendered")
		if err != nil {
			return nil, nil, err
		}
		if _, err := tool.Step(ctx, "start", func(context.Context) (int, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.urls = append(s.urls, done.URL)
			return len(s.urls), nil
		}); err != nil {
			return nil, nil, err
		}
		if s.waits != nil {
			s.waits()
		}
		film, err := done.Wait(ctx)
		if err != nil {
			return nil, nil, err
		}
		if in.Name == "nap" {
			err = tool.Sleep(ctx, "nap", time.Minute)
		}
		return text("%s", film), nil, err
	}, tool.Options{Task: tool.Required, TTL: time.Hour, Retention: time.Hour})
	s.host = startWith(t, tools, server.Limits{})
	return s
}

// render makes a task and lets it run as far as it goes by itself.
func (s *studio) render(name string) (id, url string) {
	s.t.Helper()
	made := s.call("", "tools/call", map[string]any{"name": "render", "arguments": map[string]any{"name": name}})
	if id = made.field("taskId"); id == "" {
		s.t.Fatalf("no task: %s", made.Body)
	}
	s.work()
	return id, s.urls[len(s.urls)-1]
}

// post answers a callback.
func (s *studio) post(url, body string) (int, string) {
	s.t.Helper()
	status, got, err := s.try(http.MethodPost, url, body)
	s.must(err)
	return status, got
}

func (s *studio) try(method, url, body string) (int, string, error) {
	path, ok := strings.CutPrefix(url, publicURL)
	if !ok {
		return 0, "", fmt.Errorf("%s is not below %s", url, publicURL)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	return response.StatusCode, string(got), err
}

// takes wants the answer to a callback to have this status.
func (s *studio) takes(what, url, body string, status int) {
	s.t.Helper()
	got, answer := s.post(url, body)
	var e struct {
		Error string `json:"error"`
	}
	if got != status || status == 204 && answer != "" || status != 204 && (json.Unmarshal([]byte(answer), &e) != nil || e.Error == "") {
		s.t.Errorf("%s: got %d %s, want %d", what, got, answer, status)
	}
}

// ended wants the task completed with the text.
func (s *studio) ended(id, text string) {
	s.t.Helper()
	quoted, _ := json.Marshal(text)
	if got := s.get(id); got.field("status") != "completed" || !bytes.Contains(got.Body, append([]byte(`"text":`), quoted...)) {
		s.t.Errorf("want %s: %s", text, got.Body)
	}
}

func (s *studio) load(id string) task.Task {
	s.t.Helper()
	got, err := s.store.Load(s.t.Context(), id)
	s.must(err)
	return got
}

func TestCallback(t *testing.T) { // case 57
	t.Run("wakes the task that waits for it", func(t *testing.T) {
		s := newStudio(t)
		id, url := s.render("x")
		if n := s.waiting(); n != 0 || s.load(id).Awaiting != "rendered" {
			t.Fatalf("%d messages for a waiting task, awaiting %q", n, s.load(id).Awaiting)
		}
		s.takes("first", url, ` {"frames":24} `, 204)
		s.work()
		s.ended(id, `{"frames":24}`)
		if n := s.runs; n != 2 || len(s.urls) != 1 {
			t.Errorf("%d runs, %d jobs", n, len(s.urls))
		}
		s.takes("after the end", url, `{"frames":24}`, 404)
	})
	t.Run("an empty body is null", func(t *testing.T) {
		s := newStudio(t)
		id, url := s.render("x")
		s.takes("empty", url, "", 204)
		s.takes("the same", url, "null", 204)
		s.work()
		s.ended(id, "null")
	})
	t.Run("costs a read, a write and a message", func(t *testing.T) {
		s := newStudio(t)
		_, url := s.render("x")
		got := s.calls(func() { s.takes("first", url, "1", 204) })
		if got["dynamodb/GetItem"] != 1 || got["dynamodb/PutItem"] != 1 || got["sqs/SendMessage"] != 1 || len(got) != 3 {
			t.Errorf("%v", got)
		}
	})
	t.Run("arrives while the tool runs: nothing is sent, and the tool goes on", func(t *testing.T) { // case 60
		s := newStudio(t)
		s.waits = func() {
			s.waits = nil
			url := s.urls[0]
			sent := s.calls(func() {
				s.takes("early", url, "1", 204)
				s.takes("the same again", url, "1", 204)
				s.takes("another", url, "2", 409)
			})
			if sent["sqs/SendMessage"] != 0 {
				t.Errorf("%v", sent)
			}
		}
		id, _ := s.render("x")
		s.ended(id, "1")
		if s.runs != 2 || s.waiting() != 0 {
			t.Errorf("%d runs, %d messages left", s.runs, s.waiting())
		}
	})
	t.Run("the same body again is taken until the tool has seen it", func(t *testing.T) {
		s := newStudio(t)
		id, url := s.render("nap")
		s.takes("first", url, "1", 204)
		s.takes("again", url, "1", 204)
		s.takes("another", url, "2", 409)
		s.work() // the tool has seen it, and naps
		s.takes("after", url, "1", 409)
		s.takes("another after", url, "2", 409)
		s.clock.Advance(time.Minute)
		s.work()
		s.ended(id, "1")
	})
	t.Run("of 200 at once one is taken", func(t *testing.T) {
		for name, body := range map[string]func(int) string{
			"the same body": func(int) string { return "7" },
			"other bodies":  func(i int) string { return fmt.Sprint(i) },
		} {
			s := newStudio(t)
			id, url := s.render("x")
			statuses := make([]int, 200)
			var all sync.WaitGroup
			for i := range statuses {
				all.Go(func() {
					status, _, err := s.try(http.MethodPost, url, body(i))
					if err != nil {
						t.Error(err)
					}
					statuses[i] = status
				})
			}
			all.Wait()
			taken := 0
			for _, status := range statuses {
				if status == 204 {
					taken++
				} else if status != 409 {
					t.Errorf("%s: status %d", name, status)
				}
			}
			if name == "the same body" && taken != 200 || name == "other bodies" && taken != 1 {
				t.Errorf("%s: %d were taken", name, taken)
			}
			if n := len(s.load(id).Callbacks); n != 1 {
				t.Errorf("%s: %d are stored", name, n)
			}
			s.work()
			if got := s.get(id); got.field("status") != "completed" || s.runs != 2 {
				t.Errorf("%s: %d runs, %s", name, s.runs, got.Body)
			}
		}
	})
	t.Run("meets the tool's own wait in a race, and is never lost", func(t *testing.T) {
		s := newStudio(t)
		for range 30 {
			answered := make(chan error, 1)
			s.waits = func() {
				s.waits = nil
				url := s.urls[len(s.urls)-1]
				go func() {
					status, _, err := s.try(http.MethodPost, url, "1")
					if err == nil && status != 204 {
						err = fmt.Errorf("status %d", status)
					}
					answered <- err
				}()
			}
			id, _ := s.render("x")
			s.must(<-answered)
			s.work()
			s.ended(id, "1")
		}
	})
}

func TestCallbackRefusals(t *testing.T) {
	s := newStudio(t)
	id, url := s.render("x")
	other, otherURL := s.render("y")
	was := s.load(id)
	keys, err := callback.NewKeys(s.options.Keys)
	s.must(err)
	minted := func(c callback.Callback) string { return publicURL + callback.Path + keys.Token(c) }

	t.Run("every unknown token has the same answer", func(t *testing.T) {
		cancelled, cancelledURL := s.render("z")
		s.call("", "tasks/cancel", map[string]any{"taskId": cancelled})
		_, want := s.post(cancelledURL, "1")
		for name, forged := range map[string]string{
			"none":                 publicURL + callback.Path + "x",
			"the task's id":        publicURL + callback.Path + id,
			"not base64":           publicURL + callback.Path + "%20%ff",
			"a longer one":         url + "A",
			"another birth":        minted(callback.Callback{TaskID: id, Birth: "another", Name: "rendered"}),
			"another task's birth": minted(callback.Callback{TaskID: id, Birth: s.load(other).Birth, Name: "rendered"}),
			"no such task":         minted(callback.Callback{TaskID: "gone", Birth: was.Birth, Name: "rendered"}),
			"a cancelled task":     cancelledURL,
		} {
			if status, got := s.post(forged, "1"); status != 404 || got != want {
				t.Errorf("%s: %d %s, want 404 %s", name, status, got, want)
			}
		}
	})
	t.Run("every character of the token counts", func(t *testing.T) {
		prefix := len(publicURL + callback.Path)
		for i := prefix; i < len(url); i++ {
			c := byte('A')
			if url[i] == c {
				c = 'B'
			}
			s.takes(fmt.Sprint("character ", i-prefix), url[:i]+string(c)+url[i+1:], "1", 404)
		}
	})
	t.Run("a token is good for its own task alone", func(t *testing.T) {
		s.takes("the other's", otherURL, "1", 204)
		if n := len(s.load(id).Callbacks); n != 0 {
			t.Errorf("%d callbacks", n)
		}
	})
	t.Run("what is not JSON, too large, or not posted", func(t *testing.T) {
		for _, bad := range []string{"{", "1 2", "\xff", `{"a":1,"a":2}`, "frames=24"} {
			s.takes(bad, url, bad, 400)
		}
		status, got := s.post(url, `"`+strings.Repeat("x", limits.MaxAnswer-1)+`"`)
		if status != 413 || !strings.Contains(got, fmt.Sprint(limits.MaxAnswer)) {
			t.Errorf("%d %s", status, got)
		}
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodOptions} {
			if status, got, err := s.try(method, url, "1"); err != nil || status != 405 || !json.Valid([]byte(got)) {
				t.Errorf("%s: %d %s, %v", method, status, got, err)
			}
		}
	})
	t.Run("none of all that moved the task", func(t *testing.T) {
		if now := s.load(id); now.Revision != was.Revision {
			t.Errorf("revision %d, want %d", now.Revision, was.Revision)
		}
	})
	t.Run("the largest body arrives whole", func(t *testing.T) { // case 25
		largest := `"` + strings.Repeat("x", limits.MaxAnswer-2) + `"`
		s.takes("largest", url, largest, 204)
		s.work()
		s.ended(id, largest)
	})
	t.Run("after the task's time", func(t *testing.T) { // R-G8
		_, url := s.render("x")
		s.clock.Advance(time.Hour)
		s.takes("expired", url, "1", 404)
	})
}

// Invariant 2: save, then send, then acknowledge; a repeat sends again.
func TestCallbackFaults(t *testing.T) {
	t.Run("a crash between save and send is mended by a repeat", func(t *testing.T) {
		s := newStudio(t)
		id, url := s.render("x")
		s.during("SendMessage", emulator.Fail, false, func() { s.takes("not sent", url, "1", 500) })
		if n := s.waiting(); n != 0 {
			t.Fatalf("%d messages", n)
		}
		s.takes("again", url, "1", 204)
		s.work()
		s.ended(id, "1")
	})
	t.Run("a save whose reply is lost is known again", func(t *testing.T) {
		s := newStudio(t)
		id, url := s.render("x")
		s.during("PutItem", emulator.Drop, true, func() { s.takes("lost reply", url, "1", 204) })
		s.work()
		s.ended(id, "1")
	})
	t.Run("without a database nothing is acknowledged", func(t *testing.T) {
		s := newStudio(t)
		id, url := s.render("x")
		for operation, effect := range map[string]emulator.Effect{"GetItem": emulator.Fail, "PutItem": emulator.Fail} {
			s.during(operation, effect, false, func() { s.takes(operation, url, "1", 500) })
		}
		s.during("PutItem", emulator.Throttle, false, func() { s.takes("throttled", url, "1", 429) })
		s.takes("at last", url, "1", 204)
		s.work()
		s.ended(id, "1")
	})
	t.Run("the log has neither token nor path", func(t *testing.T) { // R-V4
		s := newStudio(t)
		_, url := s.render("x")
		s.during("GetItem", emulator.Fail, false, func() { s.takes("failing", url, "1", 500) })
		s.takes("unknown", url+"A", "1", 404)
		s.takes("taken", url, "1", 204)
		s.work()
		token := url[len(publicURL+callback.Path):]
		if log := s.log.String(); !strings.Contains(log, "request failed") || strings.Contains(log, token[:20]) || strings.Contains(log, callback.Path) {
			t.Error(log)
		}
	})
}

// Keys rotate while a callback is out.
func TestCallbackRotation(t *testing.T) {
	s := newStudio(t)
	id, url := s.render("x")
	token := url[len(publicURL+callback.Path):]
	answers := func(keys ...[]byte) int {
		o := s.options
		o.Keys = keys
		rotated, err := server.New(o)
		s.must(err)
		return rotated.Callback(t.Context(), token, strings.NewReader("1")).Status
	}
	got := []int{answers(secret("new")), answers(secret("new"), secret("test"))}
	if !slices.Equal(got, []int{404, 204}) {
		t.Errorf("got %v", got)
	}
	s.work()
	s.ended(id, "1")
}
