package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"toolhost/pkg/protocol"
)

// listening is an open subscriptions/listen. Each frame has been held to the
// schemas, and to the id of the request.
type listening struct {
	h      *host
	caller string
	// frames is closed when the stream has ended; a comment is one without a method.
	frames chan frame
	hangUp func()
}

type frame struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (f frame) comment() bool { return f.Method == "" && f.Result == nil && f.Error == nil }

// asleep is how many wait for the clock while one client listens: for its next
// look, for the end, and to keep the stream alive.
const asleep = 3

// listenBody is the request under an id of its own kind.
func listenBody(id string, tasks []string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":{"taskIds":%s},"_meta":{%q:%q,%q:%s,"progressToken":"p"}}}`,
		id, must(json.Marshal(tasks)), protocol.MetaProtocolVersion, protocol.Revision20260728, protocol.MetaClientCapabilities, everything)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// listen opens a stream; id is the request's, as JSON.
func (h *host) listen(caller, id string, tasks ...string) *listening {
	h.t.Helper()
	body := listenBody(id, tasks)
	ctx, hangUp := context.WithCancel(h.t.Context())
	r := must(http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/mcp", bytes.NewReader(body)))
	r.Header = mirror(body)
	r.Header.Set("Test-Caller", caller)
	response, err := http.DefaultClient.Do(r)
	h.must(err)
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" || response.Header.Get("X-Accel-Buffering") != "no" { // R-L7
		h.t.Fatalf("the stream's headers are %v", response.Header)
	}
	l := &listening{h: h, caller: caller, frames: make(chan frame, 1000), hangUp: hangUp}
	h.t.Cleanup(hangUp)
	go func() {
		defer close(l.frames)
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), ":") {
				l.frames <- frame{}
			}
			data, isData := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			if !isData {
				continue
			}
			var f frame
			if err := json.Unmarshal(data, &f); err != nil {
				h.t.Errorf("a frame that is not JSON: %s", data)
			}
			if f.Error == nil && !bytes.Contains(data, []byte(`"io.modelcontextprotocol/subscriptionId":`+id+`}`)) { // R-L2
				h.t.Errorf("a frame without its subscription's id: %s", data)
			}
			if f.Method != "" {
				checkNotification(h.t, slices.Clone(data))
			} else {
				checkSchemas(h.t, body, slices.Clone(data))
			}
			l.frames <- f
		}
	}()
	return l
}

// next is the stream's next frame that is no comment.
func (l *listening) next() frame {
	l.h.t.Helper()
	for {
		select {
		case f, open := <-l.frames:
			if !open {
				l.h.t.Fatal("the stream has ended")
			}
			if !f.comment() {
				return f
			}
		case <-time.After(10 * time.Second):
			l.h.t.Fatal("no frame came")
		}
	}
}

// acknowledges expects the acknowledgement of exactly the tasks.
func (l *listening) acknowledges(tasks ...string) {
	l.h.t.Helper()
	var got protocol.AcknowledgedParams
	f := l.next()
	l.h.must(json.Unmarshal(f.Params, &got))
	if f.Method != protocol.NotificationAcknowledged || !slices.Equal(got.Notifications.TaskIDs, tasks) {
		l.h.t.Fatalf("acknowledged by %s %v, want %v", f.Method, got.Notifications.TaskIDs, tasks)
	}
}

// tells expects one notification for each of the tasks, in any order, and each
// to be what tasks/get shows now (R-L1). It returns the statuses.
func (l *listening) tells(tasks ...string) map[string]string {
	l.h.t.Helper()
	statuses := map[string]string{}
	for range tasks {
		f := l.next()
		var told map[string]any
		l.h.must(json.Unmarshal(f.Params, &told))
		id, _ := told["taskId"].(string)
		if f.Method != protocol.NotificationTasks || !slices.Contains(tasks, id) || statuses[id] != "" {
			l.h.t.Fatalf("got %s %s, want one of %d tasks", f.Method, f.Params, len(tasks))
		}
		var got map[string]any
		l.h.must(json.Unmarshal(l.h.call(l.caller, "tasks/get", map[string]any{"taskId": id}).Result, &got))
		for _, shown := range []map[string]any{got, told} {
			delete(shown, "_meta")
			delete(shown, "resultType")
		}
		if !reflect.DeepEqual(told, got) {
			l.h.t.Errorf("told %v, while tasks/get shows %v", told, got)
		}
		statuses[id], _ = told["status"].(string)
	}
	return statuses
}

// ends expects the result, and nothing after it.
func (l *listening) ends() {
	l.h.t.Helper()
	if f := l.next(); f.Result == nil || !bytes.Contains(f.Result, []byte(`"resultType":"complete"`)) { // R-L3, R-P7
		l.h.t.Fatalf("got %+v, want the result", f)
	}
	for f := range l.frames { // a comment that was on its way is nothing
		if !f.comment() {
			l.h.t.Fatalf("%+v after the result", f)
		}
	}
}

// settled waits until n wait for the clock: all that a move of it began is over.
func (h *host) settled(n int) {
	h.t.Helper()
	for limit := time.Now().Add(10 * time.Second); h.clock.Waiting() != n; runtime.Gosched() {
		if time.Now().After(limit) {
			h.t.Fatalf("%d wait for the clock, want %d", h.clock.Waiting(), n)
		}
	}
}

// after moves the clock while n listen, and waits until they have told all.
func (h *host) after(d time.Duration, n int) {
	h.t.Helper()
	h.settled(n * asleep)
	h.clock.Advance(d)
	h.settled(n * asleep)
}

// startTask makes a task of the tool.
func (h *host) startTask(caller, tool string, arguments map[string]any) string {
	h.t.Helper()
	params := map[string]any{"name": tool}
	if arguments != nil {
		params["arguments"] = arguments
	}
	a := h.call(caller, "tools/call", params)
	if a.field("taskId") == "" {
		h.t.Fatalf("no task: %s", a.Body)
	}
	return a.field("taskId")
}

func (h *host) answerName(caller, id string) {
	h.t.Helper()
	a := h.call(caller, "tasks/update", map[string]any{"taskId": id, "inputResponses": map[string]any{
		"name": map[string]any{"action": "accept", "content": map[string]any{"name": "Ada"}}}})
	if a.code() != 0 {
		h.t.Fatalf("not answered: %s", a.Body)
	}
}

// quiet expects that nothing but comments came.
func (l *listening) quiet() {
	l.h.t.Helper()
	for len(l.frames) > 0 {
		if f := <-l.frames; !f.comment() {
			l.h.t.Fatalf("%s %s%s%s", f.Method, f.Params, f.Result, f.Error)
		}
	}
}
