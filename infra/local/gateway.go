package local

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/uuid"

	"toolhost/pkg/apigw"
	"toolhost/pkg/clock"
	"toolhost/pkg/limits"
)

const (
	// maxRequest is the largest request that API Gateway takes.
	maxRequest = 10 << 20
	// maxPrelude bounds the head of a streaming answer.
	maxPrelude = 64 << 10
)

// A function is a Lambda function as the gateway sees it: JSON in, bytes out.
type function func(ctx context.Context, event json.RawMessage) (*apigw.Answer, error)

// gateway imitates a REST API behind a custom domain: it hands each request to
// a function as proxy event JSON, in streaming mode, and passes the stream on.
// As API Gateway does, it renames the function's WWW-Authenticate, and answers
// 502 to a function whose answer has no prelude.
type gateway struct {
	// route finds the function and the resource of a request; nil if there is none.
	route func(*http.Request) (f function, resource string, parameters map[string]string)
	// authorizer is asked about requests to /mcp but preflights; nil lets all through.
	authorizer *authorizer
	timeout    time.Duration
	clock      clock.Clock
	log        *slog.Logger
}

// ServeHTTP implements http.Handler.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, resource, parameters := g.route(r)
	if f == nil { // MISSING_AUTHENTICATION_TOKEN, which is what API Gateway calls it
		deny(w, http.StatusNotFound, "", "nothing is here; the MCP endpoint is /mcp")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			deny(w, http.StatusRequestEntityTooLarge, "", fmt.Sprintf("the request body is larger than %d bytes", limits.MaxBody))
		} else {
			deny(w, http.StatusBadRequest, "", "the gateway refuses the request") // cut short; perhaps the client has gone
		}
		return
	}
	event := g.event(r, resource, parameters, body)
	if g.authorizer != nil && resource == "/mcp" && r.Method != http.MethodOptions && !g.authorizer.admit(r.Context(), w, &event) {
		return
	}
	raw, err := json.Marshal(event)
	if err != nil {
		panic(err) // strings, ints and maps of them
	}

	// The client's end ends the invocation.
	ctx, cancel := context.WithTimeout(r.Context(), g.timeout)
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: uuid.NewString()})
	answer, err := f(ctx, raw)
	if err != nil {
		g.log.Error("the function failed", "error", err)
		deny(w, http.StatusBadGateway, "", "internal error")
		return
	}
	defer answer.Close()
	if err := pass(w, answer); err != nil && r.Context().Err() == nil {
		g.log.Error("the function's answer was not passed on", "requestId", event.RequestContext.RequestID, "error", err)
	}
}

// event is a request as API Gateway hands it to a function.
func (g *gateway) event(r *http.Request, resource string, parameters map[string]string, body []byte) events.APIGatewayProxyRequest {
	ip, port, _ := net.SplitHostPort(r.RemoteAddr)
	now := g.clock.Now()
	header := r.Header.Clone()
	header.Set("Host", r.Host)
	header.Set("X-Forwarded-For", ip)
	header.Set("X-Forwarded-Port", port)
	header.Set("X-Forwarded-Proto", "http")
	e := events.APIGatewayProxyRequest{
		Resource:                        resource,
		Path:                            r.URL.EscapedPath(),
		HTTPMethod:                      r.Method,
		Headers:                         lasts(header),
		MultiValueHeaders:               header,
		QueryStringParameters:           lasts(r.URL.Query()),
		MultiValueQueryStringParameters: r.URL.Query(),
		PathParameters:                  parameters,
		RequestContext: events.APIGatewayProxyRequestContext{
			AccountID:        account,
			APIID:            "local",
			Stage:            stage,
			DomainName:       r.Host,
			RequestID:        uuid.NewString(),
			Protocol:         r.Proto,
			ResourcePath:     resource,
			Path:             r.URL.EscapedPath(),
			HTTPMethod:       r.Method,
			RequestTime:      now.UTC().Format("02/Jan/2006:15:04:05 -0700"),
			RequestTimeEpoch: now.UnixMilli(),
			Identity:         events.APIGatewayRequestIdentity{SourceIP: ip, UserAgent: r.UserAgent()},
		},
		Body: string(body),
	}
	if !utf8.Valid(body) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return e
}

// lasts are the last values, which are all that the single-value members hold.
func lasts(many map[string][]string) map[string]string {
	one := make(map[string]string, len(many))
	for k, v := range many {
		one[k] = v[len(v)-1]
	}
	return one
}

// pass hands a streaming answer to the client as it is made. An error in its
// middle cuts the connection.
func pass(w http.ResponseWriter, answer *apigw.Answer) error {
	in := bufio.NewReaderSize(answer, maxPrelude)
	head, err := prelude(in, answer.ContentType())
	if err != nil {
		deny(w, http.StatusBadGateway, "", "internal error")
		return err
	}
	for k, v := range head.MultiValueHeaders {
		w.Header()[http.CanonicalHeaderKey(k)] = v
	}
	for k, v := range head.Headers {
		w.Header().Set(k, v)
	}
	for _, c := range head.Cookies {
		w.Header().Add("Set-Cookie", c)
	}
	if v := w.Header().Values("WWW-Authenticate"); v != nil {
		w.Header()["X-Amzn-Remapped-Www-Authenticate"] = v
		w.Header().Del("WWW-Authenticate")
	}
	w.WriteHeader(head.StatusCode)
	out := http.NewResponseController(w)
	if err := out.Flush(); err != nil {
		return err
	}
	piece := make([]byte, 32<<10)
	for {
		n, err := in.Read(piece)
		if _, err := w.Write(piece[:n]); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// head is the prelude of a streaming answer.
type head struct {
	StatusCode        int                 `json:"statusCode"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Cookies           []string            `json:"cookies"`
}

func prelude(in *bufio.Reader, contentType string) (head, error) {
	var h head
	if contentType != apigw.StreamType {
		return h, fmt.Errorf("an answer of type %q has no prelude", contentType)
	}
	end := make([]byte, 8)
	var text []byte
	for !bytes.HasSuffix(text, end) {
		b, err := in.ReadByte()
		if err != nil {
			return h, fmt.Errorf("the answer ends within its prelude: %w", err)
		}
		if text = append(text, b); len(text) > maxPrelude {
			return h, fmt.Errorf("the prelude is over %d bytes", maxPrelude)
		}
	}
	if err := json.Unmarshal(bytes.TrimSuffix(text, end), &h); err != nil {
		return h, fmt.Errorf("the prelude is not understood: %w", err)
	}
	if h.StatusCode < 200 || h.StatusCode > 599 {
		return h, fmt.Errorf("the prelude's status is %d", h.StatusCode)
	}
	return h, nil
}
