package attack

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

func itoa(n int) string    { return strconv.Itoa(n) }
func itoaHex(n int) string { return strconv.FormatInt(int64(n), 16) }

// ones is a body in chunks of one byte.
func ones(body string) string {
	var b strings.Builder
	for i := range len(body) {
		b.WriteString("1\r\n" + body[i:i+1] + "\r\n")
	}
	return b.String()
}

func many(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestPaths reaches for the endpoint, and for what is not there, by other paths:
// each is the endpoint, or none.
func TestPaths(t *testing.T) { // R-H15, R-V4; case 27
	g := attacked(t)
	good := strings.Join(echoed(g.host, "Content-Length: "+itoa(len(echoBody))), "\r\n") + "\r\n\r\n" + echoBody
	served := 0
	for _, path := range []string{
		"/mcp/", "//mcp", "/MCP", "/mcp%2f", "/mcp%2F..", "/%2fmcp", "/mcp;x", "/mcp;/x", "/mcp%00", "/mcp%0a", "/mcp%20", "/mcp.", "/mcp/.", "/mcp/..", "/./mcp", "/../mcp",
		"/x/../mcp", "/callbacks/../mcp", "/callbacks/..%2fmcp", "/callbacks/%2e%2e/mcp", "/callbacks/%2e%2e%2fmcp", "/callbacks/..", "/callbacks/.", "/callbacks//", "/callbacks",
		"/callbacks/%2e%2e", "/callbacks/%2fx", "/callbacks/a%2fb", "/callbacks/%00", "/callbacks/%ff", "/callbacks/a/b", "/v1/mcp", "/v1/../mcp", "/mcp/mcp", "\\mcp", "/\\mcp",
		"/mcp%5c", "/%6dcp", "/m%63p", "/mcp?", "/mcp?x=1&x=2&%zz", "/mcp?access_token=x", "/mcp#x", "/mcp/%2e%2e/callbacks/x", "/.well-known/x", "/.git/config", "/etc/passwd",
		"/../../etc/passwd", "/mcp%c0%af", "/mcp%u002f", "/%", "/%zz", "/mcp%", "/2015-03-31/functions/x/invocations", "/debug/pprof/", "/metrics", "/favicon.ico", "",
	} {
		got := g.raw(path, strings.Replace(good, "POST /mcp ", "POST "+path+" ", 1))
		if len(got) != 1 {
			t.Errorf("%q: %d answers", path, len(got))
			continue
		}
		a := got[0]
		switch exact, _, _ := strings.Cut(path, "?"); {
		case a.status == http.StatusOK:
			served++
			if !oneOf(exact, "/mcp", "/%6dcp", "/m%63p") {
				t.Errorf("%q is served", path)
			}
		case a.status == http.StatusTemporaryRedirect && strings.HasPrefix(a.header.Get("Location"), "/") && oneOf(path, "/callbacks/.", "/callbacks/.."):
			// Go's mux cleans the path.
		case !oneOf(a.status, 400, 401, 403, 404, 405, 415):
			t.Errorf("%q: %d %v %.200s", path, a.status, a.header, a.body)
		}
		g.alive()
	}
	if served == 0 {
		t.Error("none is served")
	}
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "post", "POSTX", "FOO", hex.EncodeToString([]byte("x"))} {
		got := g.raw(method, strings.Replace(good, "POST /mcp ", method+" /mcp ", 1))
		if len(got) != 1 || got[0].status != http.StatusMethodNotAllowed || got[0].header.Get("Allow") != http.MethodPost {
			t.Errorf("%s: %+v", method, got)
		}
		g.alive()
	}
}
