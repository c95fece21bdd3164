package apigw

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// event is what both payload formats hold of a request.
type event struct {
	// Payload 1.0, REST proxy.
	HTTPMethod            string              `json:"httpMethod"`
	Resource              string              `json:"resource"`
	Path                  string              `json:"path"`
	PathParameters        map[string]string   `json:"pathParameters"`
	MultiValueHeaders     map[string][]string `json:"multiValueHeaders"`
	QueryParameters       map[string]string   `json:"queryStringParameters"`
	MultiValueQueryValues map[string][]string `json:"multiValueQueryStringParameters"`

	// Payload 2.0, function URL.
	Version        string   `json:"version"`
	RawPath        string   `json:"rawPath"`
	RawQueryString string   `json:"rawQueryString"`
	Cookies        []string `json:"cookies"`

	// Both.
	Headers         map[string]string `json:"headers"`
	Body            string            `json:"body"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
	RequestContext  struct {
		RequestID  string         `json:"requestId"`
		Stage      string         `json:"stage"`
		DomainName string         `json:"domainName"`
		Path       string         `json:"path"`
		Authorizer map[string]any `json:"authorizer"`
		Identity   struct {
			SourceIP  string `json:"sourceIp"`
			AccountID string `json:"accountId"`
			Caller    string `json:"caller"`
		} `json:"identity"`
		HTTP struct {
			Method   string `json:"method"`
			SourceIP string `json:"sourceIp"`
		} `json:"http"`
	} `json:"requestContext"`
}

// v2 says which of the two formats the event has, and so which its answer needs.
func (e *event) v2() bool { return e.Version == "2.0" }

// Origin is what the gateway knows of a request beyond HTTP.
type Origin struct {
	// RequestID is the gateway's id of the request.
	RequestID string
	// Domain is the host name that was called.
	Domain string
	// Prefix is the part of the public path before the routed one: "/v1" for a
	// stage, "/base" for a custom domain's base path, or "".
	Prefix string
	// Authorizer is the context that the authorizer returned, or nil.
	Authorizer map[string]any
	// Account and Caller are those of whoever signed the request with AWS's
	// credentials, as IAM found them; "" if nobody did. Caller is the unique id of a
	// user, or of a role followed by a colon and the session's name.
	Account, Caller string
}

type originKey struct{}

// From returns the origin of a request that came through this package.
func From(ctx context.Context) (Origin, bool) {
	o, ok := ctx.Value(originKey{}).(Origin)
	return o, ok
}

// Authorizer returns what the authorizer said of the caller, or nil.
func Authorizer(ctx context.Context) map[string]any {
	o, _ := From(ctx)
	return o.Authorizer
}

// decode reads an event. The event comes back with an error, too, as far as it
// was understood: an answer has to be in its format.
func decode(ctx context.Context, raw json.RawMessage) (*event, *http.Request, error) {
	e := &event{}
	if err := json.Unmarshal(raw, e); err != nil {
		return e, nil, fmt.Errorf("the gateway's event is not understood: %w", err)
	}
	method, path, ip := e.HTTPMethod, e.Path, e.RequestContext.Identity.SourceIP
	if e.v2() {
		method, path, ip = e.RequestContext.HTTP.Method, e.RawPath, e.RequestContext.HTTP.SourceIP
	}
	if method == "" || !strings.HasPrefix(path, "/") {
		return e, nil, fmt.Errorf("the gateway's event has no method or no path")
	}
	body, err := e.body()
	if err != nil {
		return e, nil, err
	}

	public := path
	if !e.v2() {
		if path = routed(e); e.RequestContext.Path != "" {
			public = e.RequestContext.Path
		}
	}
	prefix, ok := strings.CutSuffix(public, path)
	if !ok {
		prefix = ""
	}
	origin := Origin{
		RequestID:  e.RequestContext.RequestID,
		Domain:     e.RequestContext.DomainName,
		Prefix:     prefix,
		Authorizer: e.RequestContext.Authorizer,
		Account:    e.RequestContext.Identity.AccountID,
		Caller:     e.RequestContext.Identity.Caller,
	}
	if iam, signed := origin.Authorizer["iam"].(map[string]any); signed && e.v2() {
		origin.Account, _ = iam["accountId"].(string)
		origin.Caller, _ = iam["callerId"].(string)
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, originKey{}, origin), method, "/", body)
	if err != nil {
		return e, nil, fmt.Errorf("the gateway's event: %w", err)
	}
	r.URL = &url.URL{Path: path, RawQuery: e.query()}
	if plain, err := url.PathUnescape(path); err == nil {
		r.URL.Path, r.URL.RawPath = plain, path
	}
	r.RequestURI = r.URL.RequestURI()
	r.Header = e.header()
	if r.Host = r.Header.Get("Host"); r.Host == "" {
		r.Host = origin.Domain
	}
	r.Header.Del("Host")
	r.RemoteAddr = net.JoinHostPort(ip, "0")
	return e, r, nil
}

// routed is the path without a custom domain's base path: as many of its last
// segments as the resource that matched has. (The stage is not in it.)
func routed(e *event) string {
	resource := e.Resource
	for name, value := range e.PathParameters {
		resource = strings.ReplaceAll(resource, "{"+name+"+}", strings.Trim(value, "/"))
	}
	n := strings.Count(strings.TrimSuffix(resource, "/"), "/")
	for i := len(strings.TrimSuffix(e.Path, "/")) - 1; i >= 0 && n > 0; i-- {
		if e.Path[i] == '/' {
			if n--; n == 0 {
				return e.Path[i:]
			}
		}
	}
	return e.Path
}

func (e *event) body() (io.Reader, error) {
	if !e.IsBase64Encoded {
		return strings.NewReader(e.Body), nil
	}
	b, err := base64.StdEncoding.DecodeString(e.Body)
	if err != nil {
		return nil, fmt.Errorf("the gateway's event: the body is said to be base64 and is not")
	}
	return bytes.NewReader(b), nil
}

func (e *event) query() string {
	if e.v2() {
		return e.RawQueryString
	}
	if len(e.MultiValueQueryValues) > 0 {
		return url.Values(e.MultiValueQueryValues).Encode()
	}
	q := url.Values{}
	for k, v := range e.QueryParameters {
		q.Set(k, v)
	}
	return q.Encode()
}

func (e *event) header() http.Header {
	h := http.Header{}
	for k, v := range e.Headers {
		h.Set(k, v)
	}
	for k, values := range e.MultiValueHeaders {
		h.Del(k)
		for _, v := range values {
			h.Add(k, v)
		}
	}
	if len(e.Cookies) > 0 {
		h.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	return h
}
