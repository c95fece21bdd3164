package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"toolhost/infra/conformance/fixtures"
	"toolhost/infra/local"
	"toolhost/pkg/client"
	"toolhost/pkg/clock"
)

// serve starts the real stack with the conformance fixtures.
func serve(t *testing.T, c clock.Clock) string {
	t.Helper()
	s, err := local.Start(context.Background(), local.Options{Registry: fixtures.Registry(), Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL
}

// hasty is a clock on which waits are fifty times as short, so that a server's
// poll interval does not slow a test down.
type hasty struct{}

func (hasty) Now() time.Time { return time.Now() }

func (hasty) After(d time.Duration) (<-chan time.Time, func()) { return clock.System.After(d / 50) }

// answers is an Answerer that gives each key its content and records what it was asked.
type answers struct {
	content map[string]string
	mu      sync.Mutex
	asked   []string
}

func (a *answers) answer(_ context.Context, q client.Question) (json.RawMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, q.Key)
	content, ok := a.content[q.Key]
	if !ok {
		return nil, fmt.Errorf("no answer to %s", q.Key)
	}
	return json.RawMessage(`{"action":"accept","content":` + content + `}`), nil
}

// text is the text of a result.
func text(t *testing.T, result json.RawMessage) string {
	t.Helper()
	var r struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(result, &r); err != nil || len(r.Content) == 0 {
		t.Fatalf("%s: %v", result, err)
	}
	return r.Content[0].Text
}

// exchange is a request as a scripted server saw it.
type exchange struct {
	header http.Header
	body   struct {
		ID     json.RawMessage
		Method string
		Params map[string]json.RawMessage
	}
	at time.Time
}

// reply answers a request; $ID in its body is the request's id.
type reply struct {
	status int // 0 is 200
	header map[string]string
	body   string
	err    error
	hang   bool
}

func result(json string) reply {
	return reply{body: `{"jsonrpc":"2.0","id":$ID,"result":` + json + `}`}
}

// script is a server that does what no right server does, without a network: the
// replies in their order, the last one for ever.
type script struct {
	mu      sync.Mutex
	replies []reply
	seen    []exchange
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchange{header: r.Header, at: time.Now()}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &x.body); err != nil && r.Method == http.MethodPost {
		return nil, err
	}
	s.mu.Lock()
	next := s.replies[min(len(s.seen), len(s.replies)-1)]
	s.seen = append(s.seen, x)
	s.mu.Unlock()
	if next.hang {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if next.err != nil {
		return nil, next.err
	}
	return next.answer(r, string(x.body.ID)), nil
}

// answer is the response to the request with the id.
func (next reply) answer(r *http.Request, id string) *http.Response {
	resp := &http.Response{StatusCode: max(next.status, 200), Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	resp.Status = fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	for k, v := range next.header {
		resp.Header.Set(k, v)
	}
	resp.Body = io.NopCloser(strings.NewReader(strings.ReplaceAll(next.body, "$ID", id)))
	return resp
}

// scripted is a client of a scripted server, which it does not listen to.
func scripted(o client.Options, replies ...reply) (*client.Client, *script) {
	o.Poll = true
	return listening(o, replies...)
}

// listening is one that listens where it can.
func listening(o client.Options, replies ...reply) (*client.Client, *script) {
	s := &script{replies: replies}
	o.HTTP = &http.Client{Transport: s, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.New("http://script.example/mcp", o), s
}

// readAll reads a body and puts it back.
func readAll(body *io.ReadCloser) []byte {
	raw, err := io.ReadAll(*body)
	if err != nil {
		panic(err)
	}
	*body = io.NopCloser(bytes.NewReader(raw))
	return raw
}
