package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

// The approval that waits a week.
//
// A tool plans a deployment, asks a person, and goes on when they have answered:
// in a minute or on Monday. Nothing runs until then. The handler reads as if it
// simply waited; in truth it runs three times, each time from the top: up to the
// question, up to the pause, and to the end. Whatever must be the same in all
// three stands in a step.
//
// What happens once: each step's value is recorded once, and the person is asked
// once, or again only if the answer does not fit the form. What may happen again:
// the effect of a step whose process died before the value was recorded. That is
// why "apply" hands a token on.

type Deploy struct {
	Env string `json:"env" jsonschema:"Where to deploy to."`
}

type Deployed struct {
	Release string `json:"release"`
}

// Approval is the form that the person fills in.
type Approval struct {
	OK     bool   `json:"ok" title:"Deploy it"`
	Reason string `json:"reason,omitempty" jsonschema:"Why, for the log."`
}

// platform stands for what a deployment calls. A request with a token that it
// knows is answered as the first time, and changes nothing.
type platform struct {
	live     int
	applied  map[string]int // by token
	requests int
}

func (p *platform) apply(token string, release int) string {
	p.requests++
	if _, known := p.applied[token]; !known {
		p.live, p.applied[token] = release, release
	}
	return fmt.Sprint(p.applied[token])
}

// deploy has the signature of the official SDK's handlers.
func (p *platform) deploy(ctx context.Context, _ *mcp.CallToolRequest, in Deploy) (*mcp.CallToolResult, Deployed, error) {
	// What is live changes, so it is read in a step: the person's answer must go
	// with the plan that the person saw.
	before, err := tool.Step(ctx, "plan", func(context.Context) (int, error) { return p.live, nil })
	if err != nil {
		return nil, Deployed{}, err
	}
	plan := fmt.Sprintf("release %d to %s", before+1, in.Env)

	// The first run ends here: Ask returns an error, and the handler returns it.
	// The run after the answer comes by again and gets the Reply. If nobody
	// answers, no run follows: the task is gone at the end of its TTL.
	approval, err := tool.Ask[Approval](ctx, "approve", "Deploy "+plan+"?")
	if err != nil {
		return nil, Deployed{}, err
	}
	if !approval.Accepted() || !approval.Value.OK { // a no is an answer, not an error of Ask
		return nil, Deployed{}, fmt.Errorf("nobody wants %s", plan)
	}

	// A week may have passed. "plan" gives what was true then, so look again, in a
	// step of another name.
	now, err := tool.Step(ctx, "look again", func(context.Context) (int, error) { return p.live, nil })
	if err != nil {
		return nil, Deployed{}, err
	}
	if now != before {
		return nil, Deployed{}, fmt.Errorf("%s was approved, but release %d is live by now", plan, now)
	}

	// An hour in which the approval can be regretted: cancelling the task ends it.
	if err := tool.Sleep(ctx, "regret", time.Hour); err != nil {
		return nil, Deployed{}, err
	}
	release, err := tool.Step(ctx, "apply", func(ctx context.Context) (string, error) {
		return p.apply(tool.IdempotencyToken(ctx), before+1), nil
	})
	return nil, Deployed{Release: release}, err
}

// The TTL is the longest that all of it may take, the waiting included.
func (p *platform) registry() *tool.Registry {
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "deploy", Description: "Deploys the next release."}, p.deploy,
		tool.Options{Task: tool.Required, TTL: 8 * 24 * time.Hour, Version: "1"})
	return reg
}

func newPlatform() *platform { return &platform{live: 6, applied: map[string]int{}} }

// A tool that asks before it acts. Its first run ends with the question; the
// run after the answer ends asleep.
func Example() {
	deploy, _ := newPlatform().registry().Lookup("deploy")
	call := tool.Call{
		Arguments:    []byte(`{"env":"prod"}`),
		Capabilities: []byte(`{"elicitation":{}}`),
		Steps:        memory{values: map[string]json.RawMessage{}},
		Now:          func() time.Time { return time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC) },
	}
	out := deploy.Run(context.Background(), call)
	fmt.Printf("%s\n", out.Questions[0].Params)

	call.Answers = []tool.Answer{{Key: "approve", Method: "elicitation/create", Response: []byte(`{"action":"accept","content":{"ok":true}}`)}}
	out = deploy.Run(context.Background(), call)
	fmt.Println("sleeps until", out.WakeAt.Format(time.TimeOnly))
	// Output:
	// {"mode":"form","message":"Deploy release 7 to prod?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean","title":"Deploy it"},"reason":{"type":"string","description":"Why, for the log."}},"required":["ok"]}}
	// sleeps until 10:00:00
}

// How its author tests it: no server, no waiting.
func TestDeploy(t *testing.T) {
	asked := func(t *testing.T) (*platform, *tooltest.Call) {
		p := newPlatform()
		c := tooltest.Start(t, p.registry(), "deploy", Deploy{Env: "prod"})
		c.KillAfterEachStep() // each process dies as soon as it has recorded a step
		c.Asked("approve")
		c.Advance(7 * 24 * time.Hour)
		return p, c
	}
	approved := func(t *testing.T) (*platform, *tooltest.Call) {
		p, c := asked(t)
		c.Accept("approve", Approval{OK: true})
		return p, c
	}
	t.Run("goes on a week later in another process", func(t *testing.T) {
		p, c := approved(t)
		if d := c.Asleep(); d != time.Hour {
			t.Errorf("asleep for %v", d)
		}
		c.Advance(time.Hour)
		if got := c.Text(); got != `{"release":"7"}` || p.requests != 1 {
			t.Errorf("%s after %d requests", got, p.requests)
		}
	})
	t.Run("does nothing without a yes", func(t *testing.T) {
		for _, no := range []any{
			map[string]any{"action": tool.Decline},
			map[string]any{"action": tool.Cancel},
			map[string]any{"action": tool.Accept, "content": Approval{OK: false}},
		} {
			p, c := asked(t)
			c.Answer("approve", no)
			if got := c.ToolError(); got != "nobody wants release 7 to prod" || p.requests != 0 {
				t.Errorf("%v: %s after %d requests", no, got, p.requests)
			}
		}
	})
	t.Run("does nothing that has become wrong", func(t *testing.T) {
		p, c := approved(t)
		p.live = 7
		if got := c.ToolError(); got != "release 7 to prod was approved, but release 7 is live by now" || p.requests != 0 {
			t.Errorf("%s after %d requests", got, p.requests)
		}
	})
	t.Run("deploys once even if the request is made twice", func(t *testing.T) {
		p, c := approved(t)
		c.KillBefore("apply") // the request was made, but the process dies before that is recorded
		c.Asleep()
		c.Advance(time.Hour)
		if got := c.Text(); got != `{"release":"7"}` || p.requests != 2 || len(p.applied) != 1 {
			t.Errorf("%s after %d requests, %d deployments", got, p.requests, len(p.applied))
		}
	})
}
