package tool_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

type Deploy struct {
	Env string `json:"env" jsonschema:"Where to deploy to."`
}

type Deployed struct {
	Release string `json:"release"`
}

type Approval struct {
	OK     bool   `json:"ok" title:"Deploy it"`
	Reason string `json:"reason,omitempty" jsonschema:"Why, for the log."`
}

// deploy has the official SDK's own handler signature. It may wait for days
// between its question and the answer, and nothing runs meanwhile.
func deploy(ctx context.Context, _ *mcp.CallToolRequest, in Deploy) (*mcp.CallToolResult, Deployed, error) {
	plan, err := tool.Step(ctx, "plan", func(context.Context) (string, error) {
		return "release 7 to " + in.Env, nil
	})
	if err != nil {
		return nil, Deployed{}, err
	}
	approval, err := tool.Ask[Approval](ctx, "approve", "Deploy "+plan+"?")
	if err != nil {
		return nil, Deployed{}, err
	}
	if !approval.Accepted() || !approval.Value.OK {
		return nil, Deployed{}, fmt.Errorf("nobody wants %s", plan)
	}
	release, err := tool.Step(ctx, "apply", func(ctx context.Context) (string, error) {
		_ = tool.IdempotencyToken(ctx) // for whatever is called here
		return "7", nil
	})
	return nil, Deployed{Release: release}, err
}

func registry() *tool.Registry {
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "deploy", Description: "Deploys the next release."}, deploy, tool.Options{Task: tool.Required})
	return reg
}

// A tool that asks before it acts: its first run ends with the question.
func Example() {
	found, _ := registry().Lookup("deploy")
	out := found.Run(context.Background(), tool.Call{
		Arguments:    []byte(`{"env":"prod"}`),
		Capabilities: []byte(`{"elicitation":{}}`),
	})
	fmt.Printf("%s\n", out.Questions[0].Params)
	// Output: {"mode":"form","message":"Deploy release 7 to prod?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean","title":"Deploy it"},"reason":{"type":"string","description":"Why, for the log."}},"required":["ok"]}}
}

// How a tool's author tests it.
func TestDeploy(t *testing.T) {
	c := tooltest.Start(t, registry(), "deploy", Deploy{Env: "prod"})
	c.KillAfter("plan") // the process dies there; another one goes on
	c.Asked("approve")
	c.Accept("approve", Approval{OK: true})
	if got := c.Text(); got != `{"release":"7"}` {
		t.Error(got)
	}

	c = tooltest.Start(t, registry(), "deploy", Deploy{Env: "prod"})
	c.Decline("approve")
	if got := c.ToolError(); got != "nobody wants release 7 to prod" {
		t.Error(got)
	}
}

// fetch is any slow call that can be repeated.
func fetch(_ context.Context, city string) (int, error) { return len(city), nil }

type Cities struct {
	Cities []string `json:"cities"`
}

// Steps may run in parallel, in goroutines that the handler waits for.
func ExampleStep_parallel() {
	handler := func(ctx context.Context, _ *mcp.CallToolRequest, in Cities) (*mcp.CallToolResult, []int, error) {
		out := make([]int, len(in.Cities))
		errs := make(chan error, len(in.Cities))
		for i, city := range in.Cities {
			go func() {
				n, err := tool.Step(ctx, "fetch/"+city, func(ctx context.Context) (int, error) { return fetch(ctx, city) })
				out[i] = n
				errs <- err
			}()
		}
		for range in.Cities {
			if err := <-errs; err != nil {
				return nil, nil, err
			}
		}
		return nil, out, nil
	}
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "temperatures"}, handler, tool.Options{Task: tool.Optional})

	found, _ := reg.Lookup("temperatures")
	out := found.Run(context.Background(), tool.Call{Arguments: []byte(`{"cities":["Oslo","Bergen"]}`)})
	fmt.Printf("%s\n", out.Result)
	// Output: {"resultType":"complete","content":[{"type":"text","text":"[4,6]"}],"structuredContent":[4,6],"isError":false}
}
