package tools

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
)

// shares are the instances, in percent, that get the new version in each stage
// of an environment's rollout.
var shares = map[string][]int{
	"development": {100},
	"staging":     {50, 100},
	"production":  {5, 25, 100},
}

func registerDeployApproval(reg *tool.Registry) {
	tool.Add(reg, &mcp.Tool{
		Name:  "deploy_approval",
		Title: "Rehearse a deployment that a person approves",
		Description: "Plans the rollout of a version of a service, asks a person to approve the plan and to choose when to begin, waits for that as long as need be, up to 7 days in all, and then goes through it step by step. " +
			"It is a rehearsal: nothing outside is changed; each step gives a receipt, a digest that chains it to the plan and the steps before. " +
			"Without an approval nothing is gone through, and the result says so.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)},
		InputSchema: inputSchema[deployApprovalInput](func(p map[string]*jsonschema.Schema) {
			p["service"].Pattern = "^[a-z][a-z0-9-]{0,62}$"
			p["version"].Pattern = "^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$"
			p["environment"].Enum = []any{"development", "staging", "production"}
		}),
	}, deployApproval, tool.Options{Task: tool.Required, TTL: 7 * 24 * time.Hour, Version: "1", Scopes: []string{"deploy"}})
}

type deployApprovalInput struct {
	Service     string `json:"service" jsonschema:"the service's name: lower-case letters, digits and hyphens"`
	Version     string `json:"version" jsonschema:"the version to roll out, such as 1.4.2"`
	Environment string `json:"environment" jsonschema:"development, staging or production"`
}

// approval is the form that a person fills in.
type approval struct {
	Approve bool   `json:"approve" title:"Approve" jsonschema:"go through the plan"`
	Window  string `json:"window" title:"Start" jsonschema:"when to begin" enum:"now|in an hour|tomorrow" default:"now"`
	Note    string `json:"note,omitempty" title:"Note" jsonschema:"a note for the record" maxLength:"1000"`
}

// windows are how long an approved plan waits, by the choice in the form.
var windows = map[string]time.Duration{
	"now":        0,
	"in an hour": time.Hour,
	"tomorrow":   24 * time.Hour,
}

type deployApprovalOutput struct {
	Outcome  string          `json:"outcome" jsonschema:"rehearsed, rejected (answered without approval), declined (would not answer) or dismissed (closed the question)"`
	Message  string          `json:"message" jsonschema:"the outcome in a sentence"`
	Note     string          `json:"note,omitempty" jsonschema:"the note of who answered"`
	Plan     deployPlan      `json:"plan" jsonschema:"what was put before the person"`
	Receipts []deployReceipt `json:"receipts" jsonschema:"one for each step that was gone through; empty without an approval"`
}

type deployPlan struct {
	Summary string       `json:"summary" jsonschema:"the plan in a sentence"`
	Digest  string       `json:"digest" jsonschema:"SHA-256 of the plan; the same input gives the same plan"`
	Steps   []deployStep `json:"steps" jsonschema:"in the order in which they are gone through"`
}

type deployStep struct {
	Name string `json:"name" jsonschema:"unique within the plan"`
	Does string `json:"does" jsonschema:"what a real deployment would do"`
}

type deployReceipt struct {
	Step   string `json:"step" jsonschema:"the step's name"`
	Digest string `json:"digest" jsonschema:"SHA-256 over the digest before it (the plan's for the first) and the step"`
}

func deployApproval(ctx context.Context, _ *mcp.CallToolRequest, in deployApprovalInput) (*mcp.CallToolResult, deployApprovalOutput, error) {
	plan, err := tool.Step(ctx, "plan", func(context.Context) (deployPlan, error) { return planDeploy(in), nil })
	if err != nil {
		return nil, deployApprovalOutput{}, err
	}
	out := deployApprovalOutput{Plan: plan, Receipts: []deployReceipt{}}

	answer, err := tool.Ask[approval](ctx, "approve", plan.question())
	if err != nil {
		return nil, deployApprovalOutput{}, err
	}
	out.Note = answer.Value.Note
	switch {
	case answer.Action == tool.Decline:
		return nil, out.stopped("declined", "the person who was asked declined to answer"), nil
	case answer.Action == tool.Cancel:
		return nil, out.stopped("dismissed", "the person who was asked closed the question"), nil
	case !answer.Value.Approve:
		return nil, out.stopped("rejected", "the person who was asked did not approve"), nil
	}

	if err := tool.Sleep(ctx, "window", windows[answer.Value.Window]); err != nil {
		return nil, deployApprovalOutput{}, err
	}
	before := plan.Digest
	for i, step := range plan.Steps {
		receipt, err := tool.Step(ctx, step.Name, func(ctx context.Context) (deployReceipt, error) {
			tool.Report(ctx, float64(i+1), float64(len(plan.Steps)), step.Does)
			return deployReceipt{step.Name, digest(before, step.Name, step.Does)}, nil
		})
		if err != nil {
			return nil, deployApprovalOutput{}, err
		}
		out.Receipts = append(out.Receipts, receipt)
		before = receipt.Digest
	}
	out.Outcome = "rehearsed"
	out.Message = fmt.Sprintf("Approved and rehearsed: %s. Nothing outside was changed.", plan.Summary)
	return nil, out, nil
}

func (out deployApprovalOutput) stopped(outcome, why string) deployApprovalOutput {
	out.Outcome = outcome
	out.Message = fmt.Sprintf("Not approved: %s, so nothing was gone through. The plan was: %s.", why, out.Plan.Summary)
	return out
}

// planDeploy is the plan for an input: one stage for each share of instances.
func planDeploy(in deployApprovalInput) deployPlan {
	plan := deployPlan{Summary: fmt.Sprintf("%s %s to %s in %d stages", in.Service, in.Version, in.Environment, len(shares[in.Environment]))}
	add := func(name, format string, args ...any) {
		plan.Steps = append(plan.Steps, deployStep{name, fmt.Sprintf(format, args...)})
	}
	add("verify", "verify the artifact of %s %s", in.Service, in.Version)
	for _, share := range shares[in.Environment] {
		add(fmt.Sprintf("shift-%d", share), "give %d %% of the instances in %s version %s", share, in.Environment, in.Version)
		add(fmt.Sprintf("watch-%d", share), "watch errors and latency at %d %%", share)
	}
	add("retire", "remove the version that %s had before", in.Service)
	parts := []string{plan.Summary}
	for _, step := range plan.Steps {
		parts = append(parts, step.Name, step.Does)
	}
	plan.Digest = digest(parts...)
	return plan
}

// question is what the person is asked.
func (p deployPlan) question() string {
	q := &strings.Builder{}
	fmt.Fprintf(q, "Rehearse this deployment? %s:", p.Summary)
	for i, step := range p.Steps {
		fmt.Fprintf(q, "\n%d. %s", i+1, step.Does)
	}
	return q.String()
}

// digest is the SHA-256 of the parts and their borders, in hex.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
