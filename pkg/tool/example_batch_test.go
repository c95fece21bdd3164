package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/limits"
	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

// The batch of three hours, with checkpoints.
//
// A process has 15 minutes at most, the batch takes hours. Cut it into steps,
// each a chunk of the work: the record of finished steps is the checkpoint. When
// the process's time is up, the handler's context ends, the handler returns, and
// the next run passes the finished chunks in no time and goes on with the first
// that is not. The author writes a loop.
//
// What happens once: a recorded chunk is never worked on again. What may happen
// again: all or part of one chunk, the one that a process was busy with when its
// time was up or it died. So indexing a document twice must do no harm.
//
// How large is a chunk? Well below a run's time, or it is never finished: a run
// that records no step costs one of the tool's Attempts. And large enough for
// limits.MaxSteps chunks to hold all the work. Keep its value small, it is stored.

type Reindex struct {
	Documents int `json:"documents"`
}

type Reindexed struct {
	Documents int `json:"documents"`
	Bad       int `json:"bad"`
}

// chunk is how many documents make a step: two minutes of work, say.
const chunk = 10

// index stands for a search index. It counts how often each document was put in.
type index struct{ puts map[int]int }

func (x *index) put(document int) (ok bool) {
	x.puts[document]++
	return document%100 != 0
}

func (x *index) reindex(ctx context.Context, _ *mcp.CallToolRequest, in Reindex) (*mcp.CallToolResult, Reindexed, error) {
	if in.Documents > limits.MaxSteps*chunk {
		return nil, Reindexed{}, fmt.Errorf("%d documents are too many for one call", in.Documents)
	}
	var all Reindexed
	for first := 1; first <= in.Documents; first += chunk {
		last := min(first+chunk-1, in.Documents)
		// The name says which documents, so it must not depend on anything but the
		// arguments. Whoever changes chunk changes the names, and thus the Version.
		bad, err := tool.Step(ctx, fmt.Sprintf("documents %d-%d", first, last), func(ctx context.Context) (int, error) {
			tool.Report(ctx, float64(first-1), float64(in.Documents), fmt.Sprintf("Indexing %d to %d.", first, last))
			return x.putAll(ctx, first, last)
		})
		if err != nil {
			return nil, Reindexed{}, err
		}
		// The total is added up from the steps' values in each run. A field of x
		// would not do: it is gone with the process.
		all.Bad += bad
	}
	all.Documents = in.Documents
	return nil, all, nil
}

// putAll returns as soon as the context ends. A chunk that is given up like this
// is begun anew by the next run.
func (x *index) putAll(ctx context.Context, first, last int) (bad int, err error) {
	for document := first; document <= last; document++ {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if !x.put(document) {
			bad++
		}
	}
	return bad, nil
}

func (x *index) registry() *tool.Registry {
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "reindex"}, x.reindex, tool.Options{Task: tool.Required, Version: "1"})
	return reg
}

// The first run's time is up while it is about to begin its third chunk; the
// second run begins with that one.
func ExampleStep_batch() {
	x := &index{puts: map[int]int{}}
	reindex, _ := x.registry().Lookup("reindex")
	ctx, timeIsUp := context.WithCancel(context.Background())
	call := tool.Call{
		Arguments: []byte(`{"documents":35}`),
		Steps:     memory{values: map[string]json.RawMessage{}},
		Report: func(p tool.Progress) {
			fmt.Println(p.Message)
			if p.Done == 20 {
				timeIsUp()
			}
		},
	}
	fmt.Println(reindex.Run(ctx, call).Kind == tool.Stopped)
	fmt.Println(reindex.Run(context.Background(), call).Kind == tool.Done)
	// Output:
	// Indexing 1 to 10.
	// Indexing 11 to 20.
	// Indexing 21 to 30.
	// true
	// Indexing 21 to 30.
	// Indexing 31 to 35.
	// true
}

func TestReindex(t *testing.T) {
	// 90 chunks of two minutes are three hours.
	const documents, want = 900, `{"bad":9,"documents":900}`
	begin := func(t *testing.T) (*index, *tooltest.Call) {
		x := &index{puts: map[int]int{}}
		return x, tooltest.Start(t, x.registry(), "reindex", Reindex{documents})
	}
	step := func(n int) string { return fmt.Sprintf("documents %d-%d", (n-1)*chunk+1, n*chunk) }
	// odd lists the documents that were not put in exactly once.
	odd := func(x *index) (out []int) {
		for document := 1; document <= documents; document++ {
			if x.puts[document] != 1 {
				out = append(out, document)
			}
		}
		return out
	}

	t.Run("goes on from run to run and repeats no chunk", func(t *testing.T) {
		x, c := begin(t)
		for n := 7; n < 90; n += 7 {
			c.StopAfter(step(n)) // time for seven chunks a run
		}
		if got := c.Text(); got != want || c.Runs() != 13 || odd(x) != nil {
			t.Errorf("%s after %d runs, not put in once: %v", got, c.Runs(), odd(x))
		}
		if n := len(c.Reports()); n != 90+12 { // the last of each run's is of a chunk that was not begun
			t.Errorf("%d reports", n)
		}
	})
	t.Run("repeats no chunk if its process dies after any of them", func(t *testing.T) {
		x, c := begin(t)
		c.KillAfterEachStep()
		if got := c.Text(); got != want || c.Runs() != 91 || odd(x) != nil {
			t.Errorf("%s after %d runs, not put in once: %v", got, c.Runs(), odd(x))
		}
	})
	t.Run("repeats the one chunk that a process died in", func(t *testing.T) {
		x, c := begin(t)
		c.KillBefore(step(2))
		if got := c.Text(); got != want || c.Runs() != 2 || fmt.Sprint(odd(x)) != "[11 12 13 14 15 16 17 18 19 20]" {
			t.Errorf("%s after %d runs, not put in once: %v", got, c.Runs(), odd(x))
		}
	})
	t.Run("refuses what it has not enough steps for", func(t *testing.T) {
		x := &index{}
		c := tooltest.Start(t, x.registry(), "reindex", Reindex{limits.MaxSteps*chunk + 1})
		if got := c.ToolError(); got != fmt.Sprintf("%d documents are too many for one call", limits.MaxSteps*chunk+1) {
			t.Error(got)
		}
	})
}
