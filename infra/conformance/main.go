// Command conformance serves the fixture tools on the local stack, and runs
// the official MCP conformance suite against them.
//
//	go run ./infra/conformance          run the suite; 'conformance' must be on PATH
//	go run ./infra/conformance serve    serve the fixtures at 127.0.0.1:PORT
//
// clients/ has the scripts in which clients that others wrote meet the same
// fixtures; infra/check/clients.sh runs them.
//
// The suite meets the deployed code: function handlers, gateway events and the
// emulators. What may fail is in baseline.yaml, each with its reason.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"toolhost/infra/conformance/fixtures"
	"toolhost/infra/local"
)

// suite is the scenarios of one revision.
type suite struct {
	revision string
	tasks    int // how many checks of the Tasks extension there are
}

// suites are run one after the other. An older revision has no extension (R-B1).
var suites = []suite{{"2026-07-28", 44}, {"2025-11-25", 0}}

type cli struct {
	Serve serveCmd `cmd:"" help:"Serve the fixture tools."`
	Run   runCmd   `cmd:"" default:"withargs" help:"Run the official suite against them."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	parsed := kong.Parse(&c, kong.Name("conformance"), kong.Description("The official MCP conformance suite against the local stack."), kong.UsageOnError())
	parsed.BindTo(ctx, (*context.Context)(nil))
	parsed.FatalIfErrorf(parsed.Run())
}

type serveCmd struct {
	Port int `help:"Port on 127.0.0.1; 0 takes any that is free." env:"PORT" default:"8080"`
}

func (cmd *serveCmd) Run(ctx context.Context) error {
	stack, err := local.Start(ctx, local.Options{
		Registry: fixtures.Registry(), Port: cmd.Port, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	fmt.Printf("The fixture tools are at %s. Ctrl-C stops.\n", stack.URL)
	return stack.Wait()
}

type runCmd struct {
	Suite    string `help:"The suite's command." default:"conformance"`
	Baseline string `help:"What may fail, and why." default:"infra/conformance/baseline.yaml"`
	Output   string `help:"Where the suite writes its checks." default:".toolhost/ci/conformance"`
	Scenario string `help:"Run this scenario alone."`
}

func (cmd *runCmd) Run(ctx context.Context) error {
	known, err := readBaseline(cmd.Baseline)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(cmd.Output); err != nil {
		return err
	}
	for _, s := range suites {
		if err := cmd.judge(ctx, s, known[s.revision]); err != nil {
			return fmt.Errorf("%s: %w", s.revision, err)
		}
	}
	return nil
}

// judge runs a suite, or the one scenario that was asked for.
func (cmd *runCmd) judge(ctx context.Context, s suite, known baseline) error {
	output := filepath.Join(cmd.Output, s.revision)
	if err := os.MkdirAll(output, 0o755); err != nil {
		return err
	}
	scenarios, err := cmd.scenarios(ctx, s.revision)
	if err != nil {
		return err
	}
	args := []string{"--requirements", s.revision}
	if cmd.Scenario != "" {
		if !slices.Contains(scenarios, cmd.Scenario) {
			return nil
		}
		args, scenarios = []string{"--spec-version", s.revision, "--scenario", cmd.Scenario}, []string{cmd.Scenario}
	}
	stack, err := local.Start(ctx, local.Options{Registry: fixtures.Registry()})
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(output, "suite.log"))
	if err != nil {
		return errors.Join(err, stack.Close())
	}
	run := exec.CommandContext(ctx, cmd.Suite, append([]string{"server", "--url", stack.URL, "-o", output}, args...)...)
	run.Stdout, run.Stderr = log, log
	// The exit code says nothing: it leaves the extension's failures out.
	var exit *exec.ExitError
	if err := run.Run(); err != nil && !errors.As(err, &exit) {
		return errors.Join(err, stack.Close())
	}
	if err := errors.Join(log.Close(), stack.Close()); err != nil {
		return err
	}
	checks, err := readChecks(output)
	if err != nil {
		return err
	}
	v := judge(checks, scenarios, known)
	if cmd.Scenario == "" && v.Tasks != s.tasks {
		v.Problems = append(v.Problems, fmt.Sprintf("%d of %d tasks checks", v.Tasks, s.tasks))
	}
	v.print(os.Stdout, s.revision)
	if len(v.Problems) > 0 {
		return fmt.Errorf("%d problems; the suite's log is %s", len(v.Problems), log.Name())
	}
	return nil
}

// scenarios asks the suite which server scenarios a revision has.
func (cmd *runCmd) scenarios(ctx context.Context, revision string) ([]string, error) {
	out, err := exec.CommandContext(ctx, cmd.Suite, "list", "--server", "--requirements", revision).Output()
	if err != nil {
		return nil, fmt.Errorf("the suite's command %q: %w", cmd.Suite, err)
	}
	return listed(string(out)), nil
}

// listed reads the suite's list: first the scored scenarios of servers and of
// clients, then those that are run and not scored, each with its side.
func listed(text string) []string {
	var scenarios []string
	servers := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, isItem := strings.CutPrefix(line, "- ")
		switch {
		case strings.HasPrefix(line, "Server scenarios"):
			servers = true
		case strings.HasPrefix(line, "Client scenarios"):
			servers = false
		case !isItem:
		case strings.HasSuffix(name, " [server]"):
			scenarios = append(scenarios, strings.TrimSuffix(name, " [server]"))
		case servers && !strings.Contains(name, " ["):
			scenarios = append(scenarios, name)
		}
	}
	slices.Sort(scenarios)
	return scenarios
}

func (v verdict) print(w io.Writer, revision string) {
	for _, p := range v.Problems {
		fmt.Fprintln(w, p)
	}
	fmt.Fprint(w, revision, ": ")
	for _, status := range []string{"SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO"} {
		fmt.Fprintf(w, "%s %d  ", status, v.Counts[status])
	}
	fmt.Fprintf(w, "of them in tasks scenarios: SUCCESS %d\n", v.Tasks)
}
