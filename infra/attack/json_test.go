package attack

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// TestJSON sends what is no JSON, what is more than JSON, and what would be too
// much of it. Each gets the standard code, and its id where there is one to read.
func TestJSON(t *testing.T) { // R-H4; case 53
	g := attacked(t)
	const parse, request, params = -32700, -32600, -32602
	good := message(protocol.MethodToolsList, nil)
	with := func(member string) string { return `{"jsonrpc":"2.0","id":"q",` + member + `}` }
	list := func(params string) string { return with(`"method":"tools/list","params":` + params) }
	nested := func(open, shut, within string, n int) string {
		return strings.Repeat(open, n) + within + strings.Repeat(shut, n)
	}
	long := strings.Repeat("x", 3<<20)
	var keys, hostile strings.Builder
	for i := range 130_000 {
		fmt.Fprintf(&keys, `"k%d":0,`, i)
	}
	for i := range 80_000 {
		fmt.Fprintf(&hostile, `"%s":0,`, strings.NewReplacer("0", "Aa", "1", "BB").Replace(fmt.Sprintf("%017b", i))) // alike to a weak hash
	}
	for what, attack := range map[string]struct {
		body string
		code int
		id   bool // the answer has the id
	}{
		"nothing": {"", parse, false}, "white space": {" \r\n\t ", parse, false}, "a scalar": {"1", request, false}, "a string": {`"x"`, request, false}, "null": {"null", request, false},
		"two messages": {good + good, parse, true}, "text behind": {good + "x", parse, true}, "a comment": {"/* */" + good, parse, false}, "a comment behind": {good + "//", parse, true},
		"a mark of order": {"\ufeff" + good, parse, false}, "NUL behind": {good + "\x00", parse, true}, "NUL before": {"\x00" + good, parse, false},
		"NUL in a string": {list("{\"a\":\"\x00\"}"), parse, true}, "a written NUL": {list(`{"a":"\u0000","_meta":` + meta + `}`), 0, true},
		"a line in a string": {list("{\"a\":\"\n\"}"), parse, true}, "no UTF-8": {list("{\"a\":\"\xff\xfe\"}"), parse, true}, "overlong": {list("{\"a\":\"\xc0\xaf\"}"), parse, true},
		"a surrogate in UTF-8": {list("{\"a\":\"\xed\xa0\x80\"}"), parse, true}, "a lone surrogate": {list(`{"a":"\ud800"}`), parse, true}, "two low ones": {list(`{"a":"\udc00\udc00"}`), parse, true},
		"a surrogate as a name": {list(`{"\ud800":1}`), parse, true}, "UTF-16": {wide(good), parse, false},
		"not a number": {list(`{"a":NaN}`), parse, true}, "infinity": {list(`{"a":-Infinity}`), parse, true}, "a plus": {list(`{"a":+1}`), parse, true}, "octal": {list(`{"a":01}`), parse, true},
		"hexadecimal": {list(`{"a":0x1}`), parse, true}, "a dot alone": {list(`{"a":.5}`), parse, true}, "a dot behind": {list(`{"a":5.}`), parse, true}, "1e400": {list(`{"a":1e400}`), parse, true},
		"-1e400": {list(`{"a":-1e400}`), parse, true}, "1e-400": {list(`{"a":1e-400,"_meta":` + meta + `}`), 0, true}, "an exponent of many digits": {list(`{"a":1e` + strings.Repeat("9", 100_000) + `}`), parse, true},
		"a million digits": {list(`{"a":` + strings.Repeat("9", 1_000_000) + `}`), parse, true}, "a million places": {list(`{"a":0.` + strings.Repeat("1", 1_000_000) + `,"_meta":` + meta + `}`), 0, true},
		"single quotes": {strings.ReplaceAll(good, `"`, `'`), parse, false}, "no quotes": {`{jsonrpc:"2.0"}`, parse, false}, "a comma too many": {list(`{"a":1,}`), parse, true},
		"a name twice": {list(`{"a":1,"a":2}`), parse, true}, "a name twice, written otherwise": {list(`{"a":1,"\u0061":2}`), parse, true}, "deep inside": {list(`{"a":{"b":{"c":1,"c":2}}}`), parse, true},
		"two methods": {with(`"method":"tools/list","method":"tools/call"`), parse, true}, "two params": {with(`"method":"tools/list","params":{},"params":{}`), parse, true},
		"two ids": {`{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}`, parse, false}, "two versions": {list(`{"_meta":` + meta + `,"_meta":{}}`), parse, true},
		"another case": {`{"JSONRPC":"2.0","ID":"q","METHOD":"tools/list"}`, request, false},

		"arrays in arrays": {list(`{"a":` + nested("[", "]", "", 10_000) + `}`), parse, true}, "objects in objects": {list(`{"a":` + nested(`{"a":`, `}`, "1", 10_000) + `}`), parse, true},
		"a million arrays": {list(`{"a":` + strings.Repeat("[", 1_000_000)), parse, true}, "a million objects": {list(strings.Repeat(`{"":`, 600_000)), parse, true},
		"arrays alone": {strings.Repeat("[", 1_000_000), parse, false}, "closed arrays": {strings.Repeat("]", 1_000_000), parse, false},
		"under the limit": {list(`{"a":` + nested("[", "]", "", 990) + `,"_meta":` + meta + `}`), 0, true}, "in _meta": {list(`{"_meta":{"a":` + nested("[", "]", "", 5_000) + `}}`), parse, true},
		"beside": {with(`"method":"tools/list","x":` + nested("[", "]", "", 5_000)), parse, true}, "the id behind": {`{"jsonrpc":"2.0","method":"x","params":{"a":` + nested("[", "]", "", 5_000) + `},"id":"q"}`, parse, true},

		"many names": {list(`{` + keys.String() + `"_meta":` + meta + `}`), 0, true}, "names that are alike": {list(`{` + hostile.String() + `"_meta":` + meta + `}`), 0, true},
		"many names at the top": {`{` + keys.String() + good[1:], 0, true}, "a long string": {list(`{"a":"` + long + `","_meta":` + meta + `}`), 0, true},
		"a long name": {list(`{"` + long + `":1,"_meta":` + meta + `}`), 0, true}, "a long cursor": {list(`{"cursor":"` + long + `","_meta":` + meta + `}`), params, true},
		"a long version": {list(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + long + `"}}`), -32020, true},
		"many escapes":   {list(`{"a":"` + strings.Repeat(`\u0041`, 500_000) + `","_meta":` + meta + `}`), 0, true},
		"many values":    {list(`{"a":[` + strings.Repeat("0,", 1_500_000) + `0],"_meta":` + meta + `}`), 0, true},

		"no version of JSON-RPC": {`{"id":"q","method":"tools/list"}`, request, true}, "version 1": {strings.Replace(good, `"2.0"`, `"1.0"`, 1), request, true}, "a number for it": {strings.Replace(good, `"2.0"`, `2.0`, 1), request, true},
		"no method": {with(`"a":1`), request, true}, "a number for a method": {with(`"method":1`), request, true}, "an array for params": {with(`"method":"tools/list","params":[]`), request, true},
		"null for params": {with(`"method":"tools/list","params":null`), request, true}, "a string for params": {with(`"method":"tools/list","params":"x"`), request, true},
		"null for an id": {strings.Replace(good, `"q"`, `null`, 1), request, false}, "a fraction": {strings.Replace(good, `"q"`, `1.5`, 1), request, false}, "an exponent": {strings.Replace(good, `"q"`, `1e2`, 1), request, false},
		"an object for an id": {strings.Replace(good, `"q"`, `{}`, 1), request, false}, "an array for an id": {strings.Replace(good, `"q"`, `[1]`, 1), request, false}, "true for an id": {strings.Replace(good, `"q"`, `true`, 1), request, false},
		"an array of one": {"[" + good + "]", request, false}, "an array of none": {"[]", request, false}, "an answer": {with(`"result":{}`), request, true},
		"_meta that is none": {list(`{"_meta":[]}`), params, true}, "capabilities that are none": {list(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":"all"}}`), params, true},
	} {
		a := g.post(what, headers(protocol.Revision20260728, protocol.MethodToolsList, ""), attack.body)
		if id := string(a.ID) == `"q"`; a.code() != attack.code || id != attack.id || !id && a.ID != nil || a.status != 200 && a.status != 400 || len(a.body) > 16<<10 {
			t.Errorf("%s: %s", what, a)
		}
		g.alive()
	}
	// A message that ends anywhere.
	for i := range good {
		if a := g.post("cut", headers(protocol.Revision20260728, protocol.MethodToolsList, ""), good[:i]); a.status != 400 || a.code() != parse {
			t.Errorf("cut at %d: %s", i, a)
		}
	}
	// An id comes back as it was, whatever it is.
	for _, id := range []string{`""`, `"\u0000"`, `"\u001b[31m\n"`, `"</script>"`, `"\ud83e\udd86"`, `0`, `-1`, `-0`, strings.Repeat("9", 300), `"` + long[:100_000] + `"`, `9007199254740993`} {
		if a := g.post("id", headers(protocol.Revision20260728, protocol.MethodToolsList, ""), strings.Replace(good, `"q"`, id, 1)); a.status != 200 || string(a.ID) != id {
			t.Errorf("%.60s came back as %.60s: %d", id, a.ID, a.status)
		}
	}
	g.alive()
}

// wide is a text in UTF-16.
func wide(text string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(u >> 8))
		b.WriteByte(byte(u))
	}
	return b.String()
}

// TestBatches sends many messages as one (R-H4).
func TestBatches(t *testing.T) {
	g := attacked(t)
	one := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	echo := func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("x", n) + `"}}}`
	}
	of := func(message string, n int) string { return "[" + strings.Repeat(message+",", n-1) + message + "]" }
	for what, attack := range map[string]struct {
		body    string
		status  int
		answers int // in an array; 0: one error
	}{
		"as many as may be":             {of(one, limits.MaxBatch), 200, limits.MaxBatch},
		"one more":                      {of(one, limits.MaxBatch+1), 400, 0},
		"none":                          {"[]", 400, 0},
		"a hundred thousand numbers":    {of("1", 100_000/smaller), 400, 0},
		"fifty numbers":                 {of("1", limits.MaxBatch), 200, limits.MaxBatch},
		"fifty batches":                 {of(of(one, 50), limits.MaxBatch), 200, limits.MaxBatch},
		"batches in batches":            {strings.Repeat("[", 900) + one + strings.Repeat("]", 900), 200, 1},
		"batches without an end":        {strings.Repeat("[", 100_000), 400, 0},
		"fifty deep ones":               {of(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":`+strings.Repeat("[", 5000/smaller)+strings.Repeat("]", 5000/smaller)+`}}`, limits.MaxBatch), 200, limits.MaxBatch},
		"four megabytes of answers":     {of(echo(80_000/smaller), limits.MaxBatch), 200, limits.MaxBatch},
		"the same id":                   {of(one, 3), 200, 3},
		"notifications alone":           {of(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, limits.MaxBatch), 202, 0},
		"initialize":                    {of(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`, 2), 200, 2},
		"a message of this time":        {of(message(protocol.MethodToolsList, nil), 2), 200, 2},
		"a listen":                      {of(message(protocol.MethodListen, watched("x")), 2), 200, 2},
		"a batch that is cut":           {of(one, 3)[:60], 400, 0},
		"a batch with a name twice":     {of(`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, 2), 400, 0},
		"a batch with a lone surrogate": {of(`{"jsonrpc":"2.0","id":1,"method":"\ud800"}`, 2), 400, 0},
	} {
		a := g.post(what, http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {protocol.Revision20250326}}, attack.body)
		var answers []json.RawMessage
		_ = json.Unmarshal(a.body, &answers)
		if a.status != attack.status || len(answers) != attack.answers {
			t.Errorf("%s: %d answers, %s", what, len(answers), a)
		}
		if later := g.post(what, headers(protocol.Revision20251125, "", ""), attack.body); later.code() != -32600 && later.code() != -32700 {
			t.Errorf("%s under 2025-11-25: %s", what, later)
		}
		g.alive()
	}
}

// TestCompressed sends bodies that are packed: nothing is unpacked.
func TestCompressed(t *testing.T) { // R-H4, R-H5
	g := attacked(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(strings.Repeat(" ", 50<<20/smaller) + echoBody))
	must(t, err)
	must(t, w.Close())
	for _, encoding := range []string{"gzip", "x-gzip", "deflate", "br", "zstd", "identity", "gzip, gzip", "chunked"} {
		h := headers(protocol.Revision20260728, protocol.MethodToolsCall, "echo")
		h.Set("Content-Encoding", encoding)
		if a := g.post(encoding, h, packed.String()); !oneOf(a.status, 400, 415) || a.ID != nil {
			t.Errorf("%s: %s", encoding, a)
		}
		g.alive()
	}
}
