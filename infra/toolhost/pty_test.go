package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"toolhost/pkg/client"
)

// screen is the command on a pseudo-terminal, and what it has shown.
type screen struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	news chan struct{} // closed and replaced with each piece of output

	mu   sync.Mutex
	text strings.Builder
	from int // where the next expectation looks
}

// open runs the command on a terminal of 100 columns.
func open(t *testing.T, url string, args ...string) *screen {
	t.Helper()
	s := &screen{t: t, cmd: exec.Command("toolhost", args...), news: make(chan struct{})}
	s.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TOOLHOST_URL="+url, "PORT=0")
	var err error
	if s.tty, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	go s.read()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it has mostly ended
		_ = s.tty.Close()
		_ = s.cmd.Wait()
	})
	return s
}

func (s *screen) read() {
	piece := make([]byte, 4096)
	for {
		n, err := s.tty.Read(piece)
		s.mu.Lock()
		s.text.Write(piece[:n])
		close(s.news)
		s.news = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// patience is how long output may take on a busy machine.
const patience = 30 * time.Second

// expect waits until the text is shown, after what was expected before.
func (s *screen) expect(text string) {
	s.t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		shown, news := ansi.Strip(s.text.String()), s.news
		s.mu.Unlock()
		if i := strings.Index(shown[min(s.from, len(shown)):], text); i >= 0 {
			s.from += i + len(text)
			return
		}
		select {
		case <-news:
		case <-late:
			s.t.Fatalf("%q is not shown after %q", text, shown)
		}
	}
}

// word is what follows the text up to the next white space.
func (s *screen) word(after string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, rest, _ := strings.Cut(ansi.Strip(s.text.String()), after)
	return strings.Fields(rest)[0]
}

func (s *screen) send(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// exits waits for the command's end and checks its exit code.
func (s *screen) exits(code int) {
	s.t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.cmd.Wait() // the code says it
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		s.t.Fatalf("it does not end; it shows %q", ansi.Strip(s.text.String()))
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit code %d, want %d; it shows %q", got, code, ansi.Strip(s.text.String()))
	}
}

const ctrlC = "\x03"

// cancel cancels the task that is shown, from another terminal.
func (s *screen) cancel(url string) {
	s.t.Helper()
	s.mu.Lock()
	shown := ansi.Strip(s.text.String())
	s.mu.Unlock()
	id := strings.Fields(shown[strings.Index(shown, "Task "):])[1]
	if out, err := exec.Command("toolhost", "cancel", id, "--url", url).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v", out, err)
	}
}

func TestTerminal(t *testing.T) {
	deploy := []string{"call", "deploy_approval", "--service", "web", "--version", "1.4.2", "--environment", "staging"}
	t.Run("a_question_is_a_form", func(t *testing.T) {
		t.Parallel()
		s := open(t, toolsURL(), deploy...)
		s.expect("Task ")
		s.expect("Rehearse this deployment?")
		s.expect("y Yes")
		s.send("y")
		s.expect("enter select")
		s.send("\r")
		s.expect("enter next")
		s.send("x")
		s.expect("x")
		s.send("\r")
		s.expect("y Send")
		s.send("y")
		s.expect(`Answered: approve = true, window = "now", note = "x"`)
		s.expect(`"outcome": "rehearsed"`)
		s.exits(exitOK)
	})
	t.Run("a_form_can_be_declined", func(t *testing.T) { // R-U9
		t.Parallel()
		s := open(t, toolsURL(), deploy...)
		s.expect("n No")
		s.send("n")
		s.expect("enter select")
		s.send("\r")
		s.expect("enter next")
		s.send("\r")
		s.expect("n Decline")
		s.send("n")
		s.expect("Declined.")
		s.expect(`"outcome": "declined"`)
		s.exits(exitOK)
	})
	t.Run("interrupting_a_form_offers_to_cancel_the_task", func(t *testing.T) {
		t.Parallel()
		s := open(t, toolsURL(), deploy...)
		s.expect("Approve")
		s.send(ctrlC)
		s.expect("Cancel the task?")
		s.send("y")
		s.expect("Cancelled.")
		s.exits(exitCancelled)
	})
	t.Run("interrupting_a_wait_offers_to_cancel_and_no_leaves_the_task", func(t *testing.T) {
		t.Parallel()
		s := open(t, fixtureURL(), "call", "slow_compute", "--seconds", "600")
		s.expect("working")
		s.send(ctrlC)
		s.expect("Cancel the task?")
		s.send("n")
		s.expect("The task goes on. Next:")
		s.exits(exitInterrupted)
		s.cancel(fixtureURL()) // it holds a worker
	})
	t.Run("interrupting_the_offer_leaves_the_task", func(t *testing.T) {
		t.Parallel()
		s := open(t, fixtureURL(), "call", "slow_compute", "--seconds", "600")
		s.expect("working")
		s.send(ctrlC)
		s.expect("Cancel the task?")
		s.send(ctrlC)
		s.expect("The task goes on. Next:")
		s.exits(exitInterrupted)
		s.cancel(fixtureURL()) // it holds a worker
	})
	t.Run("a_form_goes_away_when_the_task_is_cancelled_elsewhere", func(t *testing.T) {
		t.Parallel()
		s := open(t, fixtureURL(), "call", "confirm_delete", "--filename", "a.txt")
		s.expect("Task ")
		s.expect("Delete a.txt?")
		s.expect("confirm")
		s.cancel(fixtureURL())
		s.expect("the task was cancelled")
		s.exits(exitCancelled)
	})
}

func TestDev(t *testing.T) {
	t.Run("says_what_is_there_and_ends_with_an_interrupt", func(t *testing.T) { // case 41
		s := open(t, "", "dev", "--data", filepath.Join(t.TempDir(), "data"))
		s.expect("MCP endpoint  http://127.0.0.1:")
		for _, line := range []string{"csv_profile", "deploy_approval", "Try, in another terminal", "call csv_profile --file", "There is no authentication", "Ctrl-C stops."} {
			s.expect(line)
		}
		s.send(ctrlC)
		s.expect("Stopping")
		s.exits(exitOK)
	})
	t.Run("kill_9_loses_no_task", func(t *testing.T) { // case 48
		data := filepath.Join(t.TempDir(), "data")
		dev := func() (*screen, *client.Client) {
			s := open(t, "", "dev", "--data", data)
			s.expect("MCP endpoint  ")
			s.expect("Ctrl-C stops.")
			return s, client.New(s.word("MCP endpoint  "), client.Options{Answerer: func(context.Context, client.Question) (json.RawMessage, error) {
				return json.RawMessage(`{"action":"accept","content":{"approve":true,"window":"now"}}`), nil
			}})
		}
		first, c := dev()
		arguments := json.RawMessage(`{"service":"web","version":"1.4.2","environment":"staging"}`)
		var ids []string
		for range 3 { // wherever they are when the process dies: queued, running, waiting
			o, err := c.Start(t.Context(), "deploy_approval", arguments, client.Watch{})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, o.Task.ID)
		}
		if err := first.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		first.exits(-1)
		_, c = dev()
		for _, id := range ids {
			result, err := c.Wait(t.Context(), id, client.Watch{})
			if err != nil || !strings.Contains(string(result), `"outcome":"rehearsed"`) {
				t.Errorf("%s: %v %s", id, err, result)
			}
		}
	})
	t.Run("a_port_in_use_is_named_with_the_way_out", func(t *testing.T) {
		port := toolsURL()[strings.LastIndex(toolsURL(), ":")+1:]
		s := open(t, "", "dev", "--port", strings.TrimSuffix(port, "/mcp"))
		s.expect("PORT=")
		s.exits(exitBroken)
	})
	t.Run("emulate_prints_the_functions_environment", func(t *testing.T) {
		s := open(t, "", "emulate")
		s.expect(`"AWS_ENDPOINT_URL_DYNAMODB": "http://host.docker.internal:`)
		s.expect("Ctrl-C stops.")
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.exits(exitOK)
	})
}
