package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/infra/local"
	"toolhost/pkg/auth"
	"toolhost/pkg/clock"
	"toolhost/pkg/protocol"
	"toolhost/pkg/tool"
)

// target is a deployment on this machine, reached by HTTP, through the events of
// API Gateway. Its clock stands unless it is moved.
type target struct {
	t      *testing.T
	clock  *clock.Manual
	url    string // of the MCP endpoint
	host   string
	issuer string       // whose tokens it takes, "" for none
	jobs   chan string  // the URLs of callbacks
	token  string       // of good requests, "" for none
	runs   atomic.Int64 // of the tool that needs a scope
	// Both logs have every line: as JSON, and as text.
	lines, text *journal
}

func attacked(t *testing.T) *target {
	t.Helper()
	return attackedWith(t, nil)
}

// attackedWith changes the deployment's environment.
func attackedWith(t *testing.T, environment map[string]string) *target {
	t.Helper()
	g := &target{t: t, clock: clock.NewManual(time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)), jobs: make(chan string, 100), lines: &journal{}, text: &journal{}}
	all := &slog.HandlerOptions{Level: slog.LevelDebug}
	complete := map[string]string{"TOOLHOST_POLL_RATE": "0"}
	maps.Copy(complete, environment)
	s, err := local.Start(context.Background(), local.Options{Registry: g.tools(), Clock: g.clock,
		Environment: complete,
		Log:         slog.New(slog.NewMultiHandler(slog.NewJSONHandler(g.lines, all), slog.NewTextHandler(g.text, all)))})
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Close())
		g.logged()
	})
	g.url = s.URL
	g.host = strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/mcp")
	return g
}

type words struct {
	Text string `json:"text"`
}

// mirrored are arguments that headers repeat.
type mirrored struct {
	Region string `json:"region,omitempty" x-mcp-header:"Region"`
	Count  int    `json:"count,omitempty" x-mcp-header:"Count"`
	Dry    bool   `json:"dry,omitempty" x-mcp-header:"Dry"`
}

// tools are what there is to attack.
func (g *target) tools() *tool.Registry {
	reg := tool.New()
	echo := func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		result, err := says(in.Text, nil)
		return result, nil, err
	}
	quiz := func(ctx context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		answer, err := tool.Ask[said](ctx, "who", "Who?")
		if err != nil {
			return nil, nil, err
		}
		result, err := says(in.Text+" "+answer.Value.Name, nil)
		return result, nil, err
	}
	tool.Add(reg, &mcp.Tool{Name: "echo"}, echo, tool.Options{})
	tool.Add(reg, &mcp.Tool{Name: "quiz"}, quiz, tool.Options{})
	tool.Add(reg, &mcp.Tool{Name: "other-quiz"}, quiz, tool.Options{})
	tool.Add(reg, &mcp.Tool{Name: "ask"}, quiz, tool.Options{Task: tool.Required})
	tool.Add(reg, &mcp.Tool{Name: "park"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ words) (*mcp.CallToolResult, any, error) {
		job, err := tool.NewCallback(ctx, "job")
		if err != nil {
			return nil, nil, err
		}
		if _, err := tool.Step(ctx, "start", func(context.Context) (int, error) { g.jobs <- job.URL; return 0, nil }); err != nil {
			return nil, nil, err
		}
		body, err := tool.Await[string](ctx, job)
		if err != nil {
			return nil, nil, err
		}
		result, err := says(body, nil)
		return result, nil, err
	}, tool.Options{Task: tool.Required})
	// look shows all that a tool is given beside its arguments.
	look := func(ctx context.Context, req *mcp.CallToolRequest, _ words) (*mcp.CallToolResult, any, error) {
		p := auth.From(ctx)
		result, err := says(fmt.Sprintf("%+v %+v %+v %q %q %q", *req.Extra, req.Params.Meta, req.Session, p.Subject, p.Tenant, p.Client), nil)
		return result, nil, err
	}
	tool.Add(reg, &mcp.Tool{Name: "look"}, look, tool.Options{})
	tool.Add(reg, &mcp.Tool{Name: "look-later"}, look, tool.Options{Task: tool.Required})
	tool.AddRaw(reg, &mcp.Tool{Name: "lines", InputSchema: &jsonschema.Schema{Type: "object"}}, lines, tool.Options{})
	tool.Add(reg, &mcp.Tool{Name: "mirrored"}, func(ctx context.Context, req *mcp.CallToolRequest, _ mirrored) (*mcp.CallToolResult, any, error) {
		return echo(ctx, req, words{"taken"})
	}, tool.Options{})
	tool.Add(reg, &mcp.Tool{Name: "deploy"}, func(ctx context.Context, req *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		g.runs.Add(1)
		return echo(ctx, req, in)
	}, tool.Options{Scopes: []string{"deploy"}})
	for name, schema := range schemas {
		var s jsonschema.Schema
		must(g.t, json.Unmarshal([]byte(schema), &s))
		tool.AddRaw(reg, &mcp.Tool{Name: name, InputSchema: &s}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return says("taken", nil)
		}, tool.Options{})
	}
	return reg
}

// answer is what came of one request.
type answer struct {
	status int
	header http.Header
	body   []byte

	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (a answer) String() string { return fmt.Sprintf("%d %.300s", a.status, a.body) }

func (a answer) code() int {
	if a.Error == nil {
		return 0
	}
	return a.Error.Code
}

// toolError is the text of a result that has isError, "" of any other.
func (a answer) toolError() string {
	var r struct {
		IsError bool                    `json:"isError"`
		Content []struct{ Text string } `json:"content"`
	}
	if json.Unmarshal(a.Result, &r) != nil || !r.IsError || len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

func (a answer) read(t *testing.T) seen {
	t.Helper()
	return reply{Body: string(a.body)}.read(t)
}

// leaks is what no answer may show (R-V4): names of Go types, packages and files,
// stacks, addresses, AWS and what is ours there.
var leaks = regexp.MustCompile(`goroutine |\.go\b|/usr/|/root|/tmp/|/work|runtime error|panic|toolhost/(pkg|infra|functions)|encoding/|json: |strconv|` +
	`\*[a-z]+\.[A-Z]|map\[|interface ?\{|(?i:dynamo|sqs|arn:aws|exception|lambda|unmarshal|nil pointer)|invalid character|0x[0-9a-f]{6,}|127\.0\.0\.1:|\[recovered\]`)

// sound sees that an answer is none of a server that was hurt: no 5xx, and
// nothing of its inside. What the attacker sent may come back.
func (g *target) sound(what string, a answer, sent string) {
	g.t.Helper()
	if a.status >= 500 {
		g.t.Errorf("%s: %d %.300s", what, a.status, a.body)
	}
	var shown bytes.Buffer
	must(g.t, a.header.Write(&shown))
	shown.Write(a.body)
	text := strings.ReplaceAll(shown.String(), g.host, "")
	if g.issuer != "" {
		text = strings.ReplaceAll(text, g.issuer, "")
	}
	for _, leak := range leaks.FindAllString(text, -1) {
		if !strings.Contains(sent, leak) {
			g.t.Errorf("%s: %q is shown: %.300s", what, leak, a.body)
		}
	}
}

// alive sees that a good request is answered as ever.
func (g *target) alive() {
	g.t.Helper()
	a := g.call("echo", words{"still here"})
	if a.status != 200 || !strings.Contains(string(a.Result), "still here") {
		g.t.Fatalf("the server is hurt: %d %.300s", a.status, a.body)
	}
}

// send sends a request, and sees that its answer is sound.
func (g *target) send(what, method, url string, header http.Header, body string) answer {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, url, strings.NewReader(body))
	must(g.t, err)
	r.Header = header
	if g.token != "" && header["Authorization"] == nil {
		r.Header.Set("Authorization", "Bearer "+g.token)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		g.t.Errorf("%s: %v", what, err)
		return answer{}
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.body, err = io.ReadAll(response.Body); err != nil {
		g.t.Errorf("%s: %v", what, err)
	}
	_ = json.Unmarshal(bytes.TrimSpace(a.body), &a)
	g.sound(what, a, body+url+fmt.Sprint(header))
	return a
}

// post sends a body to /mcp, which answers all of them with JSON-RPC.
func (g *target) post(what string, header http.Header, body string) answer {
	g.t.Helper()
	a := g.send(what, http.MethodPost, g.url, header, body)
	var e struct {
		JSONRPC string `json:"jsonrpc"`
	}
	batch := len(a.body) > 0 && a.body[0] == '['
	if err := json.Unmarshal(a.body, &e); a.status != http.StatusAccepted && !batch && (err != nil || e.JSONRPC != "2.0" || (a.Error == nil) == (a.Result == nil)) {
		g.t.Errorf("%s: no JSON-RPC: %d %.300s", what, a.status, a.body)
	}
	return a
}

// headers are those of a good request.
func headers(revision, method, name string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {revision}, "Mcp-Method": {method}}
	if name != "" {
		h.Set(protocol.HeaderName, protocol.EncodeHeader(name))
	}
	return h
}

// message is a good request's body.
func message(method string, params map[string]any) string {
	p := map[string]any{"_meta": json.RawMessage(meta)}
	for k, v := range params {
		p[k] = v
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "q", "method": method, "params": p})
	if err != nil {
		panic(err)
	}
	return string(body)
}

const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + everything + `}`

// modern sends a good request with these params.
func (g *target) modern(method string, params map[string]any) answer {
	g.t.Helper()
	h := headers(protocol.Revision20260728, method, "")
	for _, mirrored := range []string{"name", "taskId"} {
		if name, ok := params[mirrored].(string); ok {
			h.Set(protocol.HeaderName, protocol.EncodeHeader(name))
		}
	}
	return g.post(method, h, message(method, params))
}

// legacy sends a good request of a client of 2025-11-25.
func (g *target) legacy(method string, params map[string]any) answer {
	g.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "q", "method": method, "params": params})
	must(g.t, err)
	return g.post(method, headers(protocol.Revision20251125, method, ""), string(body))
}

func (g *target) call(name string, arguments any) answer {
	g.t.Helper()
	return g.modern(protocol.MethodToolsCall, map[string]any{"name": name, "arguments": arguments})
}

// task makes a task.
func (g *target) task(name string) (id string) {
	g.t.Helper()
	id = g.call(name, words{"hello"}).read(g.t).Result.TaskID
	if id == "" {
		g.t.Fatalf("%s is no task", name)
	}
	return id
}

// until polls a task until it has a status.
func (g *target) until(id, status string) answer {
	g.t.Helper()
	for {
		a := g.modern(protocol.MethodTasksGet, named(id))
		switch now := a.read(g.t).Result.Status; {
		case now == status:
			return a
		case now != "working":
			g.t.Fatalf("the task is %s, not %s", a.body, status)
		}
	}
}

// forged is what an attacker would like to see in the log.
const forged = "FORGED"

// logged sees that each line of the log is one that was logged.
func (g *target) logged() {
	for line := range strings.Lines(g.lines.String()) {
		var entry struct {
			Level, Msg string
			Time       time.Time
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Time.IsZero() || strings.Contains(entry.Msg, forged) {
			g.t.Errorf("a line of the log is forged: %s", line)
		}
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(c rune) bool { return c < ' ' }) {
			g.t.Errorf("a line of the log has control characters: %q", line)
		}
		if entry.Msg == "the HTTP handler panicked" || strings.Contains(line, "panic:") {
			g.t.Errorf("the server panicked: %.2000s", line)
		}
	}
	for line := range strings.Lines(g.text.String()) {
		if !strings.HasPrefix(line, "time=") || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(c rune) bool { return c < ' ' }) {
			g.t.Errorf("a line of the log is forged: %q", line)
		}
	}
}

// oneOf reports whether the value is one that is wanted.
func oneOf[T comparable](v T, wanted ...T) bool { return slices.Contains(wanted, v) }
