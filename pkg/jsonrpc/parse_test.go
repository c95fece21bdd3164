package jsonrpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"toolhost/pkg/jsonrpc"
)

// R-H4
func TestParse(t *testing.T) {
	const tail = `,"jsonrpc":"2.0","method":"m","params":{"a":1}}`
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	for _, c := range []struct {
		name, body string
		code       int    // 0: it is read
		id         string // as echoed
	}{
		{"a request with an integer id", `{"id":-7` + tail, 0, `-7`},
		{"a request with a string id, kept as written", `{"id":"\u0061"` + tail, 0, `"\u0061"`},
		{"a huge integer id is kept digit by digit", `{"id":123456789012345678901234567890` + tail, 0, `123456789012345678901234567890`},
		{"a notification has no id", `{"jsonrpc":"2.0","method":"m"}`, 0, ``},
		{"a version is a string, however it is written", `{"id":1,"jsonrpc":"2\u002e0","method":"m"}`, 0, `1`},
		{"a version that is a number", `{"id":1,"jsonrpc":2.0,"method":"m"}`, jsonrpc.CodeInvalidRequest, `1`},
		{"names are case-sensitive", `{"id":1,"JSONRPC":"2.0","method":"m"}`, jsonrpc.CodeInvalidRequest, `1`},
		{"white space around the message is fine", " \n{\"id\":1" + tail + "\n", 0, `1`},

		{"a null id is refused", `{"id":null` + tail, jsonrpc.CodeInvalidRequest, ``},
		{"a fractional id is refused", `{"id":1.5` + tail, jsonrpc.CodeInvalidRequest, ``},
		{"an id that is an object is refused", `{"id":{}` + tail, jsonrpc.CodeInvalidRequest, ``},
		{"a wrong jsonrpc member", `{"id":1,"jsonrpc":"1.0","method":"m"}`, jsonrpc.CodeInvalidRequest, `1`},
		{"no method", `{"id":1,"jsonrpc":"2.0","result":{}}`, jsonrpc.CodeInvalidRequest, `1`},
		{"a method that is no string", `{"id":1,"jsonrpc":"2.0","method":5}`, jsonrpc.CodeInvalidRequest, `1`},
		{"params that are an array", `{"id":1,"jsonrpc":"2.0","method":"m","params":[]}`, jsonrpc.CodeInvalidRequest, `1`},
		{"params that are null", `{"id":1,"jsonrpc":"2.0","method":"m","params":null}`, jsonrpc.CodeInvalidRequest, `1`},
		{"a batch", `[{"id":1` + tail + `]`, jsonrpc.CodeInvalidRequest, ``},
		{"a scalar", `17`, jsonrpc.CodeInvalidRequest, ``},

		{"nothing", ``, jsonrpc.CodeParse, ``},
		{"a broken batch", `[{"id":1`, jsonrpc.CodeParse, ``},
		{"text after the message", `{"id":1` + tail + ` x`, jsonrpc.CodeParse, `1`},
		{"a second message", `{"id":1` + tail + `{"id":2` + tail, jsonrpc.CodeParse, `1`},
		{"a message cut short", `{"id":1,"jsonrpc":"2.0","params":{`, jsonrpc.CodeParse, `1`},
		{"a byte order mark", "\ufeff" + `{"id":1` + tail, jsonrpc.CodeParse, ``},
		{"a NUL byte", "{\"id\":1,\"x\":\"\x00\"" + tail, jsonrpc.CodeParse, `1`},
		{"duplicate names, the id after them", `{"x":{"a":1,"a":2},"id":1` + tail, jsonrpc.CodeParse, `1`},
		{"two ids are none", `{"id":1,"id":2` + tail, jsonrpc.CodeParse, ``},
		{"a lone surrogate, the id after it", `{"x":"\ud800","id":"i"` + tail, jsonrpc.CodeParse, `"i"`},
		{"bytes that are no UTF-8", "{\"x\":\"\xff\",\"id\":1" + tail, jsonrpc.CodeParse, `1`},
		{"a number that no float64 holds", `{"id":1,"x":1e400` + tail, jsonrpc.CodeParse, `1`},
		{"a number with 400 digits", `{"id":1,"x":-` + strings.Repeat("9", 400) + tail, jsonrpc.CodeParse, `1`},
		{"10,000 levels", `{"id":1,"x":` + deep + tail, jsonrpc.CodeParse, `1`},
		{"10,000 levels before the id", `{"x":` + deep[:9_000] + deep[11_000:] + `,"id":1` + tail, jsonrpc.CodeParse, `1`},
		{"a million open brackets", strings.Repeat(`{"a":`, 1_000_000), jsonrpc.CodeParse, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			m, err := jsonrpc.Parse([]byte(c.body))
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			code := 0
			if err != nil {
				code = err.Code
			}
			if code != c.code {
				t.Fatalf("code %d (%v), want %d", code, err, c.code)
			}
			if string(m.ID) != c.id {
				t.Errorf("id %s, want %s", m.ID, c.id)
			}
			if code == 0 && m.Method != "m" {
				t.Errorf("method %q", m.Method)
			}
		})
	}
}

func TestWrite(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"a result", string(jsonrpc.Result([]byte(`"i"`), []byte(`{"a":"<"}`))), `{"jsonrpc":"2.0","id":"i","result":{"a":"<"}}`},
		{"an error without an id leaves it out", string(jsonrpc.Failure(nil, jsonrpc.Errorf(-32700, "<%d>", 1))), `{"jsonrpc":"2.0","error":{"code":-32700,"message":"<1>"}}`},
		{"a notification", string(jsonrpc.Notification("n", []byte(`{}`))), `{"jsonrpc":"2.0","method":"n","params":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got  %s\nwant %s", c.got, c.want)
			}
		})
	}
}

// Whatever comes in, nothing panics, and an id that goes out is JSON that may
// stand for one.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"id":1,"jsonrpc":"2.0","method":"m"}`, `[1]`, `{"id":"\ud800"`, `{"x":"\\\"","id":1e3}`, "\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, _ := jsonrpc.Parse(body)
		if m.ID == nil {
			return
		}
		again := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"m"}`, m.ID)
		if _, broken := jsonrpc.Parse([]byte(again)); broken != nil {
			t.Errorf("the id %q can't be echoed: %v", m.ID, broken)
		}
	})
}
