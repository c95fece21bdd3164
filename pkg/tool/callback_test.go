package tool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

type film struct {
	Frames int `json:"frames"`
}

// render starts a job with a callback's URL, and waits for it.
func render(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
	done, err := tool.NewCallback(ctx, "render")
	if err != nil {
		return "", err
	}
	if _, err := tool.Step(ctx, "start", func(context.Context) (string, error) { return done.URL, nil }); err != nil {
		return "", err
	}
	got, err := tool.Await[film](ctx, done)
	return fmt.Sprint(got.Frames, " by ", done.URL), err
}

func TestCallback(t *testing.T) {
	t.Run("suspends the call until it has arrived", func(t *testing.T) {
		c := start(t, render)
		c.KillAfter("start")
		c.Awaits("render")
		c.Callback("render", film{24})
		if got := c.Text(); got != "24 by https://toolhost.example/callbacks/token-of-render" || c.Runs() != 3 {
			t.Errorf("%q after %d runs", got, c.Runs())
		}
	})
	t.Run("that came before the tool waits is returned at once", func(t *testing.T) { // case 57
		c := start(t, render)
		c.Callback("render", film{1})
		if got := c.Text(); !strings.HasPrefix(got, "1 by ") || c.Runs() != 1 {
			t.Errorf("%q after %d runs", got, c.Runs())
		}
	})
	t.Run("of another name is not taken for it", func(t *testing.T) {
		c := start(t, render)
		c.Callback("other", film{1})
		c.Awaits("render")
	})
	t.Run("of null is a value", func(t *testing.T) {
		c := start(t, render)
		c.Callback("render", nil)
		if got := c.Text(); !strings.HasPrefix(got, "0 by ") {
			t.Error(got)
		}
	})
	t.Run("that does not fit says so", func(t *testing.T) {
		var misfit *tool.MisfitError
		c := start(t, func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
			got, err := render(ctx, r)
			if errors.As(err, &misfit) {
				return "misfit", nil
			}
			return got, err
		})
		c.Callback("render", []string{"no film"})
		if got := c.Text(); got != "misfit" || misfit.Key != "render" {
			t.Errorf("%q, %v", got, misfit)
		}
	})
	t.Run("may be waited for twice, and by turns", func(t *testing.T) {
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			a, err1 := tool.NewCallback(ctx, "a")
			b, err2 := tool.NewCallback(ctx, "b")
			if err := errors.Join(err1, err2); err != nil {
				return "", err
			}
			var out []string
			for _, done := range []tool.Callback{a, b, a} {
				body, err := done.Wait(ctx)
				if err != nil {
					return "", fmt.Errorf("waiting: %w", err)
				}
				out = append(out, string(body))
			}
			return strings.Join(out, " "), nil
		})
		c.Awaits("a")
		c.Callback("b", 2)
		c.Awaits("a")
		c.Callback("a", 1)
		if got := c.Text(); got != "1 2 1" {
			t.Error(got)
		}
	})
	t.Run("beside a sleep or a question is looked for when that is over", func(t *testing.T) {
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			done, err := tool.NewCallback(ctx, "render")
			if err != nil {
				return "", err
			}
			errs := make([]error, 3)
			var all sync.WaitGroup
			all.Go(func() { _, errs[0] = done.Wait(ctx) })
			all.Go(func() { errs[1] = tool.Sleep(ctx, "nap", time.Hour) })
			all.Go(func() { _, errs[2] = tool.AskRaw(ctx, tool.Question{Key: "q", Method: "roots/list"}) })
			all.Wait()
			return "done", errors.Join(errs...)
		})
		c.Asked("q")
		c.Answer("q", map[string]any{"roots": []any{}})
		c.Asleep()
		c.Advance(time.Hour)
		c.Awaits("render")
		c.Callback("render", film{})
		if got := c.Text(); got != "done" {
			t.Error(got)
		}
	})
}

func TestCallbackMisuse(t *testing.T) {
	for name, c := range map[string]struct {
		handle  func(context.Context) error
		options []tooltest.Option
		says    string
	}{
		"in a synchronous call": {func(ctx context.Context) error {
			_, err := tool.NewCallback(ctx, "render")
			return err
		}, []tooltest.Option{tooltest.Sync()}, "needs a task"},
		"within a step": {func(ctx context.Context) error {
			_, err := tool.Step(ctx, "s", func(ctx context.Context) (tool.Callback, error) { return tool.NewCallback(ctx, "render") })
			return err
		}, nil, "inside the step"},
		"waited for within a step": {func(ctx context.Context) error {
			done, err := tool.NewCallback(ctx, "render")
			if err != nil {
				return err
			}
			_, err = tool.Step(ctx, "s", func(ctx context.Context) (film, error) { return tool.Await[film](ctx, done) })
			return err
		}, nil, "inside the step"},
		"made twice": {func(ctx context.Context) error {
			_, err1 := tool.NewCallback(ctx, "render")
			_, err2 := tool.NewCallback(ctx, "render")
			return errors.Join(err1, err2)
		}, nil, "twice"},
		"of a bad name": {func(ctx context.Context) error {
			_, err := tool.NewCallback(ctx, "a~b")
			return err
		}, nil, "want 1 to 128 bytes"},
		"not made in this run": {func(ctx context.Context) error {
			_, err := tool.Callback{Name: "render"}.Wait(ctx)
			return err
		}, nil, "not made in this run"},
		"too many": {func(ctx context.Context) error {
			for i := range 65 {
				if _, err := tool.NewCallback(ctx, fmt.Sprint(i)); err != nil {
					return err
				}
			}
			return nil
		}, nil, "more than 64"},
		"swallowed": {func(ctx context.Context) error { // case 56
			done, err := tool.NewCallback(ctx, "render")
			if err == nil {
				_, _ = done.Wait(ctx)
			}
			return err
		}, nil, "went on after its call was suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			got := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) { return "", c.handle(ctx) }, c.options...).Failed()
			if !strings.Contains(got, c.says) {
				t.Errorf("got %q, want %q", got, c.says)
			}
		})
	}
	t.Run("without a public URL", func(t *testing.T) {
		found, _ := with(render, tool.Options{}).Lookup("t")
		out := found.Run(t.Context(), tool.Call{Steps: memory{}})
		if out.Kind != tool.Broken || !strings.Contains(out.Error.Message, "no public URL") {
			t.Errorf("%+v", out)
		}
	})
	t.Run("after the run", func(t *testing.T) {
		var kept context.Context
		var done tool.Callback
		start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (_ string, err error) {
			kept = ctx
			done, err = tool.NewCallback(ctx, "render")
			return "", err
		}).Text()
		_, err1 := done.Wait(kept)
		_, err2 := tool.NewCallback(kept, "late")
		if slices.Contains([]error{err1, err2}, nil) {
			t.Errorf("%v, %v", err1, err2)
		}
	})
}
