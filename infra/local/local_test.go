package local

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/infra/emulator"
	"toolhost/pkg/client"
	"toolhost/pkg/fault"
	"toolhost/pkg/tool"
)

type nameInput struct {
	Name string `json:"name"`
}

type approval struct {
	Confirm bool `json:"confirm"`
}

// fixture has a tool of each kind, and tells when one has begun.
type fixture struct {
	reg   *tool.Registry
	begun chan struct{} // receives when "endless" runs
}

func newFixture() fixture {
	f := fixture{reg: tool.New(), begun: make(chan struct{}, 10)}
	tool.Add(f.reg, &mcp.Tool{Name: "greet", Description: "Greets."},
		func(_ context.Context, _ *mcp.CallToolRequest, in nameInput) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "Hello, " + in.Name + "!"}}}, nil, nil
		}, tool.Options{})
	tool.Add(f.reg, &mcp.Tool{Name: "deploy", Description: "Deploys, once approved."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in nameInput) (*mcp.CallToolResult, any, error) {
			plan, err := tool.Step(ctx, "plan", func(context.Context) (string, error) { return "plan of " + in.Name, nil })
			if err != nil {
				return nil, nil, err
			}
			a, err := tool.Ask[approval](ctx, "approve", "Deploy "+plan+"?")
			if err != nil {
				return nil, nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: plan + " " + strconv.FormatBool(a.Value.Confirm)}}}, nil, nil
		}, tool.Options{Task: tool.Required, PollInterval: 100 * time.Millisecond})
	tool.Add(f.reg, &mcp.Tool{Name: "endless", Description: "Runs until it is stopped, or was before."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in nameInput) (*mcp.CallToolResult, any, error) {
			f.begun <- struct{}{}
			if in.Name == "end" {
				return &mcp.CallToolResult{}, nil, nil
			}
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}, tool.Options{Task: tool.Required, Rerun: true})
	return f
}

func start(t *testing.T, o Options) *Stack {
	t.Helper()
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func yes(context.Context, client.Question) (json.RawMessage, error) {
	return json.RawMessage(`{"action":"accept","content":{"confirm":true}}`), nil
}

func TestStart(t *testing.T) {
	// Case 41
	t.Run("a call, and a task with a question and its answer", func(t *testing.T) {
		s := start(t, Options{Registry: newFixture().reg})
		c := client.New(s.URL, client.Options{Answerer: yes})
		got, err := c.Call(t.Context(), "greet", json.RawMessage(`{"name":"Ada"}`), client.Watch{})
		if err != nil || !strings.Contains(string(got), "Hello, Ada!") {
			t.Fatalf("%s, %v", got, err)
		}
		var seen []string
		got, err = c.Call(t.Context(), "deploy", json.RawMessage(`{"name":"x"}`), client.Watch{Task: func(u client.Task) { seen = append(seen, u.Status) }})
		if err != nil || !strings.Contains(string(got), "plan of x true") {
			t.Fatalf("%s, %v", got, err)
		}
		want(t, "first status", seen[0], "working")
		visible, delayed, _ := s.SQS.Depth(s.Queue) // the last one is deleted after its answer is there
		want(t, "messages left", visible+delayed, 0)
	})

	t.Run("the handle of a long call comes before its tool has begun", func(t *testing.T) { // case 42
		answered, faults, f := make(chan struct{}), &emulator.Faults{}, newFixture()
		faults.Inject(func(c emulator.Call) emulator.Effect {
			if c.Operation == "ReceiveMessage" {
				<-answered
			}
			return emulator.Serve
		})
		s := start(t, Options{Registry: f.reg, Faults: faults})
		o, err := client.New(s.URL, client.Options{}).Start(t.Context(), "endless", json.RawMessage(`{"name":"end"}`), client.Watch{})
		if err != nil || o.Task == nil || len(f.begun) != 0 {
			t.Errorf("%+v, %v, %d runs", o, err, len(f.begun))
		}
		close(answered)
		<-f.begun
	})

	// Cases 41, 48: a restarted laptop goes on with its tasks.
	t.Run("a task outlives the process", func(t *testing.T) {
		dir := t.TempDir()
		first, err := Start(t.Context(), Options{Registry: newFixture().reg, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		o, err := client.New(first.URL, client.Options{Answerer: yes}).Start(t.Context(), "deploy", json.RawMessage(`{"name":"y"}`), client.Watch{})
		if err != nil || o.Task == nil {
			t.Fatalf("%+v, %v", o, err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		second := start(t, Options{Registry: newFixture().reg, Dir: dir})
		got, err := client.New(second.URL, client.Options{Answerer: yes}).Wait(t.Context(), o.Task.ID, client.Watch{})
		if err != nil || !strings.Contains(string(got), "plan of y true") {
			t.Errorf("%s, %v", got, err)
		}
	})

	t.Run("its end releases a running tool, and the next start takes it up", func(t *testing.T) {
		dir, f := t.TempDir(), newFixture()
		ctx, interrupt := context.WithCancel(t.Context())
		first, err := Start(ctx, Options{Registry: f.reg, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.New(first.URL, client.Options{}).Start(t.Context(), "endless", json.RawMessage(`{"name":"x"}`), client.Watch{}); err != nil {
			t.Fatal(err)
		}
		<-f.begun
		interrupt()
		if err := first.Wait(); err != nil {
			t.Fatal(err)
		}
		if _, err := http.Get(first.URL); err == nil {
			t.Error("it still answers")
		}
		start(t, Options{Registry: f.reg, Dir: dir})
		<-f.begun
	})

	t.Run("several workers", func(t *testing.T) {
		f := newFixture()
		s := start(t, Options{Registry: f.reg, Workers: 3})
		c := client.New(s.URL, client.Options{})
		for range 3 {
			if _, err := c.Start(t.Context(), "endless", json.RawMessage(`{"name":"x"}`), client.Watch{}); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			<-f.begun // none waits for another's end
		}
	})

	t.Run("faults and meters are at hand", func(t *testing.T) {
		s := start(t, Options{Registry: newFixture().reg})
		s.Faults.Inject(func(c emulator.Call) emulator.Effect {
			if c.Operation == "SendMessage" {
				return emulator.Fail
			}
			return emulator.Serve
		})
		_, err := client.New(s.URL, client.Options{Tries: 1}).Start(t.Context(), "endless", json.RawMessage(`{"name":"end"}`), client.Watch{})
		want(t, "no promise that is not kept", err != nil, true)
		want(t, "sends", s.Faults.Counts()["sqs/SendMessage"] > 0, true)
		want(t, "writes", s.DynamoDB.Meter()["PutItem"].Calls, 1)
	})

	t.Run("a port in use", func(t *testing.T) {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		port := taken.Addr().(*net.TCPAddr).Port
		_, err = Start(t.Context(), Options{Registry: newFixture().reg, Port: port})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(fault.Message(err), "PORT=") || !strings.Contains(fault.Message(err), strconv.Itoa(port)) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("an environment that is wrong is named", func(t *testing.T) {
		_, err := Start(t.Context(), Options{Registry: newFixture().reg, Environment: map[string]string{"TOOLHOST_MAX_BODY": "many"}})
		if err == nil || !strings.Contains(err.Error(), "TOOLHOST_MAX_BODY") {
			t.Errorf("got %v", err)
		}
	})

	t.Run("a page that points its own name here is refused", func(t *testing.T) {
		s := start(t, Options{Registry: newFixture().reg})
		r := post(t, s.URL, `{}`)
		r.Host = "evil.example"
		response, _ := fetch(t, r)
		want(t, "status", response.StatusCode, http.StatusForbidden)
	})
}
