package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

// The outside job with a callback.
//
// The work is done elsewhere: by a render farm, a CI system, a batch service. The
// tool starts the job, hands it a URL, and waits; nothing runs and nobody polls.
// When the job is over it posts JSON to the URL, and the tool goes on.
//
// What happens once: the first body that arrives is the answer, for good. What
// may happen again: the start of the job, if the process died before that was
// recorded. So the job must be started with a token, by a service that knows a
// token again. A service that doesn't may do the work twice; the answer of
// whichever job is first counts, and the other one's is refused.
//
// What nobody does for you: a task that is cancelled, or ends with its TTL, while
// it waits does not stop the job. The job learns of it by the 404 that its POST
// gets.

type Transcode struct {
	Video string `json:"video"`
}

// Transcoded is what the job posts, and what the tool returns.
type Transcoded struct {
	URL    string `json:"url,omitempty"`
	Failed string `json:"failed,omitempty"`
}

// farm stands for the service that does the work.
type farm struct {
	requests int
	jobs     map[string]string // the URL to post to, by token
}

func (f *farm) submit(token, callback string) {
	f.requests++
	f.jobs[token] = callback
}

func (f *farm) transcode(ctx context.Context, _ *mcp.CallToolRequest, in Transcode) (*mcp.CallToolResult, Transcoded, error) {
	// Made before the step that uses it; each run makes the same one.
	done, err := tool.NewCallback(ctx, "done")
	if err != nil {
		return nil, Transcoded{}, err
	}
	// The step's value is only a mark that the job has started. Without the step,
	// each run would start one.
	if _, err := tool.Step(ctx, "submit", func(ctx context.Context) (bool, error) {
		f.submit(tool.IdempotencyToken(ctx), done.URL)
		return true, nil
	}); err != nil {
		return nil, Transcoded{}, err
	}
	// The run ends here, unless the job was so fast that its word is there.
	got, err := tool.Await[Transcoded](ctx, done)
	if err != nil {
		return nil, Transcoded{}, err
	}
	if got.Failed != "" {
		return nil, Transcoded{}, fmt.Errorf("%s: %s", in.Video, got.Failed)
	}
	return nil, got, nil
}

// A callback needs a task, hence Required.
func (f *farm) registry() *tool.Registry {
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "transcode"}, f.transcode, tool.Options{Task: tool.Required, Version: "1"})
	return reg
}

// The first run ends where it waits, the run after the job's word with a result.
func ExampleNewCallback() {
	f := &farm{jobs: map[string]string{}}
	transcode, _ := f.registry().Lookup("transcode")
	call := tool.Call{
		TaskID:    "1",
		Arguments: []byte(`{"video":"cats.mov"}`),
		Steps:     memory{values: map[string]json.RawMessage{}},
		Callback:  func(name string) (url, token string) { return "https://host.example/callbacks/secret", "secret" },
	}
	out := transcode.Run(context.Background(), call)
	for _, url := range f.jobs {
		fmt.Println("waits for", out.Callback, "at", url)
	}

	call.Callbacks = map[string]json.RawMessage{"done": []byte(`{"url":"https://farm.example/cats.webm"}`)}
	out = transcode.Run(context.Background(), call)
	fmt.Printf("%s\n", out.Result)
	// Output:
	// waits for done at https://host.example/callbacks/secret
	// {"resultType":"complete","content":[{"type":"text","text":"{\"url\":\"https://farm.example/cats.webm\"}"}],"structuredContent":{"url":"https://farm.example/cats.webm"},"isError":false}
}

func TestTranscode(t *testing.T) {
	begin := func(t *testing.T) (*farm, *tooltest.Call) {
		f := &farm{jobs: map[string]string{}}
		return f, tooltest.Start(t, f.registry(), "transcode", Transcode{Video: "cats.mov"})
	}
	finished := Transcoded{URL: "https://farm.example/cats.webm"}
	const text = `{"url":"https://farm.example/cats.webm"}`

	t.Run("waits for the job's word, and takes the first", func(t *testing.T) {
		_, c := begin(t)
		c.KillAfter("submit")
		c.Awaits("done")
		for _, post := range []struct {
			body Transcoded
			want int
		}{
			{finished, 204},
			{finished, 204}, // the job did not get the reply, and posts again
			{Transcoded{Failed: "out of disk"}, 409},
		} {
			if got := c.Callback("done", post.body); got != post.want {
				t.Errorf("the post of %v gets %d, want %d", post.body, got, post.want)
			}
		}
		if got := c.Text(); got != text {
			t.Error(got)
		}
		if got := c.Callback("done", finished); got != 404 {
			t.Errorf("after the end a post gets %d", got)
		}
	})
	t.Run("starts one job even if it is submitted twice", func(t *testing.T) {
		f, c := begin(t)
		c.KillBefore("submit") // the farm has the job, but the process dies before that is recorded
		c.Awaits("done")
		if f.requests != 2 || len(f.jobs) != 1 {
			t.Errorf("%d requests, %d jobs", f.requests, len(f.jobs))
		}
	})
	t.Run("finds the word of a job that was faster than the tool", func(t *testing.T) {
		_, c := begin(t)
		c.Callback("done", finished)
		if got := c.Text(); got != text || c.Runs() != 1 {
			t.Errorf("%s after %d runs", got, c.Runs())
		}
	})
	t.Run("passes the job's failure on", func(t *testing.T) {
		_, c := begin(t)
		c.Awaits("done")
		c.Callback("done", Transcoded{Failed: "out of disk"})
		if got := c.ToolError(); got != "cats.mov: out of disk" {
			t.Error(got)
		}
	})
	t.Run("says so if the word can't be read", func(t *testing.T) {
		_, c := begin(t)
		c.Callback("done", "finished!")
		if got := c.ToolError(); !strings.HasPrefix(got, `the answer to "done" does not fit: `) {
			t.Error(got)
		}
	})
}
