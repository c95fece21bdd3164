package tooltest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

type input struct {
	Fail bool `json:"fail,omitempty"`
}

type sure struct {
	OK bool `json:"ok"`
}

func registry() *tool.Registry {
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "t"}, func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, string, error) {
		n, err := tool.Step(ctx, "count", func(context.Context) (int, error) { return 1, nil })
		if err != nil {
			return nil, "", err
		}
		tool.Report(ctx, float64(n), 2, "counted")
		if in.Fail {
			return nil, "", errors.New("as you wish")
		}
		if err := tool.Sleep(ctx, "rest", time.Hour); err != nil {
			return nil, "", err
		}
		reply, err := tool.Ask[sure](ctx, "sure", "Sure?")
		return nil, fmt.Sprint(reply.Action), err
	}, tool.Options{})
	return reg
}

// counting is a tool of three steps that gives the sum of what they recorded.
func counting(ran *int) *tool.Registry {
	reg := tool.New()
	tool.Add(reg, &mcp.Tool{Name: "t"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, int, error) {
		sum := 0
		for _, name := range []string{"a", "b", "c"} {
			n, err := tool.Step(ctx, name, func(context.Context) (int, error) {
				*ran++
				return *ran, ctx.Err()
			})
			if err != nil {
				return nil, 0, err
			}
			sum += n
		}
		return nil, sum, nil
	}, tool.Options{})
	return reg
}

func TestCall(t *testing.T) {
	t.Run("a whole life in a few lines", func(t *testing.T) {
		c := tooltest.Start(t, registry(), "t", input{})
		c.KillAfterEachStep()
		if d := c.Asleep(); d != time.Hour {
			t.Errorf("asleep for %v", d)
		}
		c.Advance(time.Hour)
		c.Asked("sure")
		c.Accept("sure", sure{true})
		if got := c.Text(); got != `"accept"` || c.Runs() != 5 {
			t.Errorf("%q after %d runs", got, c.Runs())
		}
		if len(c.Reports()) != 4 || c.Reports()[0].Message != "counted" {
			t.Errorf("reports %v", c.Reports())
		}
	})

	t.Run("a process killed before a record runs the step again", func(t *testing.T) {
		ran := 0
		c := tooltest.Start(t, counting(&ran), "t", input{})
		c.KillBefore("a")
		c.KillAfter("b")
		if got := c.Text(); got != "9" || ran != 4 || c.Runs() != 3 {
			t.Errorf("%s after %d steps in %d runs", got, ran, c.Runs())
		}
	})

	t.Run("a stopped run is followed by another", func(t *testing.T) {
		ran := 0
		c := tooltest.Start(t, counting(&ran), "t", input{})
		c.StopAfter("a")
		c.StopAfter("c") // the handler ends well all the same
		if got := c.Text(); got != "8" || ran != 4 || c.Runs() != 2 {
			t.Errorf("%s after %d steps in %d runs", got, ran, c.Runs())
		}
	})

	t.Run("a callback is answered once", func(t *testing.T) {
		reg := tool.New()
		tool.Add(reg, &mcp.Tool{Name: "t"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
			a, err1 := tool.NewCallback(ctx, "a")
			b, err2 := tool.NewCallback(ctx, "b")
			_, err3 := a.Wait(ctx)
			if err := errors.Join(err1, err2, err3); err != nil {
				return nil, nil, err
			}
			_, err := b.Wait(ctx)
			return nil, nil, err
		}, tool.Options{})
		c := tooltest.Start(t, reg, "t", input{})
		var got []int
		post := func(name string, body any) { got = append(got, c.Callback(name, body)) }
		post("a", 1)
		post("a", 1)
		post("a", 2)
		c.Awaits("b")
		post("a", 1)
		post("b", nil)
		c.Text()
		post("b", nil)
		if want := "[204 204 409 409 204 404]"; fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	})

	t.Run("a test that expects something else fails with what happened", func(t *testing.T) {
		for want, test := range map[string]func(c *tooltest.Call){
			"it sleeps, want that it asks":        func(c *tooltest.Call) { c.Asked("sure") },
			"it sleeps, want that it completed":   func(c *tooltest.Call) { c.Text() },
			"it asks [sure], want [other]":        func(c *tooltest.Call) { c.Advance(time.Hour); c.Asleep(); c.Advance(time.Hour); c.Asked("other") },
			`it does not ask "other", but [sure]`: func(c *tooltest.Call) { c.Asleep(); c.Advance(time.Hour); c.Decline("other") },
			`it completed with {"resultType"`:     func(c *tooltest.Call) { c.Asleep(); c.Advance(time.Hour); c.Decline("sure"); c.Failed() },
			`but never recorded the step "lost"`: func(c *tooltest.Call) {
				c.KillAfter("lost")
				c.Asleep()
				c.Advance(time.Hour)
				c.Decline("sure")
				c.Text()
			},
			`it completed, want a tool error: "decline"`: func(c *tooltest.Call) { c.Asleep(); c.Advance(time.Hour); c.Decline("sure"); c.ToolError() },
		} {
			if got := failure(t, func(t testing.TB) { test(tooltest.Start(t, registry(), "t", input{})) }); !strings.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if got := failure(t, func(t testing.TB) { tooltest.Start(t, registry(), "t", input{true}).Text() }); got != "it ended as a tool error: as you wish" {
			t.Error(got)
		}
		if got := failure(t, func(t testing.TB) { tooltest.Start(t, registry(), "none", nil) }); !strings.Contains(got, `no tool "none"`) {
			t.Error(got)
		}
	})
}

// failing is a test whose failure is kept instead of reported.
type failing struct {
	testing.TB
	text string
}

type failed struct{}

func (f *failing) Helper() {}
func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(failed{})
}

// failure is the message with which a test fails, "" if it does not.
func failure(t testing.TB, test func(testing.TB)) string {
	f := &failing{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != (failed{}) {
				panic(p)
			}
		}()
		test(f)
	}()
	return f.text
}
