package apigw

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// sample reads a real event and changes some of its members, by dotted path.
func sample(t testing.TB, name string, changes map[string]any) json.RawMessage {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var e map[string]any
	if err := json.Unmarshal(b, &e); err != nil {
		t.Fatal(err)
	}
	for path, v := range changes {
		m, parts := e, strings.Split(path, ".")
		for _, p := range parts[:len(parts)-1] {
			m = m[p].(map[string]any)
		}
		m[parts[len(parts)-1]] = v
	}
	b, err = json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func request(t *testing.T, raw json.RawMessage) *http.Request {
	t.Helper()
	_, r, err := decode(context.Background(), raw)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRequest(t *testing.T) {
	t.Run("REST event", func(t *testing.T) {
		r := request(t, sample(t, "rest.json", nil))
		want(t, "method", r.Method, "POST")
		want(t, "path", r.URL.Path, "/mcp")
		want(t, "query", r.URL.Query(), map[string][]string{"a": {"1", "2"}, "b": {"ä"}})
		want(t, "host", r.Host, "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com")
		want(t, "remote", r.RemoteAddr, "203.0.113.7:0")
		want(t, "several values", r.Header.Values("Accept"), []string{"application/json", "text/event-stream"})
		want(t, "lower case name", r.Header.Get("Mcp-Method"), "tools/call")
		body, _ := io.ReadAll(r.Body)
		want(t, "length", r.ContentLength, int64(len(body)))
		want(t, "body", strings.HasPrefix(string(body), `{"jsonrpc":"2.0","id":1`), true)
		o, _ := From(r.Context())
		want(t, "prefix", o.Prefix, "/v1")
		want(t, "request id", o.RequestID, "0f2b3c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d")
		want(t, "authorizer", Authorizer(r.Context())["scope"], any("mcp"))
	})
	t.Run("function URL event", func(t *testing.T) {
		r := request(t, sample(t, "url.json", nil))
		want(t, "method", r.Method, "POST")
		want(t, "uri", r.RequestURI, "/mcp?a=1&a=2&b=%C3%A4")
		want(t, "remote", r.RemoteAddr, "203.0.113.7:0")
		want(t, "cookie", r.Header.Get("Cookie"), "one=1; two=2")
		want(t, "name", r.Header.Get("MCP-PROTOCOL-VERSION"), "2026-07-28")
		body, _ := io.ReadAll(r.Body)
		want(t, "body", string(body), `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		o, _ := From(r.Context())
		want(t, "prefix", o.Prefix, "")
	})
	t.Run("single-value members alone", func(t *testing.T) {
		r := request(t, sample(t, "rest.json", map[string]any{"multiValueHeaders": nil, "multiValueQueryStringParameters": nil}))
		want(t, "name", r.Header.Get("Mcp-Name"), "greet")
		want(t, "query", r.URL.Query().Get("a"), "2")
	})
	t.Run("IPv6 caller", func(t *testing.T) {
		r := request(t, sample(t, "rest.json", map[string]any{"requestContext.identity.sourceIp": "2001:db8::1"}))
		want(t, "remote", r.RemoteAddr, "[2001:db8::1]:0")
	})
	t.Run("what the library's own event types write", func(t *testing.T) {
		raw, _ := json.Marshal(events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/x", Resource: "/x"})
		want(t, "REST", request(t, raw).URL.Path, "/x")
		u := events.LambdaFunctionURLRequest{Version: "2.0", RawPath: "/x"}
		u.RequestContext.HTTP.Method = "GET"
		raw, _ = json.Marshal(u)
		want(t, "URL", request(t, raw).URL.Path, "/x")
	})
	t.Run("no gateway, no origin", func(t *testing.T) {
		_, ok := From(context.Background())
		want(t, "ok", ok, false)
		want(t, "authorizer", Authorizer(context.Background()) == nil, true)
	})
}

// The public path has a stage or a base path before the one that was routed.
func TestPath(t *testing.T) {
	for name, c := range map[string]struct {
		resource, path, public string
		parameters             map[string]string
		routed, prefix         string
	}{
		"stage":               {"/mcp", "/mcp", "/v1/mcp", nil, "/mcp", "/v1"},
		"custom domain":       {"/mcp", "/mcp", "/mcp", nil, "/mcp", ""},
		"base path":           {"/mcp", "/tools/mcp", "/tools/mcp", nil, "/mcp", "/tools"},
		"deep base path":      {"/mcp", "/a/b/mcp", "/a/b/mcp", nil, "/mcp", "/a/b"},
		"trailing slash":      {"/mcp", "/tools/mcp/", "/tools/mcp/", nil, "/mcp/", "/tools"},
		"parameter":           {"/callback/{token}", "/b/callback/t1", "/b/callback/t1", map[string]string{"token": "t1"}, "/callback/t1", "/b"},
		"greedy":              {"/{proxy+}", "/b/x/y", "/b/x/y", map[string]string{"proxy": "x/y"}, "/x/y", "/b"},
		"root":                {"/", "/", "/v1", nil, "/", ""},
		"longer than path":    {"/a/b/c", "/c", "/c", nil, "/c", ""},
		"escaped":             {"/t/{x}", "/t/a%2Fb", "/v1/t/a%2Fb", map[string]string{"x": "a/b"}, "/t/a/b", "/v1"},
		"broken escape":       {"/t/{x}", "/t/%zz", "/v1/t/%zz", map[string]string{"x": "%zz"}, "/t/%zz", "/v1"},
		"no public path said": {"/mcp", "/mcp", "", nil, "/mcp", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, sample(t, "rest.json", map[string]any{
				"resource": c.resource, "path": c.path, "requestContext.path": c.public, "pathParameters": c.parameters,
			}))
			want(t, "routed", r.URL.Path, c.routed)
			o, _ := From(r.Context())
			want(t, "prefix", o.Prefix, c.prefix)
		})
	}
}

// Whatever arrives, the answer is well formed and the process lives.
func FuzzEvent(f *testing.F) {
	for _, name := range []string{"rest.json", "url.json"} {
		f.Add([]byte(sample(f, name, nil)))
	}
	for _, changes := range broken {
		f.Add([]byte(sample(f, "rest.json", changes)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for name, h := range both(http.HandlerFunc(echo)) {
			a, err := h(context.Background(), raw)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := read(t, a)
			if got.Status < 200 || got.Status > 599 {
				t.Errorf("%s: status %d", name, got.Status)
			}
		}
	})
}

func echo(w http.ResponseWriter, r *http.Request) {
	maps.Copy(w.Header(), http.Header{"Content-Type": {"text/plain"}})
	_, _ = io.Copy(w, r.Body)
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(any(got), any(want)) {
		// url.Values and map[string][]string print alike.
		if a, _ := json.Marshal(got); string(a) == must(want) {
			return
		}
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func must(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
