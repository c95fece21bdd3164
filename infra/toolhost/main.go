// Command toolhost is the one command for people: it runs the whole stack on a
// laptop, and calls, watches, answers and cancels tools on any MCP server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"toolhost/pkg/client"
)

// The exit codes, for scripts.
const (
	exitOK          = 0
	exitToolError   = 1   // the tool returned an error (isError)
	exitUsage       = 2   // the command line, or arguments that can't be read
	exitFailed      = 3   // the call or its task failed with a JSON-RPC error
	exitCancelled   = 4   // the task was cancelled
	exitUnreachable = 5   // no MCP server answers
	exitUnanswered  = 6   // the tool asks, and nobody is here to answer
	exitBroken      = 7   // anything else, such as a port that is in use
	exitInterrupted = 130 // Ctrl-C; a task that was made goes on
)

// cli is the command line.
type cli struct {
	URL string `help:"MCP endpoint." env:"TOOLHOST_URL" default:"http://127.0.0.1:8080/mcp" placeholder:"URL"`

	Dev     devCmd     `cmd:"" help:"Run the whole stack here, without an AWS account."`
	Emulate emulateCmd `cmd:"" help:"Run only the emulators of DynamoDB and SQS, for 'sam local' to point at."`
	Tools   toolsCmd   `cmd:"" help:"List the tools, or show one with its arguments."`
	Call    callCmd    `cmd:"" help:"Call a tool and stay with it to its result."`
	Watch   watchCmd   `cmd:"" help:"Stay with a task to its end, and answer what it asks."`
	Answer  answerCmd  `cmd:"" help:"Answer a task's open questions."`
	Cancel  cancelCmd  `cmd:"" help:"Cancel a task."`
}

const description = `Toolhost runs MCP tools as durable tasks.

Exit codes: 0 result, 1 tool error, 2 usage, 3 failed, 4 cancelled, 5 no server, 6 unanswered question, 7 other trouble, 130 interrupted.`

// terminal is where a command talks to a person.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	// tty says that a person can answer a form, live that the last line of err can be rewritten.
	tty, live bool
	// interrupted ends with the first Ctrl-C.
	interrupted context.Context
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], &terminal{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		tty: isTerminal(os.Stdin) && isTerminal(os.Stderr), live: isTerminal(os.Stderr), interrupted: ctx,
	})
	stop()
	os.Exit(code)
}

// run is main without the process, and returns the exit code.
func run(ctx context.Context, args []string, t *terminal) (code int) {
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("toolhost"), kong.Description(description), kong.Writers(t.out, t.err),
		kong.UsageOnError(), kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		panic(err) // the struct above is wrong
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help was shown
		return exited
	}
	if err != nil {
		fmt.Fprintln(t.err, "toolhost:", err)
		fmt.Fprintln(t.err, "Try 'toolhost --help'.")
		return exitUsage
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(&c, t)
	return report(t, err)
}

// usageError is a mistake in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError carries an exit code for something already said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// report says what went wrong and returns the exit code for it.
func report(t *terminal, err error) int {
	var (
		code        exitError
		usage       usageError
		failed      *client.FailedError
		refused     *client.Error
		unreachable *client.UnreachableError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintln(t.err, "toolhost:", err)
		return exitUsage
	case errors.Is(err, errUnanswered):
		fmt.Fprintln(t.err, "toolhost:", err)
		return exitUnanswered
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, client.ErrCancelled):
		fmt.Fprintln(t.err, "cancelled")
		return exitCancelled
	case errors.As(err, &failed):
		fmt.Fprintf(t.err, "failed: %s (%d)\n", failed.Message, failed.Code)
		return exitFailed
	case errors.As(err, &refused):
		fmt.Fprintf(t.err, "refused: %s (%d)\n", refused.Message, refused.Code)
		return exitFailed
	case errors.As(err, &unreachable):
		fmt.Fprintln(t.err, "toolhost:", err)
		fmt.Fprintln(t.err, "Start one with 'go run ./infra/toolhost dev', or name another by --url or TOOLHOST_URL.")
		return exitUnreachable
	}
	fmt.Fprintln(t.err, "toolhost:", err)
	return exitBroken
}
