package apigw

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"

	"toolhost/pkg/jsonrpc"
)

var quiet = slog.New(slog.DiscardHandler)

// both are the two ways to answer with one handler.
func both(h http.Handler) map[string]Handler {
	return map[string]Handler{"buffered": Buffered(h, quiet), "streaming": Streaming(h, quiet)}
}

// response is an answer as the gateway would understand it.
type response struct {
	Status   int                 `json:"statusCode"`
	Headers  map[string]string   `json:"headers"`
	Multi    map[string][]string `json:"multiValueHeaders"`
	Cookies  []string            `json:"cookies"`
	Body     string              `json:"body"`
	IsBase64 bool                `json:"isBase64Encoded"`
}

// read parses an answer of either kind to its end.
func read(t testing.TB, a *Answer) response {
	t.Helper()
	defer a.Close()
	all, err := io.ReadAll(a)
	if err != nil {
		t.Fatal(err)
	}
	var out response
	head, body, stream := bytes.Cut(all, make([]byte, 8))
	if stream != (a.ContentType() == StreamType) {
		t.Fatalf("content type %s, prelude %v", a.ContentType(), stream)
	}
	if err := json.Unmarshal(head, &out); err != nil {
		t.Fatalf("%v in %q", err, head)
	}
	switch {
	case stream:
		out.Body = string(body)
	case out.IsBase64:
		b, err := base64.StdEncoding.DecodeString(out.Body)
		if err != nil {
			t.Fatal(err)
		}
		out.Body = string(b)
	}
	return out
}

func invoke(t *testing.T, h Handler, raw json.RawMessage) response {
	t.Helper()
	a, err := h(context.Background(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, a)
}

// errorOf is the JSON-RPC error in a response's body.
func errorOf(t *testing.T, r response) jsonrpc.Error {
	t.Helper()
	var body map[string]json.RawMessage
	var e jsonrpc.Error
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatalf("%v in %q", err, r.Body)
	}
	if _, has := body["id"]; has {
		t.Error("an id that was never read")
	}
	if err := json.Unmarshal(body["error"], &e); err != nil {
		t.Fatal(err)
	}
	want(t, "content type", r.Headers["Content-Type"], "application/json")
	return e
}

func TestAnswer(t *testing.T) {
	rest := sample(t, "rest.json", nil)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["X-Two"] = []string{"1", "2"}
		w.Header().Set("Content-Length", "999")
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2"})
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "1")
		_, _ = io.WriteString(w, "<ä>\x00")
	})
	for name, f := range both(h) {
		t.Run(name, func(t *testing.T) {
			got := invoke(t, f, rest)
			want(t, "status", got.Status, http.StatusTeapot)
			want(t, "body", got.Body, "<ä>\x00")
			want(t, "two values", got.Multi["X-Two"], []string{"1", "2"})
			want(t, "a header after the status", got.Headers["X-Late"], "")
			want(t, "the connection's own headers", got.Headers["Content-Length"], "")
			cookies := got.Cookies
			if name == "buffered" {
				cookies = got.Multi["Set-Cookie"]
			}
			want(t, "cookies", cookies, []string{"a=1", "b=2"})

			got = invoke(t, f, sample(t, "url.json", nil))
			want(t, "function URL: joined", got.Headers["X-Two"], "1,2")
			want(t, "function URL: cookies", got.Cookies, []string{"a=1", "b=2"})
			want(t, "function URL: no multi-value headers", got.Multi == nil, true)
		})
	}
	t.Run("bytes that are no text", func(t *testing.T) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte{0xff, 0xfe}) })
		got := invoke(t, Buffered(h, quiet), rest)
		want(t, "base64", got.IsBase64, true)
		want(t, "body", got.Body, "\xff\xfe")
	})
	t.Run("a handler that does nothing", func(t *testing.T) {
		for _, f := range both(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) {
			want(t, "status", invoke(t, f, rest).Status, http.StatusOK)
		}
	})
	t.Run("buffered is not a Flusher", func(t *testing.T) {
		for name, f := range both(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, ok := w.(http.Flusher); ok {
				w.WriteHeader(http.StatusAccepted)
			}
		})) {
			want(t, name, invoke(t, f, rest).Status == http.StatusAccepted, name == "streaming")
		}
	})
	t.Run("over Lambda's limit", func(t *testing.T) {
		big := strings.Repeat(`"`, 4<<20)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, big) })
		got := invoke(t, Buffered(h, quiet), rest)
		want(t, "status", got.Status, http.StatusInternalServerError)
		e := errorOf(t, got)
		want(t, "code", e.Code, jsonrpc.CodeInternal)
		want(t, "names the limit", strings.Contains(e.Message, "6291456"), true)
		want(t, "streaming has no such limit", len(invoke(t, Streaming(h, quiet), rest).Body), len(big))
	})
}

var broken = map[string]map[string]any{
	"no method":      {"httpMethod": ""},
	"bad method":     {"httpMethod": "P ST"},
	"no path":        {"path": ""},
	"relative path":  {"path": "mcp"},
	"bad base64":     {"isBase64Encoded": true, "body": "%%%"},
	"body no string": {"body": 7},
	"headers a list": {"headers": []int{1}},
	"context a list": {"requestContext": []int{1}},
}

func TestBrokenEvent(t *testing.T) {
	never := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") })
	for name, changes := range broken {
		for mode, f := range both(never) {
			t.Run(name+"/"+mode, func(t *testing.T) {
				got := invoke(t, f, sample(t, "rest.json", changes))
				want(t, "status", got.Status, http.StatusBadRequest)
				want(t, "code", errorOf(t, got).Code, jsonrpc.CodeInvalidRequest)
			})
		}
	}
	for _, raw := range []string{"", "null", "[]", "7", `{"version":"2.0"}`, `{"httpMethod":`} {
		for mode, f := range both(never) {
			t.Run(raw+"/"+mode, func(t *testing.T) {
				want(t, "status", invoke(t, f, json.RawMessage(raw)).Status, http.StatusBadRequest)
			})
		}
	}
}

// R-V4: a reference, never a stack.
func TestPanic(t *testing.T) {
	rest := sample(t, "rest.json", nil)
	for mode, f := range both(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Secret", "1")
		panic("secret table name")
	})) {
		t.Run(mode, func(t *testing.T) {
			got := invoke(t, f, rest)
			want(t, "status", got.Status, http.StatusInternalServerError)
			want(t, "headers", got.Headers["X-Secret"], "")
			e := errorOf(t, got)
			want(t, "code", e.Code, jsonrpc.CodeInternal)
			want(t, "data", string(e.Data), `{"reference":"0f2b3c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d"}`)
			want(t, "nothing internal", strings.Contains(got.Body, "secret"), false)
		})
	}
	late := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic("secret table name")
	})
	t.Run("buffered/late", func(t *testing.T) {
		got := invoke(t, Buffered(late, quiet), rest)
		want(t, "status", got.Status, http.StatusInternalServerError)
		want(t, "code", errorOf(t, got).Code, jsonrpc.CodeInternal)
	})
	t.Run("streaming/late breaks the stream off", func(t *testing.T) {
		a, _ := Streaming(late, quiet)(context.Background(), rest)
		defer a.Close()
		all, err := io.ReadAll(a)
		want(t, "error", err != nil && !strings.Contains(err.Error(), "secret"), true)
		want(t, "what was sent", strings.HasSuffix(string(all), "half"), true)
	})
}

func TestStreaming(t *testing.T) {
	rest := sample(t, "rest.json", nil)

	// Case 16: the first event arrives before the second is made.
	t.Run("bytes are readable as they are made", func(t *testing.T) {
		second := make(chan struct{})
		a, _ := Streaming(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
			<-second
			_, _ = io.WriteString(w, "data: 2\n\n")
		}), quiet)(context.Background(), rest)
		defer a.Close()
		var got bytes.Buffer
		for !strings.HasSuffix(got.String(), "data: 1\n\n") {
			if _, err := io.CopyN(&got, a, 1); err != nil {
				t.Fatal(err)
			}
		}
		head, body, _ := bytes.Cut(got.Bytes(), make([]byte, 8))
		want(t, "prelude", string(head), `{"statusCode":200,"headers":{"Content-Type":"text/event-stream"}}`)
		want(t, "body", string(body), "data: 1\n\n")
		close(second)
		rest, err := io.ReadAll(a)
		want(t, "the rest", string(rest), "data: 2\n\n")
		want(t, "error", err, nil)
	})

	t.Run("headers can go before the body", func(t *testing.T) {
		second := make(chan struct{})
		a, _ := Streaming(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-second
		}), quiet)(context.Background(), rest)
		head := make([]byte, len(`{"statusCode":200,"headers":{}}`)+8)
		_, err := io.ReadFull(a, head)
		want(t, "error", err, nil)
		close(second)
		a.Close()
	})

	// Case 22: nothing is left in a goroutine of the answering function.
	t.Run("the end of the stream is the end of the handler", func(t *testing.T) {
		ended := false
		a, _ := Streaming(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() { ended = true }()
			_, _ = io.WriteString(w, "x")
		}), quiet)(context.Background(), rest)
		_, _ = io.ReadAll(a)
		want(t, "ended", ended, true)
		a.Close()
	})

	// R-H10
	t.Run("closing ends the request and waits for it", func(t *testing.T) {
		var cause, write error
		a, _ := Streaming(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			cause = r.Context().Err()
			_, write = io.WriteString(w, "too late")
		}), quiet)(context.Background(), rest)
		a.Close()
		a.Close()
		want(t, "context", errors.Is(cause, context.Canceled), true)
		want(t, "write", errors.Is(write, io.ErrClosedPipe), true)
	})

	t.Run("the invocation's context reaches the handler", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		a, _ := Streaming(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}), quiet)(ctx, rest)
		cancel()
		_, err := io.ReadAll(a)
		want(t, "error", err, nil)
		a.Close()
	})
}

// aws-lambda-go must take the answer's bytes for what they are.
func TestLambda(t *testing.T) {
	for mode, f := range both(http.HandlerFunc(echo)) {
		t.Run(mode, func(t *testing.T) {
			out, err := lambda.NewHandler(f).Invoke(context.Background(), sample(t, "url.json", nil))
			if err != nil {
				t.Fatal(err)
			}
			direct, _ := f(context.Background(), sample(t, "url.json", nil))
			all, _ := io.ReadAll(direct)
			direct.Close()
			want(t, "bytes", string(out), string(all))
		})
	}
}
