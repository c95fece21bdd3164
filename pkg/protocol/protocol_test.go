package protocol_test

import (
	"encoding/json"
	"testing"
	"time"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
	"toolhost/pkg/task"
)

// R-P8
func TestCode(t *testing.T) {
	t.Run("each name of the revision has its own codes", func(t *testing.T) {
		for code, early := range map[int]int{
			protocol.CodeHeaderMismatch:     -32001,
			protocol.CodeMissingCapability:  -32003,
			protocol.CodeUnsupportedVersion: -32004,
			jsonrpc.CodeInvalidParams:       jsonrpc.CodeInvalidParams,
		} {
			if got := protocol.Code(protocol.Revision20260630, code); got != early {
				t.Errorf("2026-06-30: %d for %d, want %d", got, code, early)
			}
			if got := protocol.Code(protocol.Revision20260728, code); got != code {
				t.Errorf("2026-07-28: %d for %d", got, code)
			}
		}
	})
	t.Run("a tool can't speak with MCP's codes", func(t *testing.T) {
		for _, code := range []int{-32020, -32021, -32042, -32099, -32001, -32002, -32003, -32004} {
			got := protocol.ToolError(&jsonrpc.Error{Code: code, Message: "m", Data: json.RawMessage(`{"d":1}`)})
			var original jsonrpc.Error
			if err := json.Unmarshal(got.Data, &original); err != nil || got.Code != jsonrpc.CodeInternal || got.Message != "m" ||
				original.Code != code || string(original.Data) != `{"d":1}` {
				t.Errorf("%d became %+v", code, got)
			}
		}
		for _, code := range []int{-32000, -32602, -1, 42, -32100} {
			if got := protocol.ToolError(jsonrpc.Errorf(code, "m")); got.Code != code {
				t.Errorf("%d became %d", code, got.Code)
			}
		}
	})
	t.Run("a stored missing capability is numbered for who reads it", func(t *testing.T) {
		stored := jsonrpc.Errorf(protocol.CodeMissingCapability, "m")
		if got := protocol.StoredError(protocol.Revision20260630, stored).Code; got != -32003 {
			t.Errorf("2026-06-30: %d", got)
		}
		if got := protocol.StoredError(protocol.Revision20260728, stored).Code; got != -32021 {
			t.Errorf("2026-07-28: %d", got)
		}
	})
}

// R-N6, R-U8
func TestCapabilities(t *testing.T) {
	type has struct{ tasks, form, url, sampling, samplingTools, roots bool }
	for _, c := range []struct {
		name, raw string
		want      has
	}{
		{"nothing", `{}`, has{}},
		{"the extension", `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, has{tasks: true}},
		{"the extension with settings", `{"extensions":{"io.modelcontextprotocol/tasks":{"x":1}}}`, has{tasks: true}},
		{"the extension as null", `{"extensions":{"io.modelcontextprotocol/tasks":null}}`, has{}},
		{"the legacy capability is not the extension", `{"tasks":{"requests":{"tools":{"call":{}}}}}`, has{}},
		{"elicitation {} means form only", `{"elicitation":{}}`, has{form: true}},
		{"URL alone", `{"elicitation":{"url":{}}}`, has{url: true}},
		{"form and URL", `{"elicitation":{"form":{},"url":{}}}`, has{form: true, url: true}},
		{"sampling", `{"sampling":{}}`, has{sampling: true}},
		{"sampling with tools", `{"sampling":{"tools":{}},"roots":{}}`, has{sampling: true, samplingTools: true, roots: true}},
		{"names are case-sensitive", `{"Elicitation":{}}`, has{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			caps, err := protocol.ParseCapabilities(json.RawMessage(c.raw))
			if err != nil {
				t.Fatal(err)
			}
			got := has{caps.HasTasks(), caps.HasElicitationForm(), caps.HasElicitationURL(), caps.HasSampling(), caps.HasSamplingTools(), caps.HasRoots()}
			if got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
	t.Run("what is kept is small and means the same", func(t *testing.T) {
		caps, err := protocol.ParseCapabilities(json.RawMessage(`{"elicitation":{"url":{"a":1}},"sampling":{"tools":{},"x":{}},"roots":{"listChanged":true},
			"extensions":{"io.modelcontextprotocol/tasks":{"b":2},"c":{}},"experimental":{"d":{}}}`))
		const want = `{"elicitation":{"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}},"roots":{},"sampling":{"tools":{}}}`
		if err != nil || string(caps.Raw) != want {
			t.Errorf("%s, %v, want %s", caps.Raw, err, want)
		}
	})
	for _, bad := range []string{``, `null`, `[]`, `"x"`, `{"elicitation":true}`, `{"extensions":[]}`} {
		if _, err := protocol.ParseCapabilities(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// R-H1
func TestHeaders(t *testing.T) {
	t.Run("names without case, white space trimmed, twice is no value", func(t *testing.T) {
		h := protocol.ReadHeaders(map[string][]string{
			"mcp-METHOD": {" tools/call\t"}, "Mcp-Name": {"a", "a"}, "Mcp-Param-Region": {"eu"}, "Mcp-Param-": {"x"},
		})
		if h.Method.Value != "tools/call" || h.Name.Value == "a" || h.Params["region"].Value != "eu" || h.Version.Present || len(h.Params) != 1 {
			t.Errorf("%+v", h)
		}
	})
	for _, c := range []struct {
		value, want string
		ok          bool
	}{
		{"plain", "plain", true},
		{"=?base64?SGVsbG8=?=", "Hello", true},
		{"=?base64?w6Q=?=", "ä", true},
		{"=?base64??=", "", true},
		{"=?base64?=", "=?base64?=", true}, // prefix and suffix share a character: literal
		{"=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?=", true},
		{"=?base64?SGVsbG8?=", "", false},
		{"=?base64?SGVsbG9=?=", "", false}, // stray bits
		{"=?base64?/w==?=", "", false},     // no UTF-8
		{"=?base64?!!!!?=", "", false},
	} {
		got, ok := protocol.Header{Present: true, Value: c.value}.Decoded()
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", c.value, got, ok)
		}
	}
	t.Run("what is encoded is decoded again", func(t *testing.T) {
		for _, name := range []string{"plain", "", "ä", " x", "=?base64?eA==?=", "=?base64?", "a\nb"} {
			got, ok := protocol.Header{Present: true, Value: protocol.EncodeHeader(name)}.Decoded()
			if got != name || !ok {
				t.Errorf("%q came back as %q", name, got)
			}
		}
	})
}

// R-U7
func TestCheckAnswer(t *testing.T) {
	for _, c := range []struct {
		method, response string
		ok               bool
	}{
		{"elicitation/create", `{"action":"accept","content":{"input":"Luca"}}`, true},
		{"elicitation/create", `{"action":"decline"}`, true},
		{"elicitation/create", `{"action":"cancel","content":null,"more":1}`, true},
		{"elicitation/create", `{"content":{"name":"Luca"}}`, false},
		{"elicitation/create", `{"action":"yes"}`, false},
		{"elicitation/create", `{"Action":"accept"}`, false},
		{"elicitation/create", `{"action":"accept","content":"Luca"}`, false},
		{"elicitation/create", `"accept"`, false},
		{"elicitation/create", `null`, false},
		{"sampling/createMessage", `{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}`, true},
		{"sampling/createMessage", `{"role":"assistant","content":[],"model":"m","stopReason":"x"}`, true},
		{"sampling/createMessage", `{"role":"system","content":{},"model":"m"}`, false},
		{"sampling/createMessage", `{"role":"assistant","content":"x","model":"m"}`, false},
		{"sampling/createMessage", `{"role":"assistant","content":{}}`, false},
		{"roots/list", `{"roots":[]}`, true},
		{"roots/list", `{"roots":[{"uri":"file:///x","name":"x"}]}`, true},
		{"roots/list", `{"roots":[{"name":"x"}]}`, false},
		{"roots/list", `{"roots":["file:///x"]}`, false},
		{"roots/list", `{}`, false},
	} {
		if err := protocol.CheckAnswer(c.method, json.RawMessage(c.response)); (err == nil) != c.ok {
			t.Errorf("%s %s: %v", c.method, c.response, err)
		}
	}
}

// R-P6, R-H7
func TestStamp(t *testing.T) {
	info := protocol.ServerInfo{Name: "n", Version: "1"}
	for in, want := range map[string]string{
		`{}`:                     `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}`,
		`{"b":[1, 2],"a":1e2}`:   `{"b":[1, 2],"a":1e2,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}`,
		`{"_meta":null,"a":"<"}`: `{"a":"<","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}`,
		`{"a":1,"_meta":{"k":"v","io.modelcontextprotocol/related-task":{"taskId":"x"}}}`: `{"a":1,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"},"k":"v"}}`,
	} {
		got, err := protocol.Stamp(json.RawMessage(in), info)
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s (%v)\nwant %s", in, got, err, want)
		}
	}
	for _, bad := range []string{``, `[]`, `1`, `{"a":`, `{"_meta":[]}`} {
		if got, err := protocol.Stamp(json.RawMessage(bad), info); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

func TestWireSize(t *testing.T) {
	for _, text := range []string{`{}`, `{"a":"\"<&>\\"}`, "{\n\t\"ä\": 1}"} {
		inside, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := protocol.WireSize(json.RawMessage(text)), len(inside)-2; got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// R-P1, R-P3, R-P4
func TestViewTask(t *testing.T) {
	born := time.Date(2026, 12, 1, 11, 0, 0, 123_456_789, time.FixedZone("", 3600))
	made := task.Create(task.Spec{ID: "i", TTL: time.Hour, PollInterval: time.Second, MaxPollInterval: 15 * time.Second}, born)
	view := func(age time.Duration) string { return string(jsonrpc.Encode(protocol.ViewTask(made, born.Add(age)))) }
	const want = `{"taskId":"i","status":"working","createdAt":"2026-12-01T10:00:00.123Z","lastUpdatedAt":"2026-12-01T10:00:00.123Z","ttlMs":3600000,"pollIntervalMs":`
	for age, poll := range map[time.Duration]string{0: "1000}", 9 * time.Second: "1000}", 42 * time.Second: "4200}", time.Hour: "15000}"} {
		if got := view(age); got != want+poll {
			t.Errorf("after %v:\n got %s\nwant %s%s", age, got, want, poll)
		}
	}
}

func TestInputRequests(t *testing.T) {
	t.Run("they stand in the order asked", func(t *testing.T) {
		got, err := json.Marshal(protocol.InputRequests{
			{Key: "z", Method: "roots/list"},
			{Key: `a"`, Method: "elicitation/create", Params: json.RawMessage(`{"message":"?"}`)},
		})
		if want := `{"z":{"method":"roots/list"},"a\"":{"method":"elicitation/create","params":{"message":"?"}}}`; err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
	})
}

func TestReadMeta(t *testing.T) {
	for _, c := range []struct {
		name, raw      string
		modern         bool
		version, token string
		trace          bool
	}{
		{"absent", ``, false, "", "", false},
		{"no object", `[]`, false, "", "", false},
		{"a version", `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":5}`, true, "2026-07-28", "5", false},
		{"a token that is no integer", `{"progressToken":1.5}`, false, "", "", false},
		{"a token that is not written as one", `{"progressToken":1e2}`, false, "", "", false},
		{"a token below zero", `{"progressToken":-7}`, false, "", "-7", false},
		{"a version that is no string", `{"io.modelcontextprotocol/protocolVersion":5,"progressToken":{}}`, true, "", "", false},
		{"a trace", `{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`, false, "", "", true},
		{"a trace that is none", `{"traceparent":"00-x\r\n"}`, false, "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := protocol.ReadMeta(json.RawMessage(c.raw))
			if m.IsModern() != c.modern || m.Version != c.version || string(m.ProgressToken) != c.token || (m.Trace != "") != c.trace {
				t.Errorf("%+v", m)
			}
		})
	}
}
