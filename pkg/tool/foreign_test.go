package tool_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/tool"
	"toolhost/pkg/tool/tooltest"
)

// foreign is a server that others wrote, in another language.
type foreign struct {
	command []string
	mu      sync.Mutex
	running *exec.Cmd
}

// installed is the server whose command an environment variable holds.
func installed(t *testing.T, variable string) *foreign {
	t.Helper()
	command := strings.Fields(os.Getenv(variable))
	if len(command) == 0 {
		t.Skipf("%s names no server; infra/check/servers.sh installs one", variable)
	}
	return &foreign{command: command}
}

func (f *foreign) Dial(context.Context) (mcp.Transport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = exec.Command(f.command[0], f.command[1:]...)
	return &mcp.CommandTransport{Command: f.running, TerminateDuration: 100 * time.Millisecond}, nil
}

func (f *foreign) signal(t *testing.T, s os.Signal) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.running.Process.Signal(s); err != nil {
		t.Error(err)
	}
}

func kindsOf(content []mcp.Content) string {
	var kinds []string
	for _, c := range content {
		switch c.(type) {
		case *mcp.TextContent:
			kinds = append(kinds, "text")
		case *mcp.ImageContent:
			kinds = append(kinds, "image")
		case *mcp.ResourceLink:
			kinds = append(kinds, "link")
		}
	}
	return strings.Join(slices.Compact(kinds), " ")
}

// The TypeScript SDK's own demonstration server, from npm.
func TestFromSessionNode(t *testing.T) {
	f := installed(t, "TOOLHOST_TEST_NODE_SERVER")
	reg, d := host(t, f.Dial, nil)

	t.Run("text", func(t *testing.T) {
		if got := tooltest.Start(t, reg, "echo", map[string]any{"message": "grüße"}).Text(); got != "Echo: grüße" {
			t.Error(got)
		}
	})
	t.Run("structured content, and the same as text", func(t *testing.T) { // R-P9
		res := tooltest.Start(t, reg, "get-structured-content", map[string]any{"location": "Chicago"}).Result()
		if content, ok := res.StructuredContent.(map[string]any); !ok || content["temperature"] == nil || kindsOf(res.Content) != "text" {
			t.Errorf("result %+v", res)
		}
	})
	t.Run("images and links", func(t *testing.T) {
		if got := kindsOf(tooltest.Start(t, reg, "get-tiny-image", none{}).Result().Content); got != "text image text" {
			t.Error(got)
		}
		if got := kindsOf(tooltest.Start(t, reg, "get-resource-links", map[string]any{"count": 2}).Result().Content); got != "text link" {
			t.Error(got)
		}
	})
	t.Run("progress", func(t *testing.T) {
		c := tooltest.Start(t, reg, "trigger-long-running-operation", map[string]any{"duration": 0.03, "steps": 3})
		c.Text()
		if got := c.Reports(); len(got) != 3 || got[2].Done != 3 || got[2].Total != 3 {
			t.Errorf("reports %v", got)
		}
	})
	t.Run("killed in the middle of a call, it is a tool error, and the next call has a fresh process", func(t *testing.T) {
		long, _ := reg.Lookup("trigger-long-running-operation")
		before := d.made()
		out := long.Run(t.Context(), tool.Call{
			Arguments: []byte(`{"duration":60,"steps":600}`),
			Report:    func(tool.Progress) { f.signal(t, os.Kill) },
		})
		if !out.ToolError || !strings.Contains(string(out.Result), "ended during the call") {
			t.Errorf("result %s, cause %v", out.Result, out.Cause)
		}
		tooltest.Start(t, reg, "echo", map[string]any{"message": "again"}).Text()
		if n := d.made() - before; n != 1 {
			t.Errorf("%d fresh processes", n)
		}
	})
}

// A reference server in Python, from PyPI.
func TestFromSessionPython(t *testing.T) {
	f := installed(t, "TOOLHOST_TEST_PYTHON_SERVER")
	reg, d := host(t, f.Dial, func(*mcp.Tool) tool.Options {
		return tool.Options{Task: tool.Optional, Timeout: 20 * time.Second}
	})
	convert := map[string]any{"source_timezone": "UTC", "time": "10:00", "target_timezone": "Asia/Tokyo"}

	t.Run("a result", func(t *testing.T) {
		if got := tooltest.Start(t, reg, "convert_time", convert).Text(); !strings.Contains(got, "T19:00:00+09:00") {
			t.Error(got)
		}
	})
	t.Run("a tool error", func(t *testing.T) {
		if got := tooltest.Start(t, reg, "get_current_time", map[string]any{"timezone": "Nowhere"}).ToolError(); !strings.Contains(got, "Nowhere") {
			t.Error(got)
		}
	})
	t.Run("arguments are checked here", func(t *testing.T) { // R-H8
		if got := tooltest.Start(t, reg, "get_current_time", none{}).ToolError(); !strings.Contains(got, "arguments") {
			t.Error(got)
		}
	})
	t.Run("stopped so that it hangs, it holds its call no longer than the call lasts, and the next has a fresh process", func(t *testing.T) {
		f.signal(t, syscall.SIGSTOP)
		before := d.made()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		now, _ := reg.Lookup("get_current_time")
		if out := now.Run(ctx, tool.Call{Arguments: []byte(`{"timezone":"UTC"}`)}); out.Kind != tool.Stopped {
			t.Errorf("outcome %+v", out)
		}
		tooltest.Start(t, reg, "convert_time", convert).Text()
		if n := d.made() - before; n != 1 {
			t.Errorf("%d fresh processes", n)
		}
	})
}
