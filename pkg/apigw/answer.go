package apigw

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"

	"toolhost/pkg/jsonrpc"
)

// StreamType is the content type of a streaming answer: a JSON prelude, eight
// NUL bytes, then the body.
const StreamType = "application/vnd.awslambda.http-integration-response"

// maxBuffered is the largest answer that Lambda returns in one piece.
const maxBuffered = 6 << 20

// Handler is a Lambda function: an event in, an answer out. The error is always
// nil; what goes wrong is an HTTP status.
type Handler func(ctx context.Context, event json.RawMessage) (*Answer, error)

// Answer is what the function hands to Lambda, as bytes. It must be closed.
type Answer struct {
	io.Reader
	contentType string
	close       func()
}

// ContentType is StreamType, or application/json for a buffered answer.
func (a *Answer) ContentType() string { return a.contentType }

// Close ends the request if its handler still runs, and returns when it has ended.
func (a *Answer) Close() error {
	if a.close != nil {
		a.close()
	}
	return nil
}

// MarshalJSON always fails: that makes aws-lambda-go send the answer's bytes.
func (a *Answer) MarshalJSON() ([]byte, error) {
	return nil, errors.New("apigw: an answer is read, not marshalled")
}

// Buffered answers each event in one piece, once the handler has returned.
func Buffered(h http.Handler, log *slog.Logger) Handler {
	return func(ctx context.Context, raw json.RawMessage) (*Answer, error) {
		w := &buffer{header: http.Header{}}
		e, r, err := decode(ctx, raw)
		if err != nil {
			w.fail(http.StatusBadRequest, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%v", err))
		} else {
			serve(h, w, r, log)
		}
		out := w.answer(e.v2())
		if len(out) > maxBuffered {
			w = &buffer{header: http.Header{}}
			w.fail(http.StatusInternalServerError, jsonrpc.Errorf(jsonrpc.CodeInternal,
				"the response of %d bytes is over the %d that Lambda returns without response streaming", len(out), maxBuffered))
			out = w.answer(e.v2())
		}
		return &Answer{Reader: bytes.NewReader(out), contentType: "application/json"}, nil
	}
}

// Streaming answers each event as a stream whose bytes are readable as the
// handler writes them. It returns when the handler has decided on status and
// headers: with its first Write or Flush, or at its end.
func Streaming(h http.Handler, log *slog.Logger) Handler {
	return func(ctx context.Context, raw json.RawMessage) (*Answer, error) {
		ctx, cancel := context.WithCancel(ctx)
		pr, pw := io.Pipe()
		w := &stream{header: http.Header{}, body: pw, ready: make(chan http.Header, 1)}
		done := make(chan struct{})
		e, r, err := decode(ctx, raw)
		go func() {
			defer close(done)
			if err != nil {
				w.fail(http.StatusBadRequest, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%v", err))
			} else {
				serve(h, w, r, log)
			}
			w.WriteHeader(http.StatusOK)
			pw.CloseWithError(w.broken)
		}()
		head := <-w.ready
		return &Answer{
			Reader:      io.MultiReader(bytes.NewReader(prelude(w.status, head, e.v2())), pr),
			contentType: StreamType,
			close: func() {
				cancel()
				pr.Close()
				<-done
			},
		}, nil
	}
}

// serve runs the handler. A panic is logged with its stack, and answered with
// -32603 and the request's id (R-V4).
func serve(h http.Handler, w writer, r *http.Request, log *slog.Logger) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		origin, _ := From(r.Context())
		log.ErrorContext(r.Context(), "the HTTP handler panicked",
			"reference", origin.RequestID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		e := jsonrpc.Errorf(jsonrpc.CodeInternal, "internal error")
		e.Data, _ = json.Marshal(map[string]string{"reference": origin.RequestID})
		w.fail(http.StatusInternalServerError, e)
	}()
	h.ServeHTTP(w, r)
}
