package durability

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/clock"
	"toolhost/pkg/tool"
)

// journal is a file in which the tools note every effect that they have: the
// world outside, which no crash undoes.
type journal string

// effect is something that a step did.
type effect struct {
	Call  string // names the call
	Step  string
	Token string // the step's idempotency token
	// Job is the URL at which a job that the step began says that it is done.
	Job string `json:",omitempty"`
}

// do is a step with an effect.
func (j journal) do(ctx context.Context, name, value string) (string, error) {
	return j.step(ctx, name, value, effect{}, func(context.Context) error { return nil })
}

// step is a step that does something, and then has an effect.
func (j journal) step(ctx context.Context, name, value string, e effect, do func(context.Context) error) (string, error) {
	e.Call, e.Step = tool.IdempotencyToken(ctx), name
	return tool.Step(ctx, name, func(ctx context.Context) (string, error) {
		if err := do(ctx); err != nil {
			return "", err
		}
		e.Token = tool.IdempotencyToken(ctx)
		line, err := json.Marshal(e)
		if err != nil {
			return "", err
		}
		f, err := os.OpenFile(string(j), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = f.Write(append(line, '\n')) // one write, which is atomic
		return value, err
	})
}

// effects reads the journal.
func (j journal) effects(t *testing.T) (all []effect) {
	t.Helper()
	f, err := os.Open(string(j))
	if os.IsNotExist(err) {
		return nil
	}
	must(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e effect
		must(t, json.Unmarshal(lines.Bytes(), &e))
		all = append(all, e)
	}
	return all
}

type storyArguments struct {
	Note string `json:"note"` // large: it is stored apart from the task
}

type nameAnswer struct {
	Name string `json:"name"`
}

// rest is how long the story sleeps: longer than one message can be delayed.
const rest = 20 * time.Minute

// storyText is what comes of the story.
func storyText(note string) string {
	return "planned for Ada, built in Oslo, published for Bob: " + note
}

// hosted are the tools of every process here.
func hosted(j journal, machine clock.Clock) *tool.Registry {
	reg := tool.New()
	text := func(format string, a ...any) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, a...)}}}
	}

	ask := func(key, state string) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{RequestState: state, InputRequests: mcp.InputRequestMap{key: &mcp.ElicitParams{
			Message: key + "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}}}, nil, nil
	}

	// story does all that a tool can do.
	tool.Add(reg, &mcp.Tool{Name: "story"}, func(ctx context.Context, _ *mcp.CallToolRequest, in storyArguments) (*mcp.CallToolResult, any, error) {
		plan, err := j.do(ctx, "plan", "planned")
		if err != nil {
			return nil, nil, err
		}
		whom, err := tool.Ask[nameAnswer](ctx, "whom", "Whom is it for?")
		if err != nil {
			return nil, nil, err
		}
		job, err := tool.NewCallback(ctx, "job")
		if err != nil {
			return nil, nil, err
		}
		build, err := j.step(ctx, "build", "built", effect{Job: job.URL}, func(context.Context) error { return nil })
		if err != nil {
			return nil, nil, err
		}
		if err := tool.Sleep(ctx, "rest", rest); err != nil {
			return nil, nil, err
		}
		where, err := tool.Await[string](ctx, job)
		if err != nil {
			return nil, nil, err
		}
		by, err := tool.Ask[nameAnswer](ctx, "by", "Who publishes it?")
		if err != nil {
			return nil, nil, err
		}
		publish, err := j.do(ctx, "publish", "published")
		if err != nil {
			return nil, nil, err
		}
		return text("%s for %s, %s %s, %s for %s: %s", plan, whom.Value.Name, build, where, publish, by.Value.Name, in.Note), nil, nil
	}, tool.Options{Task: tool.Required, TTL: 7 * 24 * time.Hour})

	// ask asks one question, and is never tired of dying.
	tool.Add(reg, &mcp.Tool{Name: "ask"}, func(ctx context.Context, _ *mcp.CallToolRequest, in nameAnswer) (*mcp.CallToolResult, any, error) {
		whom, err := tool.Ask[nameAnswer](ctx, "whom", "Whom is it for?")
		if err != nil {
			return nil, nil, err
		}
		if _, err := j.do(ctx, "greet", "greeted"); err != nil {
			return nil, nil, err
		}
		return text("%s greets %s", in.Name, whom.Value.Name), nil, nil
	}, tool.Options{Task: tool.Required, TTL: 30 * 24 * time.Hour, Attempts: 100})

	// deaf hears of nothing, and never ends.
	tool.Add(reg, &mcp.Tool{Name: "deaf"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		select {}
	}, tool.Options{Task: tool.Required})

	// wizard is written for the official SDK, and knows nothing of Toolhost.
	tool.Add(reg, &mcp.Tool{Name: "wizard"}, func(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		said := req.Params.RequestState
		if answer, ok := req.Params.InputResponses["whom"].(*mcp.ElicitResult); ok {
			return ask("by", fmt.Sprint(answer.Content["name"]))
		}
		if answer, ok := req.Params.InputResponses["by"].(*mcp.ElicitResult); ok {
			return text("%s and %s", said, answer.Content["name"]), nil, nil
		}
		return ask("whom", "")
	}, tool.Options{Task: tool.Required})

	// nap sleeps for days.
	tool.Add(reg, &mcp.Tool{Name: "nap"}, func(ctx context.Context, _ *mcp.CallToolRequest, in napArguments) (*mcp.CallToolResult, any, error) {
		if err := tool.Sleep(ctx, "nap", time.Duration(in.Hours)*time.Hour); err != nil {
			return nil, nil, err
		}
		return text("slept for %d hours", in.Hours), nil, nil
	}, tool.Options{Task: tool.Required, TTL: 30 * 24 * time.Hour})

	// work works for some minutes, a minute a step; the time is the clock's.
	tool.Add(reg, &mcp.Tool{Name: "work"}, func(ctx context.Context, _ *mcp.CallToolRequest, in workArguments) (*mcp.CallToolResult, any, error) {
		minute := func(ctx context.Context) error {
			over, stop := machine.After(time.Minute)
			defer stop()
			select {
			case <-over:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for i := range in.Minutes {
			if _, err := j.step(ctx, fmt.Sprint("minute ", i+1), "", effect{}, minute); err != nil {
				return nil, nil, err
			}
		}
		return text("worked for %d minutes", in.Minutes), nil, nil
	}, tool.Options{Task: tool.Required})
	return reg
}

type napArguments struct {
	Hours int `json:"hours"`
}

type workArguments struct {
	Minutes int `json:"minutes"`
}

// note is a text that is stored apart from its task, even if compressed.
var note = func() string {
	var b strings.Builder
	for i := range 700 {
		fmt.Fprintf(&b, "%x ", i*i*i)
	}
	return b.String()
}()
