package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"toolhost/pkg/apigw"
	"toolhost/pkg/clock"
	"toolhost/pkg/limits"
)

var quiet = slog.New(slog.DiscardHandler)

// through serves requests through a gateway before one function.
func through(t *testing.T, f function) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(&gateway{
		route:   func(*http.Request) (function, string, map[string]string) { return f, "/mcp", nil },
		timeout: time.Minute, clock: clock.System, log: quiet,
	})
	t.Cleanup(s.Close)
	return s
}

func streaming(h http.HandlerFunc) function { return function(apigw.Streaming(h, quiet)) }

func fetch(t *testing.T, r *http.Request) (*http.Response, string) {
	t.Helper()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func post(t *testing.T, url, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestGateway(t *testing.T) {
	t.Run("a function sees a REST proxy event", func(t *testing.T) {
		var event events.APIGatewayProxyRequest
		echo := streaming(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.Copy(w, r.Body)
		})
		s := through(t, func(ctx context.Context, raw json.RawMessage) (*apigw.Answer, error) {
			if err := json.Unmarshal(raw, &event); err != nil {
				t.Error(err)
			}
			return echo(ctx, raw)
		})
		r := post(t, s.URL+"/mcp?a=1&a=2", "hällo")
		r.Header.Add("X-Two", "1")
		r.Header.Add("X-Two", "2")
		response, body := fetch(t, r)
		want(t, "status", response.StatusCode, http.StatusCreated)
		want(t, "body", body, "hällo")
		want(t, "method", event.HTTPMethod, "POST")
		want(t, "resource", event.Resource, "/mcp")
		want(t, "several headers", len(event.MultiValueHeaders["X-Two"]), 2)
		want(t, "last header", event.Headers["X-Two"], "2")
		want(t, "last query value", event.QueryStringParameters["a"], "2")
		want(t, "source", event.RequestContext.Identity.SourceIP, "127.0.0.1")
		want(t, "request id", event.RequestContext.RequestID != "", true)
		want(t, "stage", event.RequestContext.Stage, "v1")
	})
	t.Run("bytes that are no text go as base64", func(t *testing.T) {
		s := through(t, streaming(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
		_, body := fetch(t, post(t, s.URL, "\xff\x00"))
		want(t, "body", body, "\xff\x00")
	})
	t.Run("a body that is cut short reaches no function", func(t *testing.T) {
		s := through(t, streaming(func(http.ResponseWriter, *http.Request) { t.Error("the function was called") }))
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\ncut"); err != nil {
			t.Fatal(err)
		}
		if err := c.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		want(t, "status", response.StatusCode, http.StatusBadRequest)
	})

	// Case 16
	t.Run("the stream is passed on as it is made", func(t *testing.T) {
		second := make(chan struct{})
		s := through(t, streaming(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "one\n")
			<-second
			_, _ = io.WriteString(w, "two\n")
		}))
		response, err := http.DefaultClient.Do(post(t, s.URL, ""))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		lines := bufio.NewReader(response.Body)
		first, _ := lines.ReadString('\n')
		want(t, "first", first, "one\n")
		close(second)
		next, _ := lines.ReadString('\n')
		want(t, "second", next, "two\n")
	})

	// R-H10
	t.Run("a client that hangs up ends the invocation", func(t *testing.T) {
		begun, ended := make(chan struct{}), make(chan error, 1)
		s := through(t, streaming(func(w http.ResponseWriter, r *http.Request) {
			close(begun)
			<-r.Context().Done()
			ended <- r.Context().Err()
		}))
		ctx, hangUp := context.WithCancel(t.Context())
		go func() {
			<-begun
			hangUp()
		}()
		_, err := http.DefaultClient.Do(post(t, s.URL, "").WithContext(ctx))
		want(t, "the client's error", errors.Is(err, context.Canceled), true)
		want(t, "the function's", errors.Is(<-ended, context.Canceled), true)
	})

	// Case 3: what a function can't do behind a REST API.
	t.Run("WWW-Authenticate is renamed", func(t *testing.T) {
		s := through(t, streaming(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		}))
		response, _ := fetch(t, post(t, s.URL, ""))
		want(t, "own name", response.Header.Get("WWW-Authenticate"), "")
		want(t, "new name", response.Header.Get("X-Amzn-Remapped-WWW-Authenticate"), "Bearer")
	})

	t.Run("an answer without a prelude is a bad gateway", func(t *testing.T) {
		s := through(t, function(apigw.Buffered(http.NotFoundHandler(), quiet)))
		response, _ := fetch(t, post(t, s.URL, ""))
		want(t, "status", response.StatusCode, http.StatusBadGateway)
	})
	t.Run("a failed function is a bad gateway", func(t *testing.T) {
		s := through(t, func(context.Context, json.RawMessage) (*apigw.Answer, error) { return nil, errors.New("secret") })
		response, body := fetch(t, post(t, s.URL, ""))
		want(t, "status", response.StatusCode, http.StatusBadGateway)
		want(t, "body", strings.Contains(body, "secret"), false)
	})
	t.Run("a stream that breaks off is not a whole one", func(t *testing.T) {
		s := through(t, streaming(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic("defect")
		}))
		response, err := http.DefaultClient.Do(post(t, s.URL, ""))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		_, err = io.ReadAll(response.Body)
		want(t, "error", err != nil, true)
	})
	t.Run("nothing is routed to a path that is not there", func(t *testing.T) {
		s := httptest.NewServer(&gateway{route: functions{}.route, clock: clock.System, log: quiet})
		defer s.Close()
		response, _ := fetch(t, post(t, s.URL+"/other", ""))
		want(t, "status", response.StatusCode, http.StatusNotFound)
	})
	t.Run("over API Gateway's limit", func(t *testing.T) {
		s := through(t, func(context.Context, json.RawMessage) (*apigw.Answer, error) { panic("invoked") })
		response, body := fetch(t, post(t, s.URL, strings.Repeat("x", maxRequest+1)))
		want(t, "status", response.StatusCode, http.StatusRequestEntityTooLarge)
		want(t, "the limit is named", strings.Contains(body, strconv.Itoa(limits.MaxBody)), true)
	})
}
