package attack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/auth"
	"toolhost/pkg/clock"
	"toolhost/pkg/tool"
)

// errand is what every tool here is given: whose call it is, and a secret.
type errand struct {
	Owner string `json:"owner"`
	Call  int    `json:"call"`
	Note  string `json:"note"`
	// Slow makes the tool report its progress and wait until that was seen.
	Slow bool `json:"slow,omitempty"`
}

// said is an answer to a question.
type said struct {
	Name string `json:"name"`
}

// metaNote is where a request's _meta holds a secret.
const metaNote = "attack/note"

// witness is what the tools saw.
type witness struct {
	clock clock.Clock
	// jobs are callback tokens by their call.
	jobs sync.Map

	mu     sync.Mutex
	faults []string
	seen   map[string]int
}

func (w *witness) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

// sees checks what a tool can know of its caller: its own, and nothing of any
// request but its own (R-V3).
func (w *witness) sees(ctx context.Context, req *mcp.CallToolRequest, in errand) {
	w.mu.Lock()
	w.seen[req.Params.Name]++
	w.mu.Unlock()
	if got, want := auth.From(ctx).Owner(), callers[in.Owner].Owner(); got != want {
		w.fault("%s of %s/%d runs as %+v", req.Params.Name, in.Owner, in.Call, got)
	}
	if other := strangers([]byte(fmt.Sprint(req.Params.Meta, in.Note, req.Params.RequestState)), in.Owner, in.Call); other != nil {
		w.fault("%s of %s/%d sees %v", req.Params.Name, in.Owner, in.Call, other)
	}
	if r, ok := ctx.Value(ledgerKey{}).(*ledger); ok && r.owner != in.Owner {
		w.fault("%s of %s/%d runs in the request of %s", req.Params.Name, in.Owner, in.Call, r.owner)
	}
}

type handler func(context.Context, *mcp.CallToolRequest, errand) (*mcp.CallToolResult, error)

func says(text string, err error) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, err
}

// errands are the tools: each is given secrets, and ends in its own way.
func (w *witness) errands() *tool.Registry {
	reg := tool.New()
	add := func(name string, o tool.Options, h handler) {
		tool.Add(reg, &mcp.Tool{Name: name}, func(ctx context.Context, req *mcp.CallToolRequest, in errand) (*mcp.CallToolResult, any, error) {
			w.sees(ctx, req, in)
			result, err := h(ctx, req, in)
			return result, nil, err
		}, o)
	}
	required := tool.Options{Task: tool.Required}
	add("story", required, w.story)
	add("park", required, w.park)
	add("wizard", required, w.wizard)
	add("quiz", tool.Options{}, quiz)
	add("fail", required, func(_ context.Context, _ *mcp.CallToolRequest, in errand) (*mcp.CallToolResult, error) {
		return nil, errors.New("no: " + in.Note)
	})
	add("refuse", required, refuse)
	add("refuse-now", tool.Options{}, refuse)
	add("panic", required, panics)
	add("panic-now", tool.Options{}, panics)
	add("prepared", tool.Options{Task: tool.Required, Prepare: tool.PrepareWith(func(ctx context.Context, req *mcp.CallToolRequest, in errand) (string, error) {
		w.sees(ctx, req, in)
		whom, err := tool.Ask[said](ctx, "before", "Before? "+in.Note)
		return whom.Value.Name, err
	})}, func(ctx context.Context, _ *mcp.CallToolRequest, in errand) (*mcp.CallToolResult, error) {
		before, err := tool.Prepared[string](ctx)
		return says(in.Note+before, err)
	})
	return reg
}

func refuse(_ context.Context, _ *mcp.CallToolRequest, in errand) (*mcp.CallToolResult, error) {
	return nil, &sdk.Error{Code: 4711, Message: "refused: " + in.Note, Data: fmt.Appendf(nil, `{"why":%q}`, in.Note)}
}

func panics(ctx context.Context, _ *mcp.CallToolRequest, in errand) (*mcp.CallToolResult, error) {
	switch in.Call % 3 {
	case 0:
		panic("at once: " + in.Note)
	case 1:
		panic(fmt.Errorf("as an error: %s", in.Note))
	}
	_, err := tool.Step(ctx, "step", func(context.Context) (int, error) { panic("in a step: " + in.Note) })
	return nil, err
}

// story has everything: a recorded step, progress, a question, and a result of
// its arguments and the answer.
func (w *witness) story(ctx context.Context, _ *mcp.CallToolRequest, in errand) (*mcp.CallToolResult, error) {
	step, err := tool.Step(ctx, "plan", func(context.Context) (string, error) { return "planned " + in.Note, nil })
	if err != nil {
		return nil, err
	}
	if in.Slow {
		tool.Report(ctx, 1, 2, "halfway "+in.Note)
		over, stop := w.clock.After(4 * time.Second) // the heartbeat shows it meanwhile
		defer stop()
		select {
		case <-over:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	answer, err := tool.Ask[said](ctx, "whom", "Whom? "+in.Note)
	return says(in.Note+step+answer.Value.Name, err)
}

// park waits for a job outside.
func (w *witness) park(ctx context.Context, _ *mcp.CallToolRequest, in errand) (*mcp.CallToolResult, error) {
	job, err := tool.NewCallback(ctx, "job")
	if err != nil {
		return nil, err
	}
	w.jobs.Store(in.Call, job.Token)
	body, err := tool.Await[string](ctx, job)
	return says(in.Note+body, err)
}

// wizard asks the official SDK's own way, and keeps its secret in its state.
func (w *witness) wizard(_ context.Context, req *mcp.CallToolRequest, in errand) (*mcp.CallToolResult, error) {
	if answer, ok := req.Params.InputResponses["who"].(*mcp.ElicitResult); ok {
		if req.Params.RequestState != in.Note {
			w.fault("the state of %s/%d came back as %q", in.Owner, in.Call, req.Params.RequestState)
		}
		return says(in.Note+fmt.Sprint(answer.Content["name"]), nil)
	}
	return &mcp.CallToolResult{RequestState: in.Note, InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{
		Message: "Who? " + in.Note, RequestedSchema: &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}}}}}}, nil
}

// quiz asks twice within its call, in multi round-trip exchanges.
func quiz(ctx context.Context, _ *mcp.CallToolRequest, in errand) (*mcp.CallToolResult, error) {
	first, err := tool.Ask[said](ctx, "first", "First? "+in.Note)
	if err != nil {
		return nil, err
	}
	second, err := tool.Ask[said](ctx, "second", "Second? "+first.Value.Name)
	return says(in.Note+first.Value.Name+second.Value.Name, err)
}
