package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/fault"
	"toolhost/pkg/limits"
	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

// number is a step that counts how often it ran.
func number(ctx context.Context, name string, ran *int) (int, error) {
	return tool.Step(ctx, name, func(context.Context) (int, error) {
		*ran++
		return *ran * 10, nil
	})
}

// memory is a Recorder whose Record fails with err, if that is set.
type memory struct {
	values map[string]json.RawMessage
	err    error
}

func (m memory) Recorded(name string) json.RawMessage { return m.values[name] }
func (m memory) Names() (out []string) {
	for name := range m.values {
		out = append(out, name)
	}
	return out
}
func (m memory) Record(_ context.Context, name string, v json.RawMessage) (json.RawMessage, error) {
	if m.err != nil {
		return nil, m.err
	}
	if m.values[name] == nil {
		m.values[name] = v
	}
	return m.values[name], nil
}

func TestStep(t *testing.T) {
	t.Run("a recorded step is not run again", func(t *testing.T) { // case 48
		var a, b int
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			x, err := number(ctx, "a", &a)
			if err != nil {
				return "", err
			}
			y, err := number(ctx, "b", &b)
			return fmt.Sprint(x, y), err
		})
		c.KillAfter("a")
		c.KillAfter("b")
		if got := c.Text(); got != "10 10" || a != 1 || b != 1 || c.Runs() != 3 {
			t.Errorf("%q after %d runs, a %d, b %d", got, c.Runs(), a, b)
		}
	})

	t.Run("what another worker recorded first is adopted", func(t *testing.T) { // invariant 3, case 7
		found, _ := with(func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			x, err := tool.Step(ctx, "a", func(context.Context) (int, error) { return 1, nil })
			return fmt.Sprint(x), err
		}, tool.Options{}).Lookup("t")
		out := found.Run(t.Context(), tool.Call{Steps: adopting{}})
		if !strings.Contains(string(out.Result), `"2"`) {
			t.Errorf("result %s", out.Result)
		}
	})

	t.Run("an error is returned as it is and not recorded", func(t *testing.T) {
		mine, tries := errors.New("mine"), 0
		found, _ := with(func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			_, err := tool.Step(ctx, "a", func(context.Context) (int, error) { tries++; return 0, mine })
			if err != mine {
				t.Errorf("error %v", err)
			}
			return "", err
		}, tool.Options{}).Lookup("t")
		m := memory{values: map[string]json.RawMessage{}}
		found.Run(t.Context(), tool.Call{Steps: m})
		found.Run(t.Context(), tool.Call{Steps: m})
		if tries != 2 || len(m.values) != 0 {
			t.Errorf("%d tries, record %v", tries, m.values)
		}
	})

	t.Run("steps run in parallel", func(t *testing.T) {
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			var wg sync.WaitGroup
			out := make([]int, 20)
			for i := range out {
				wg.Go(func() {
					out[i], _ = tool.Step(ctx, fmt.Sprint("n", i), func(context.Context) (int, error) { return i, nil })
					tool.Report(ctx, float64(i), 20, "")
				})
			}
			wg.Wait()
			return fmt.Sprint(out[19]), nil
		})
		c.KillAfter("n7")
		if got := c.Text(); got != "19" {
			t.Error(got)
		}
	})

	t.Run("a misuse fails the call, even if the tool swallows its error", func(t *testing.T) {
		ok := func(context.Context) (int, error) { return 1, nil }
		for want, misuse := range map[string]func(ctx context.Context){
			"called twice with the name": func(ctx context.Context) {
				_, _ = tool.Step(ctx, "a", ok)
				_, _ = tool.Step(ctx, "a", ok)
			},
			"inside the step": func(ctx context.Context) {
				_, _ = tool.Step(ctx, "a", func(ctx context.Context) (int, error) { return tool.Step(ctx, "b", ok) })
			},
			`"b" was asked inside the step "a"`: func(ctx context.Context) {
				_, _ = tool.Step(ctx, "a", func(ctx context.Context) (int, error) { _, err := tool.Ask[none](ctx, "b", "?"); return 0, err })
			},
			`Sleep "b" was called inside`: func(ctx context.Context) {
				_, _ = tool.Step(ctx, "a", func(ctx context.Context) (int, error) { return 0, tool.Sleep(ctx, "b", time.Hour) })
			},
			"with the name \"~a\"":  func(ctx context.Context) { _, _ = tool.Step(ctx, "~a", ok) },
			"with the name \"\"":    func(ctx context.Context) { _, _ = tool.Step(ctx, "", ok) },
			"used for two":          func(ctx context.Context) { _ = tool.AskAll(ctx, tool.Form[none]("a", ""), tool.Form[none]("a", "")) },
			"nothing was prepared":  func(ctx context.Context) { _, _ = tool.Prepared[int](ctx) },
			"can't be a form":       func(ctx context.Context) { _, _ = tool.Ask[int](ctx, "a", "?") },
			"which no client answ":  func(ctx context.Context) { _, _ = tool.AskRaw(ctx, tool.Question{Key: "a", Method: "ping"}) },
			"no absolute URL":       func(ctx context.Context) { _, _ = tool.AskURL(ctx, "a", "?", "/x") },
			"more than 1000 steps":  func(ctx context.Context) { steps(ctx, limits.MaxSteps+1) },
			"the limit is 64":       func(ctx context.Context) { questions(ctx, limits.MaxQuestions+1) },
			"question has the key ": func(ctx context.Context) { _, _ = tool.Ask[none](ctx, "a~2", "?") },
		} {
			got := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
				misuse(ctx)
				return "fine", nil
			}).Failed()
			if !strings.Contains(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})

	t.Run("a record that the code no longer knows fails the call", func(t *testing.T) {
		run := func(h handler) tool.Outcome {
			found, _ := with(h, tool.Options{}).Lookup("t")
			return found.Run(t.Context(), tool.Call{Steps: memory{values: map[string]json.RawMessage{"old": json.RawMessage(`1`)}}})
		}
		if out := run(failing(nil)); out.Kind != tool.Broken || !strings.Contains(out.Error.Message, `"old"`) {
			t.Errorf("outcome %+v", out)
		}
		if out := run(failing(errors.New("early"))); out.Kind != tool.Done || !out.ToolError {
			t.Errorf("a tool error may come before the step: %+v", out)
		}
		if out := run(func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			_, err := tool.Step(ctx, "old", func(context.Context) (string, error) { return "", nil })
			return "", err
		}); out.Kind != tool.Broken || !strings.Contains(out.Error.Message, "does not fit the type") {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("a value that can't be kept is a tool error that names the step", func(t *testing.T) { // case 25
		for _, value := range []any{make(chan int), strings.Repeat("x", limits.MaxStep+1)} {
			got := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
				_, err := tool.Step(ctx, "big", func(context.Context) (any, error) { return value, nil })
				return "", err
			}).ToolError()
			if !strings.Contains(got, `"big"`) {
				t.Error(got)
			}
		}
	})

	t.Run("a store that fails is another attempt, and shows nothing of itself", func(t *testing.T) { // R-V4
		found, _ := with(func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			n := 0
			_, err := number(ctx, "a", &n)
			return "", err
		}, tool.Options{}).Lookup("t")
		out := found.Run(t.Context(), tool.Call{Steps: memory{err: errors.New("table is throttled")}})
		if out.Kind != tool.Again || out.Result != nil || !strings.Contains(out.Cause.Error(), "throttled") {
			t.Errorf("outcome %+v", out)
		}
		out = found.Run(t.Context(), tool.Call{Steps: memory{err: fault.New(fault.TooLarge, "op", "the limit is 9")}})
		if out.Kind != tool.Done || !strings.Contains(string(out.Result), "the limit is 9") {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("a panic in a step fails the call, in any goroutine", func(t *testing.T) { // R-V4
		out := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = tool.Step(ctx, "a", func(context.Context) (int, error) { panic("secret") }) })
			wg.Wait()
			return "fine", nil
		}).Outcome()
		if out.Kind != tool.Broken || strings.Contains(out.Error.Message, "secret") || strings.Contains(out.Cause.Error(), "secret") || !strings.Contains(out.Cause.Error(), "step_test.go") {
			t.Errorf("outcome %+v", out)
		}
	})

	t.Run("a step's idempotency token stays, and is no other's", func(t *testing.T) {
		var tokens []string
		h := func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			tokens = append(tokens, tool.IdempotencyToken(ctx))
			for _, name := range []string{"a", "b"} {
				if _, err := tool.Step(ctx, name, func(ctx context.Context) (int, error) {
					tokens = append(tokens, tool.IdempotencyToken(ctx))
					return 0, errors.New("again")
				}); err == nil {
					t.Error("no error")
				}
			}
			return "", nil
		}
		start(t, h).Text()
		start(t, h).Text() // the same task in tooltest
		if tokens[0] != tokens[3] || tokens[1] != tokens[4] || tokens[2] != tokens[5] || tokens[1] == tokens[2] || tokens[0] == tokens[1] {
			t.Errorf("tokens %v", tokens)
		}
		found, _ := with(h, tool.Options{}).Lookup("t")
		found.Run(t.Context(), tool.Call{TaskID: "task", Birth: "another", Steps: memory{}})
		if tokens[7] == tokens[1] {
			t.Error("two births share a token")
		}
	})

	t.Run("in a synchronous call a step just runs", func(t *testing.T) {
		n := 0
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			x, err := number(ctx, "a", &n)
			return fmt.Sprint(x), err
		}, tooltest.Sync())
		if got := c.Text(); got != "10" {
			t.Error(got)
		}
	})
}

// adopting is a Recorder of a task whose other worker was first.
type adopting struct{}

func (adopting) Recorded(string) json.RawMessage { return nil }
func (adopting) Names() []string                 { return []string{"a"} }
func (adopting) Record(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`2`), nil
}

func steps(ctx context.Context, n int) {
	for i := range n {
		_, _ = tool.Step(ctx, fmt.Sprint(i), func(context.Context) (int, error) { return 0, nil })
	}
}

func questions(ctx context.Context, n int) {
	var all []tool.Asker
	for i := range n {
		all = append(all, tool.Form[none](fmt.Sprint(i), "?"))
	}
	_ = tool.AskAll(ctx, all...)
}

func TestSleep(t *testing.T) {
	nap := func(d time.Duration) handler {
		return func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			return "awake", tool.Sleep(ctx, "nap", d)
		}
	}

	t.Run("a durable call sleeps without a process, from its first run on", func(t *testing.T) {
		c := start(t, nap(time.Hour))
		if d := c.Asleep(); d != time.Hour {
			t.Errorf("asleep for %v", d)
		}
		c.Advance(59 * time.Minute)
		if d := c.Asleep(); d != time.Minute || c.Runs() != 1 {
			t.Errorf("asleep for %v after %d runs", d, c.Runs())
		}
		c.Advance(time.Minute)
		if got := c.Text(); got != "awake" || c.Runs() != 2 {
			t.Error(got)
		}
	})

	t.Run("a process that dies at it does not sleep longer", func(t *testing.T) {
		c := start(t, nap(time.Hour))
		c.KillAfterEachStep()
		if d := c.Asleep(); d != time.Hour || c.Runs() != 2 {
			t.Errorf("asleep for %v after %d runs", d, c.Runs())
		}
	})

	t.Run("no time is no sleep", func(t *testing.T) {
		if got := start(t, nap(0)).Text(); got != "awake" {
			t.Error(got)
		}
	})

	t.Run("a synchronous call naps, and fails if asked for more", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			before := time.Now()
			start(t, nap(5*time.Second), tooltest.Sync()).Text()
			if d := time.Since(before); d != 5*time.Second {
				t.Errorf("it slept %v", d)
			}
		})
		if got := start(t, nap(time.Hour), tooltest.Sync()).Failed(); !strings.Contains(got, "needs a task") {
			t.Error(got)
		}
	})

	t.Run("a question beside a sleep is asked", func(t *testing.T) {
		c := start(t, func(ctx context.Context, _ *mcp.CallToolRequest) (string, error) {
			slept := tool.Sleep(ctx, "nap", time.Hour)
			_, asked := tool.Ask[none](ctx, "q", "?")
			return "done", errors.Join(slept, asked)
		})
		c.Asked("q")
		c.Decline("q")
		if d := c.Asleep(); d != time.Hour {
			t.Errorf("asleep for %v", d)
		}
	})
}
