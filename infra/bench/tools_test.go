package bench

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/clock"
	"toolhost/pkg/tool"
)

var quiet = slog.New(slog.DiscardHandler)

type nothing struct{}

type person struct {
	Name string `json:"name" jsonschema:"whom to greet"`
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func greet(_ context.Context, _ *mcp.CallToolRequest, in person) (*mcp.CallToolResult, any, error) {
	return text("Hello, " + in.Name + "!"), nil, nil
}

var greeting = mcp.Tool{Name: "greet", Description: "Greets somebody."}

// large is a size at which a payload leaves its task's item.
const large = 200_000

// noise is text that hardly shrinks, always the same.
var noise = func() string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	b, random := make([]byte, large), rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = letters[random.IntN(len(letters))]
	}
	return string(b)
}()

// waiting hands out how a tool that works is let go on.
var waiting = make(chan chan struct{}, 1)

// tools are the tools of these tests, one for each kind of life.
func tools(urls chan<- string) *tool.Registry {
	r := tool.New()
	durable := tool.Options{Task: tool.Required, TTL: 7 * 24 * time.Hour}
	tool.Add(r, &greeting, greet, tool.Options{})
	add(r, "short", durable, func(context.Context) (string, error) { return "done", nil })
	add(r, "ask", durable, func(ctx context.Context) (string, error) {
		whom, err := tool.Ask[person](ctx, "whom", "Whom is it for?")
		return whom.Value.Name, err
	})
	add(r, "deploy", durable, func(ctx context.Context) (string, error) {
		step := func(name string) (string, error) {
			return tool.Step(ctx, name, func(context.Context) (string, error) { return name + " done", nil })
		}
		if _, err := step("plan"); err != nil {
			return "", err
		}
		if _, err := step("build"); err != nil {
			return "", err
		}
		if _, err := tool.Ask[person](ctx, "whom", "Whom is it for?"); err != nil {
			return "", err
		}
		return step("publish")
	})
	add(r, "sleep", durable, func(ctx context.Context) (string, error) { return "awake", tool.Sleep(ctx, "rest", time.Hour) })
	add(r, "await", durable, func(ctx context.Context) (string, error) {
		c, err := tool.NewCallback(ctx, "job")
		if err != nil {
			return "", err
		}
		if _, err := tool.Step(ctx, "start", func(context.Context) (int, error) { urls <- c.URL; return 0, nil }); err != nil {
			return "", err
		}
		return tool.Await[string](ctx, c)
	})
	add(r, "long", durable, func(context.Context) (string, error) {
		over := make(chan struct{})
		waiting <- over
		<-over
		return "worked", nil
	})
	type document struct {
		Text string `json:"text"`
	}
	tool.Add(r, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in document) (*mcp.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	}, durable)
	return r
}

func add(r *tool.Registry, name string, o tool.Options, do func(context.Context) (string, error)) {
	tool.Add(r, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		s, err := do(ctx)
		if err != nil {
			return nil, nil, err
		}
		return text(s), nil, nil
	}, o)
}

// paced is a clock that tells a test, if it listens, of everybody who begins to
// wait for a time.
type paced struct {
	*clock.Manual
	asked chan time.Duration
}

// After implements clock.Clock.
func (p *paced) After(d time.Duration) (<-chan time.Time, func()) {
	c, stop := p.Manual.After(d)
	if p.asked != nil {
		p.asked <- d
	}
	return c, stop
}

// workFor plays the run of a tool that takes a time: whenever the worker waits
// again for its next heartbeat, the clock moves there. run invokes it.
func (d *deployment) workFor(long time.Duration, run func()) {
	d.tb.Helper()
	d.clock.asked = make(chan time.Duration)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run()
	}()
	<-d.clock.asked // the run's end
	until := d.clock.Now().Add(long)
	for beat := range d.clock.asked {
		if d.clock.Now().Add(beat).After(until) {
			break
		}
		d.clock.Advance(beat)
	}
	close(<-waiting)
	<-ended
	d.clock.asked = nil
}

func arguments(text string) string { return fmt.Sprintf(`{"text":%q}`, text) }
