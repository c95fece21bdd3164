package attack

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// dial opens a connection of bytes.
func (g *target) dial() *net.TCPConn {
	g.t.Helper()
	c, err := net.Dial("tcp", g.host)
	must(g.t, err)
	return c.(*net.TCPConn)
}

// raw sends bytes, says that they are all, and reads the answers until the server
// closes the connection.
func (g *target) raw(what, request string) (all []answer) {
	g.t.Helper()
	return g.exchange(what, request, false)
}

// exchange is raw; patient clients say that they have sent all when they have the
// first answer. Before that it looks as if they had gone.
func (g *target) exchange(what, request string, patient bool) (all []answer) {
	g.t.Helper()
	c := g.dial()
	defer c.Close()
	go func() { // what the server does not read must hold nobody up
		_, _ = io.WriteString(c, request)
		if !patient {
			_ = c.CloseWrite()
		}
	}()
	in := bufio.NewReader(c)
	for {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			return all
		}
		a := answer{status: response.StatusCode, header: response.Header}
		a.body, _ = io.ReadAll(response.Body)
		response.Body.Close()
		_ = json.Unmarshal(bytes.TrimSpace(a.body), &a)
		if a.status != http.StatusNotImplemented && a.status != http.StatusHTTPVersionNotSupported { // the gateway's own
			g.sound(what, a, request)
		}
		all = append(all, a)
		if patient {
			_ = c.CloseWrite()
		}
	}
}

// echoed is a good request for the echo tool, line by line.
func echoed(host string, lines ...string) []string {
	return append([]string{"POST /mcp HTTP/1.1", "Host: " + host, "Content-Type: application/json", "Accept: application/json",
		"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: echo"}, lines...)
}

var echoBody = message("tools/call", map[string]any{"name": "echo", "arguments": words{"smuggled"}})

// TestSmuggling lets headers say one thing to one reader and another thing to the
// next: each request has one meaning, or is refused, and mirrored headers never
// replace what the body says.
func TestSmuggling(t *testing.T) { // R-H1, R-H5, R-H15; case 15
	g := attacked(t)
	length := "Content-Length: " + itoa(len(echoBody))
	const served, mismatch, refused, forbidden, unsupported = 200, 4000, 400, 403, 415
	// Each changes lines of a good request: "-Name" leaves one out, others are added.
	for what, attack := range map[string]struct {
		lines []string
		want  int // mismatch: 400 with -32020
	}{
		"nothing":                       {nil, served},
		"the method twice":              {[]string{"Mcp-Method: tools/call"}, mismatch},
		"two methods":                   {[]string{"Mcp-Method: tools/list"}, mismatch},
		"two methods, other order":      {[]string{"-Mcp-Method", "Mcp-Method: tasks/get", "Mcp-Method: tools/call"}, mismatch},
		"the name twice":                {[]string{"Mcp-Name: echo"}, mismatch},
		"two names":                     {[]string{"mcp-name: quiz"}, mismatch},
		"two names in one":              {[]string{"-Mcp-Name", "Mcp-Name: echo, echo"}, mismatch},
		"two versions":                  {[]string{"mcp-protocol-version: 2026-06-30"}, mismatch},
		"a legacy version too":          {[]string{"MCP-Protocol-Version: 2025-03-26"}, mismatch},
		"another method":                {[]string{"-Mcp-Method", "Mcp-Method: tools/list"}, mismatch},
		"a method of tasks":             {[]string{"-Mcp-Method", "Mcp-Method: tasks/get"}, mismatch},
		"a method in upper case":        {[]string{"-Mcp-Method", "Mcp-Method: TOOLS/CALL"}, mismatch},
		"another name":                  {[]string{"-Mcp-Name", "Mcp-Name: quiz"}, mismatch},
		"a name in upper case":          {[]string{"-Mcp-Name", "Mcp-Name: ECHO"}, mismatch},
		"a name in base64":              {[]string{"-Mcp-Name", "Mcp-Name: =?base64?ZWNobw==?="}, served},
		"in base64 with a break":        {[]string{"-Mcp-Name", "Mcp-Name: =?base64?ZWNo bw==?="}, mismatch},
		"in base64 with spare bits":     {[]string{"-Mcp-Name", "Mcp-Name: =?base64?ZWNobx==?="}, mismatch},
		"in base64 twice":               {[]string{"-Mcp-Name", "Mcp-Name: =?base64?PT9iYXNlNjQ/WldOb2J3PT0/PQ==?="}, mismatch},
		"an empty name":                 {[]string{"-Mcp-Name", "Mcp-Name:"}, mismatch},
		"no name":                       {[]string{"-Mcp-Name"}, mismatch},
		"a name with an underscore":     {[]string{"-Mcp-Name", "Mcp_Name: echo"}, mismatch},
		"a folded name":                 {[]string{"-Mcp-Name", "Mcp-Name: ec\r\n ho"}, mismatch},
		"a name folded to nothing more": {[]string{"-Mcp-Name", "Mcp-Name: echo\r\n "}, served},
		"no ASCII":                      {[]string{"-Mcp-Name", "Mcp-Name: \u0435cho"}, mismatch},
		"no UTF-8":                      {[]string{"-Mcp-Name", "Mcp-Name: \xff\xfe"}, mismatch},
		"a space before the colon":      {[]string{"-Mcp-Name", "Mcp-Name : echo"}, refused},
		"a return in a value":           {[]string{"X-A: a\rMcp-Name: echo"}, refused},
		"NUL in a value":                {[]string{"X-A: a\x00b"}, refused},
		"NUL in a name":                 {[]string{"X\x00A: b"}, refused},
		"a line without a colon":        {[]string{"Mcp-Name"}, refused},
		"a name of no ASCII":            {[]string{"Mcp-N\u00e4me: echo"}, refused},
		"a line of its own at the top":  {[]string{"-Host", " Host: " + g.host}, refused},

		"another host":             {[]string{"-Host", "Host: evil.example"}, forbidden},
		"no host":                  {[]string{"-Host"}, refused},
		"two hosts":                {[]string{"Host: evil.example"}, refused},
		"a host with a user":       {[]string{"-Host", "Host: 127.0.0.1@evil.example"}, refused},
		"a host that begins alike": {[]string{"-Host", "Host: 127.0.0.1.evil.example"}, forbidden},
		"a host that ends alike":   {[]string{"-Host", "Host: evil-localhost"}, forbidden},
		"a decimal host":           {[]string{"-Host", "Host: 2130706433"}, forbidden},
		"a host with a dot":        {[]string{"-Host", "Host: localhost."}, forbidden},
		"a host in upper case":     {[]string{"-Host", "Host: LOCALHOST"}, served},
		"forwarded for another": {[]string{"X-Forwarded-Host: evil.example", "X-Forwarded-For: 1.2.3.4, 127.0.0.1", "X-Forwarded-Proto: https",
			"X-Forwarded-Port: 1", "Forwarded: host=evil.example;for=\"[::1]\"", "X-Real-IP: 8.8.8.8", "Via: 1.1 evil"}, served},
		"another URL in a header":  {[]string{"X-Original-URL: /admin", "X-Rewrite-URL: /callbacks/x", "X-HTTP-Method-Override: GET", "X-Method-Override: DELETE"}, served},
		"a gateway's own headers":  {[]string{"X-Amzn-Trace-Id: x", "X-Amz-Invocation-Type: Event", "X-Amzn-RequestId: " + forged, "X-Apigateway-Event: {}", "X-Amz-Function-Error: 1"}, served},
		"the origin of another":    {[]string{"Origin: https://evil.example"}, forbidden},
		"the origin of nobody":     {[]string{"Origin: null"}, forbidden},
		"an origin alike":          {[]string{"Origin: http://localhost.evil.example"}, forbidden},
		"an origin with a user":    {[]string{"Origin: http://localhost@evil.example"}, forbidden},
		"an origin that is a file": {[]string{"Origin: file:///etc/passwd"}, forbidden},
		"an origin that is none":   {[]string{"Origin: \x01http://localhost"}, refused},
		"another media type":       {[]string{"-Content-Type", "Content-Type: text/plain"}, unsupported},
		"no media type":            {[]string{"-Content-Type"}, unsupported},
		"a form":                   {[]string{"-Content-Type", "Content-Type: application/x-www-form-urlencoded"}, unsupported},
		"two media types":          {[]string{"-Content-Type", "Content-Type: text/plain, application/json"}, unsupported},
		"a broken media type":      {[]string{"-Content-Type", "Content-Type: application/json; ; ="}, unsupported},
		"a session that is":        {[]string{"Mcp-Session-Id: ../../x", "Last-Event-ID: 1\t2"}, served}, // R-H6
		"a strange Accept":         {[]string{"-Accept", "Accept: ;;;,*/*;q=abc,\"", "Accept: text/html"}, served},
		"credentials for nobody":   {[]string{"Authorization: Bearer x", "Authorization: Basic eDp4", "Cookie: a=b; c", "Proxy-Authorization: x"}, served},
	} {
		good := echoed(g.host, length)
		var lines []string
		for _, line := range append(good, attack.lines...) {
			left, _, _ := strings.Cut(line, ":")
			if !strings.HasPrefix(line, "-") && !(oneOf("-"+left, attack.lines...) && oneOf(line, good...)) {
				lines = append(lines, line)
			}
		}
		got := g.raw(what, strings.Join(lines, "\r\n")+"\r\n\r\n"+echoBody)
		switch {
		case len(got) != 1:
			t.Errorf("%s: %d answers: %v", what, len(got), got)
		case attack.want == mismatch && (got[0].status != 400 || got[0].code() != -32020 || string(got[0].ID) != `"q"`),
			attack.want != mismatch && got[0].status != attack.want:
			t.Errorf("%s: %d %.300s", what, got[0].status, got[0].body)
		case attack.want == served && !strings.Contains(string(got[0].Result), "smuggled"):
			t.Errorf("%s: %.300s", what, got[0].body)
		}
		g.alive()
	}
}

// TestFraming disagrees about where a request ends. What is behind its end is no
// request of anybody else's, and nothing is served that has two ends.
func TestFraming(t *testing.T) { // R-H4, R-H5
	g := attacked(t)
	size := len(echoBody)
	chunked := itoaHex(size) + "\r\n" + echoBody + "\r\n0\r\n\r\n"
	head := strings.Join(echoed(g.host), "\r\n") + "\r\n"
	for what, attack := range map[string]struct {
		request  string
		statuses []int // of the first answer; none: no answer
	}{
		"chunks":                              {head + "Transfer-Encoding: chunked\r\n\r\n" + chunked, []int{200}},
		"chunks with extensions":              {head + "Transfer-Encoding: chunked\r\n\r\n" + itoaHex(size) + ";a=" + strings.Repeat("b", 1000) + "\r\n" + echoBody + "\r\n0\r\n\r\n", []int{200}},
		"chunks with endless extensions":      {head + "Transfer-Encoding: chunked\r\n\r\n" + itoaHex(size) + ";a=" + strings.Repeat("b", 100_000) + "\r\n" + echoBody + "\r\n0\r\n\r\n", []int{400}},
		"chunks of one byte":                  {head + "Transfer-Encoding: chunked\r\n\r\n" + ones(echoBody) + "0\r\n\r\n", []int{200}},
		"chunks and a length":                 {head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, []int{200, 400}},
		"a length and chunks":                 {head + "Transfer-Encoding: chunked\r\nContent-Length: " + itoa(size) + "\r\n\r\n" + chunked, []int{200, 400}},
		"chunks twice":                        {head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked, []int{400, 501}},
		"chunks, identity":                    {head + "Transfer-Encoding: chunked, identity\r\n\r\n" + chunked, []int{400, 501}},
		"no known encoding":                   {head + "Transfer-Encoding: xchunked\r\n\r\n" + chunked, []int{400, 501}},
		"a tab in it":                         {head + "Transfer-Encoding:\x0bchunked\r\n\r\n" + chunked, []int{400, 501}},
		"a folded one":                        {head + "Transfer-Encoding:\r\n chunked\r\n\r\n" + chunked, []int{200, 400, 501}},
		"a chunk of too many digits":          {head + "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx", []int{400}},
		"a chunk of a negative size":          {head + "Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n", []int{400}},
		"a chunk that is too short":           {head + "Transfer-Encoding: chunked\r\n\r\nFFFF\r\nx\r\n0\r\n\r\n", []int{400}},
		"a chunk without its end":             {head + "Transfer-Encoding: chunked\r\n\r\n1\r\nxx\r\n0\r\n\r\n", []int{400}},
		"trailers":                            {head + "Transfer-Encoding: chunked\r\nTrailer: Mcp-Name\r\n\r\n" + strings.TrimSuffix(chunked, "\r\n") + "Mcp-Name: quiz\r\n\r\n", []int{200}},
		"two lengths":                         {head + "Content-Length: 1\r\nContent-Length: " + itoa(size) + "\r\n\r\n" + echoBody, []int{400}},
		"two lengths in one":                  {head + "Content-Length: " + itoa(size) + ", 1\r\n\r\n" + echoBody, []int{400}},
		"a length with a sign":                {head + "Content-Length: +" + itoa(size) + "\r\n\r\n" + echoBody, []int{400}},
		"a negative length":                   {head + "Content-Length: -1\r\n\r\n" + echoBody, []int{400}},
		"a hexadecimal length":                {head + "Content-Length: 0x10\r\n\r\n" + echoBody, []int{400}},
		"a length beyond 64 bits":             {head + "Content-Length: 99999999999999999999\r\n\r\n" + echoBody, []int{400}},
		"a length over all limits":            {head + "Content-Length: 9000000000000000000\r\n\r\n" + echoBody, []int{413, 400}},
		"a body that is cut short":            {head + "Content-Length: " + itoa(size+1) + "\r\n\r\n" + echoBody, []int{400}},
		"no body":                             {head + "\r\n", []int{400}},
		"a head that is cut short":            {head[:len(head)/2], []int{400}},
		"an absolute target":                  {strings.Replace(head, "POST /mcp", "POST http://evil.example/mcp", 1) + "Content-Length: " + itoa(size) + "\r\n\r\n" + echoBody, []int{403}},
		"a target that is a host":             {strings.Replace(head, "POST /mcp", "POST evil.example:80", 1) + "Content-Length: 0\r\n\r\n", []int{400, 403, 404}},
		"CONNECT":                             {"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n", []int{400, 403, 404, 405}},
		"OPTIONS *":                           {"OPTIONS * HTTP/1.1\r\nHost: " + g.host + "\r\n\r\n", []int{200, 400, 403, 405}},
		"HTTP/1.0":                            {strings.Replace(head, "HTTP/1.1", "HTTP/1.0", 1) + "Content-Length: " + itoa(size) + "\r\n\r\n" + echoBody, []int{200}},
		"HTTP/0.9":                            {"GET /mcp\r\n\r\n", []int{400}},
		"HTTP/3.0":                            {strings.Replace(head, "HTTP/1.1", "HTTP/3.0", 1) + "\r\n", []int{505}},
		"HTTP/2":                              {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []int{400, 404, 505}},
		"TLS":                                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", []int{400}},
		"noise":                               {"\x00\xff\xfe\r\n\r\n", []int{400}},
		"line feeds alone":                    {strings.ReplaceAll(head, "\r\n", "\n") + "Content-Length: " + itoa(size) + "\n\n" + echoBody, []int{200, 400}},
		"a thousand headers":                  {head + strings.Repeat("X-A: b\r\n", 1000) + "Content-Length: " + itoa(size) + "\r\n\r\n" + echoBody, []int{200}},
		"ten thousand headers":                {head + many("X-%d: b\r\n", 10_000) + "Content-Length: " + itoa(size) + "\r\n\r\n" + echoBody, []int{200, 431}},
		"a thousand headers that mirror":      {head + many("Mcp-Param-%d: b\r\n", 1000) + "Content-Length: " + itoa(size) + "\r\n\r\n" + echoBody, []int{200}},
		"headers of 2 MB":                     {head + "X-A: " + strings.Repeat("b", 2<<20) + "\r\n\r\n", []int{431}},
		"a target of 2 MB":                    {"POST /" + strings.Repeat("a", 2<<20) + " HTTP/1.1\r\n\r\n", []int{431, 414, 400}},
		"a method of 100 KB":                  {strings.Repeat("A", 100_000) + " /mcp HTTP/1.1\r\nHost: " + g.host + "\r\n\r\n", []int{405, 400, 431}},
		"an expectation that nobody fulfils":  {head + "Expect: a-miracle\r\nContent-Length: " + itoa(size) + "\r\n\r\n" + echoBody, []int{417}},
		"a body that waits to be asked for":   {head + "Expect: 100-continue\r\nContent-Length: " + itoa(size) + "\r\n\r\n" + echoBody, []int{100, 200}},
		"an upgrade":                          {head + "Connection: Upgrade\r\nUpgrade: websocket, h2c\r\nContent-Length: " + itoa(size) + "\r\n\r\n" + echoBody, []int{200}},
		"a hop-by-hop header that names ours": {head + "Connection: close, Mcp-Name, Mcp-Method\r\nContent-Length: " + itoa(size) + "\r\n\r\n" + echoBody, []int{200, 400}},
	} {
		got := g.raw(what, attack.request)
		switch {
		case len(got) == 0 && len(attack.statuses) > 0, len(got) > 0 && !oneOf(got[0].status, attack.statuses...):
			t.Errorf("%s: %+v", what, got)
		}
		for i, more := range got {
			if i > 0 && more.status < 400 && got[i-1].status != http.StatusContinue {
				t.Errorf("%s: served twice: %d %.200s", what, more.status, more.body)
			}
		}
		g.alive()
	}
	// Two requests on one connection are two, each with its own answer.
	one := head + "Content-Length: " + itoa(size) + "\r\n\r\n" + echoBody
	if got := g.raw("two", one+strings.ReplaceAll(one, "smuggled", "secondly")); len(got) != 2 || !strings.Contains(string(got[0].body), "smuggled") ||
		!strings.Contains(string(got[1].body), "secondly") {
		t.Errorf("two requests: %+v", got)
	}
}
