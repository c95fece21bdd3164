package apigw

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"

	"toolhost/pkg/jsonrpc"
)

// writer is an http.ResponseWriter that can take back what it may.
type writer interface {
	http.ResponseWriter
	// fail makes the response an error, or breaks it off if it has begun.
	fail(status int, e *jsonrpc.Error)
}

// frames are headers that describe a connection; the gateway makes its own.
var frames = []string{"Connection", "Content-Length", "Keep-Alive", "Transfer-Encoding", "Trailer", "Upgrade"}

// snapshot is the headers as they are when the status is written.
func snapshot(h http.Header) http.Header {
	h = maps.Clone(h)
	for _, k := range frames {
		delete(h, k)
	}
	return h
}

// buffer keeps a whole response.
type buffer struct {
	header, sent http.Header
	status       int
	body         bytes.Buffer
}

func (w *buffer) Header() http.Header { return w.header }

func (w *buffer) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status, w.sent = status, snapshot(w.header)
	}
}

func (w *buffer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *buffer) fail(status int, e *jsonrpc.Error) {
	*w = buffer{header: http.Header{"Content-Type": {"application/json"}}}
	w.WriteHeader(status)
	w.body.Write(jsonrpc.Failure(nil, e))
}

// answer is the whole answer in the event's own format.
func (w *buffer) answer(v2 bool) []byte {
	body, isBase64 := w.body.String(), false
	if !utf8.ValidString(body) {
		body, isBase64 = base64.StdEncoding.EncodeToString(w.body.Bytes()), true
	}
	w.WriteHeader(http.StatusOK)
	if v2 {
		one, cookies := joined(w.sent)
		return jsonrpc.Encode(events.LambdaFunctionURLResponse{StatusCode: w.status, Headers: one, Body: body, IsBase64Encoded: isBase64, Cookies: cookies})
	}
	one, several, cookies := split(w.sent)
	if len(cookies) > 0 {
		several["Set-Cookie"] = cookies
	}
	return jsonrpc.Encode(events.APIGatewayProxyResponse{StatusCode: w.status, Headers: one, MultiValueHeaders: several, Body: body, IsBase64Encoded: isBase64})
}

// stream hands a response on as it is written.
type stream struct {
	header http.Header
	status int
	ready  chan http.Header // receives once, when the status is decided
	body   *io.PipeWriter
	broken error
}

func (w *stream) Header() http.Header { return w.header }

func (w *stream) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
		w.ready <- snapshot(w.header)
	}
}

// Write returns when the bytes have been read.
func (w *stream) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush sends the headers; the body is never held back.
func (w *stream) Flush() { w.WriteHeader(http.StatusOK) }

func (w *stream) fail(status int, e *jsonrpc.Error) {
	if w.status != 0 {
		w.broken = errors.New("the response was broken off: " + e.Message)
		return
	}
	w.header = http.Header{"Content-Type": {"application/json"}}
	w.WriteHeader(status)
	w.body.Write(jsonrpc.Failure(nil, e))
}
