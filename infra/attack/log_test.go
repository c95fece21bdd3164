package attack

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/protocol"
	"toolhost/pkg/tool"
)

// poison is what looks like lines of a log, and what a terminal obeys.
var poison = []string{
	"x\n{\"time\":\"2026-12-01T08:00:00Z\",\"level\":\"ERROR\",\"msg\":\"" + forged + "\"}\n",
	"x\r\ntime=2026-12-01T08:00:00Z level=ERROR msg=" + forged + "\r\n",
	"\x1b[2J\x1b[31m" + forged + "\x1b]0;title\x07", "\x00" + forged, "\u2028" + forged + "\u2029", "\u0085" + forged, "\u202e" + forged, "\b\b\b" + forged,
	`","msg":"` + forged + `","x":"`, "%s%n%x%!d(" + forged + ")", "${jndi:ldap://127.0.0.1:1/" + forged + "}", "<script>" + forged + "</script>", "'; DROP TABLE tasks; -- " + forged,
	strings.Repeat(forged+" ", 5000/smaller),
}

// TestLogInjection puts lines of a log, and what a terminal obeys, wherever a
// client's words may go. That each line of both logs is one that was logged is
// seen at the end of every test here.
func TestLogInjection(t *testing.T) { // R-V3, R-V4
	g := attacked(t)
	for _, word := range poison {
		quoted, err := json.Marshal(word)
		must(t, err)
		for what, body := range map[string]string{
			"a method":             `{"jsonrpc":"2.0","id":"q","method":` + string(quoted) + `,"params":{"_meta":` + meta + `}}`,
			"a tool":               message(protocol.MethodToolsCall, map[string]any{"name": word}),
			"an argument":          message(protocol.MethodToolsCall, map[string]any{"name": "pattern", "arguments": map[string]any{word: word, "s": word}}),
			"a task":               message(protocol.MethodTasksGet, named(word)),
			"an id":                `{"jsonrpc":"2.0","id":` + string(quoted) + `,"method":"nothing","params":{"_meta":` + meta + `}}`,
			"a version":            `{"jsonrpc":"2.0","id":"q","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":` + string(quoted) + `,"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"a client's name":      strings.Replace(message(protocol.MethodToolsList, nil), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/clientInfo":{"name":`+string(quoted)+`,"version":`+string(quoted)+`},"traceparent":`+string(quoted)+`,"progressToken":`+string(quoted)+`,`, 1),
			"an idempotency key":   message(protocol.MethodToolsCall, map[string]any{"name": "ask", "arguments": words{"x"}, "_meta": keyed(word)}),
			"a log level":          strings.Replace(message(protocol.MethodToolsList, nil), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":`+string(quoted)+`,`, 1),
			"a task's description": message(protocol.MethodToolsCall, map[string]any{"name": "ask", "arguments": words{word}}),
			"a notification":       `{"jsonrpc":"2.0","method":` + string(quoted) + `,"params":{"reason":` + string(quoted) + `}}`,
			"capabilities":         `{"jsonrpc":"2.0","id":"q","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{` + string(quoted) + `:{}}}}}`,
		} {
			var m struct {
				Method string
				Params struct{ Name, TaskID string }
			}
			_ = json.Unmarshal([]byte(body), &m)
			h := headers(protocol.Revision20260728, m.Method, "")
			if name := m.Params.Name + m.Params.TaskID; name != "" {
				h.Set(protocol.HeaderName, protocol.EncodeHeader(name))
			}
			if strings.ContainsFunc(m.Method, func(c rune) bool { return c < ' ' || c == 0x7f }) {
				h.Set(protocol.HeaderMethod, "x") // no header can say it
			}
			if a := g.post(what, h, body); len(a.body) > 4<<10 && what != "an id" && !strings.Contains(what, "client's") && !strings.Contains(what, "level") && !strings.Contains(what, "capabilities") {
				t.Errorf("%s: an answer of %d bytes: %s", what, len(a.body), a)
			}
		}
		plain := strings.Map(func(c rune) rune {
			if c < ' ' || c == 0x7f {
				return -1
			}
			return c
		}, word)
		for _, name := range []string{"User-Agent", "X-Forwarded-For", "X-Amzn-Trace-Id", "X-Request-Id", "Referer", "Cookie", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Param-X", "Content-Type", "Origin", "Traceparent"} {
			h := headers(protocol.Revision20260728, protocol.MethodToolsList, "")
			h.Set(name, plain)
			g.post(name, h, message(protocol.MethodToolsList, nil))
		}
		g.send("a callback", http.MethodPost, "http://"+g.host+"/callbacks/x", http.Header{"User-Agent": {plain}}, string(quoted))
	}
	g.alive()
}

// TestMethods calls what there is not.
func TestMethods(t *testing.T) { // R-H3, R-N9
	g := attacked(t)
	for _, method := range []string{
		"", " ", "tools/call ", " tools/call", "TOOLS/CALL", "Tools/Call", "tools//call", "tools/call/", "/tools/call", "../tools/call", "tools\\call", "tools.call", "tools/call\x00", "tools/call\n",
		"tools/\u0441all", "tools/call\u200b", "rpc.discover", "__proto__", "constructor", "toString", "tasks/list", "tasks/result", "tasks/delete", "initialize", "ping", "logging/setLevel",
		"resources/subscribe", "resources/read", "prompts/get", "completion/complete", "sampling/createMessage", "elicitation/create", "roots/list", "notifications/cancelled",
		"notifications/tasks", "$/cancelRequest", "%s%n", "🦆", strings.Repeat("x", 100_000), strings.Repeat("tools/", 10_000),
	} {
		h := headers(protocol.Revision20260728, "", "")
		h.Set(protocol.HeaderMethod, method)
		mirrored := method == strings.Trim(method, " \t") && !strings.ContainsAny(method, "\x00\n")
		if !mirrored {
			h.Set(protocol.HeaderMethod, strings.Trim(method, " \t\x00\n"))
		}
		a := g.post(method, h, message(method, nil))
		if want := map[bool]int{true: -32601, false: -32020}[mirrored]; a.code() != want && !(len(method) > 90_000 && a.code() == -32601) || string(a.ID) != `"q"` || len(a.body) > 1<<10 {
			t.Errorf("%.50q: %s", method, a)
		}
		if a.code() == -32601 && a.status != http.StatusNotFound {
			t.Errorf("%.50q: %s", method, a)
		}
	}
	g.alive()
}

// broken is JSON with line breaks where white space may be, of which a reader of
// events would make lines of its own.
const broken = "{\r\"a\":\r\r[1,\n\n2,\r\n\r\n\"data: x\\r\\n\\r\\ndata: y\"],\r\n\"data\"\r:\r1}"

// lines hands out all that it can with line breaks in it.
func lines(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	raw := json.RawMessage(broken)
	tool.Report(ctx, 1, 2, "one\r\rdata: {}\n\ndata: two")
	var in struct{ How string }
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, err
	}
	switch in.How {
	case "error":
		return nil, &sdk.Error{Code: 4711, Message: "a\r\rdata: b", Data: raw}
	case "question":
		_, err := tool.AskRaw(ctx, tool.Question{Key: "k\r\rdata: k", Method: "elicitation/create", Params: raw})
		return nil, err
	}
	return &mcp.CallToolResult{StructuredContent: raw, Meta: mcp.Meta{"x": raw}}, nil
}

// TestEventInjection puts line breaks into all that may become an event: each event
// is one message all the same.
func TestEventInjection(t *testing.T) { // R-L7, R-L8
	g := attacked(t)
	for _, how := range []string{"result", "error", "question"} {
		for _, id := range []string{`"q\r\rdata: {}\n\ndata: {}"`, `"\u000d\u000adata:"`} {
			body := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"lines","arguments":{"how":"` + how + `"},"_meta":` +
				strings.Replace(meta, "{", `{"progressToken":`+id+`,`, 1) + `}}`
			a := g.send(how, http.MethodPost, g.url, headers(protocol.Revision20260728, protocol.MethodToolsCall, "lines"), body)
			if a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" {
				t.Errorf("%s: %s", how, a)
			}
			events := 0
			for event := range strings.SplitSeq(strings.TrimSpace(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(a.body))), "\n\n") {
				var data []string
				for line := range strings.Lines(event) {
					switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":"); name {
					case "data":
						data = append(data, value)
					case "event", "":
					default:
						t.Errorf("%s: a line %q", how, line)
					}
				}
				if events++; !json.Valid([]byte(strings.Join(data, "\n"))) {
					t.Errorf("%s: an event %q", how, event)
				}
			}
			if events != 2 {
				t.Errorf("%s: %d events in %q", how, events, a.body)
			}
		}
	}
	g.alive()
}
