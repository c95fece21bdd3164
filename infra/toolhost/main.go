package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"toolhost/pkg/auth"
	"toolhost/pkg/client"
)

const defaultURL = "http://127.0.0.1:8080/mcp"

// cli is the command line.
type cli struct {
	URL string `help:"MCP endpoint. Default ${default}. A bearer token for it is taken from TOOLHOST_TOKEN." env:"TOOLHOST_URL" default:"${endpoint}" placeholder:"URL"`

	opened *client.Client // the command's, once it has one

	Dev     devCmd     `cmd:"" help:"Run the whole stack here, without an AWS account."`
	Emulate emulateCmd `cmd:"" help:"Run only the emulators of DynamoDB and SQS, for 'sam local' to point at."`
	Tools   toolsCmd   `cmd:"" help:"List the tools, or show one with its arguments."`
	Call    callCmd    `cmd:"" help:"Call a tool and stay with it to its result."`
	Watch   watchCmd   `cmd:"" help:"Stay with a task to its end, and answer what it asks."`
	Answer  answerCmd  `cmd:"" help:"Answer a task's open questions."`
	Cancel  cancelCmd  `cmd:"" help:"Cancel a task."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second Ctrl-C ends the process at once
	code := run(ctx, os.Args[1:], &terminal{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, keyboard: keyboard{file: os.Stdin},
		asks: isTerminal(os.Stdin) && isTerminal(os.Stderr), live: isTerminal(os.Stderr), shows: isTerminal(os.Stdout),
	})
	stop()
	os.Exit(code)
}

// run is main without the process, and returns the exit code.
func run(ctx context.Context, args []string, t *terminal) int {
	var c cli
	exited := false
	parser := c.parser(t, func(int) { exited = true })
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited { // --help was shown
		return exitOK
	}
	if err != nil {
		return t.fail(usagef("%w; '%s --help' says what there is", err, self()))
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(&c, t)
	if c.opened != nil {
		_ = c.opened.Close() // an older server's session; how that ends is its own business
	}
	return t.fail(err)
}

func (c *cli) parser(t *terminal, exit func(int)) *kong.Kong {
	parser, err := kong.New(c, kong.Name("toolhost"), kong.Description(description), kong.Vars(helps),
		kong.Writers(t.out, t.err), kong.Exit(exit), kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoAppDescFormat: true}), kong.Help(help))
	if err != nil {
		panic(err) // the struct above is wrong
	}
	return parser
}

// help is the library's, without --url for the commands that call nobody.
func help(options kong.HelpOptions, parsed *kong.Context) error {
	if command := parsed.Selected(); command != nil && (command.Name == "dev" || command.Name == "emulate") {
		for _, f := range parsed.Model.Flags {
			f.Hidden = f.Hidden || f.Name == "url"
		}
	}
	return kong.DefaultHelpPrinter(options, parsed)
}

// client is a client for the endpoint.
func (c *cli) client(answerer client.Answerer) (*client.Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usagef("%q is no URL of an MCP endpoint, such as %s", c.URL, defaultURL)
	}
	o := client.Options{Name: "toolhost", Version: "1", Answerer: answerer}
	// Not a flag: other programs can read those.
	if token := os.Getenv("TOOLHOST_TOKEN"); token != "" {
		if err := auth.CheckURL(c.URL); err != nil {
			return nil, usagef("TOOLHOST_TOKEN is not sent to %s, which %w", c.URL, err)
		}
		o.HTTP = &http.Client{Transport: bearer(token), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	c.opened = client.New(c.URL, o)
	return c.opened, nil
}

// bearer sends requests with a token.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// command is how this program is called for something about the same endpoint.
func (c *cli) command(rest string) string {
	command := self() + " " + rest
	if env := os.Getenv("TOOLHOST_URL"); c.URL != env && (c.URL != defaultURL || env != "") {
		command += " --url " + c.URL
	}
	return command
}

// self is how this program was called.
func self() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./infra/toolhost"
	}
	return os.Args[0]
}

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
