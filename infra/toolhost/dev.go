package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"text/tabwriter"
	"time"

	"toolhost/functions/tools"
	"toolhost/infra/local"
)

// devCmd runs the whole stack.
type devCmd struct {
	Port    int    `help:"Port of the endpoint on 127.0.0.1; 0 takes any that is free. Default ${default}." env:"PORT" default:"8080" placeholder:"PORT"`
	Data    string `help:"Directory that keeps tasks for the next start; without one they are in memory." placeholder:"DIR"`
	Workers int    `help:"How many tasks run at once. Default ${default}." default:"4" placeholder:"N"`
	Verbose bool   `short:"v" help:"Log everything."`

	Auth        string `help:"Who may call: none lets everybody, oauth asks for a bearer token. Default ${default}." enum:"none,oauth" default:"none" placeholder:"MODE" group:"Callers"`
	Issuer      string `help:"Authorization server whose tokens are accepted." placeholder:"URL" group:"Callers"`
	JWKSURL     string `name:"jwks-url" help:"Where it publishes its keys, if its metadata does not say." placeholder:"URL" group:"Callers"`
	Audience    string `help:"What stands in aud of a token; without it, the endpoint's URL." placeholder:"TEXT" group:"Callers"`
	Scopes      string `help:"Scopes that every request needs, separated by spaces." placeholder:"SCOPES" group:"Callers"`
	TenantClaim string `help:"Claim that holds a caller's tenant." placeholder:"NAME" group:"Callers"`
}

// callers are the variables that say who may call.
func (cmd *devCmd) callers() map[string]string {
	return map[string]string{
		"TOOLHOST_AUTH": cmd.Auth, "TOOLHOST_ISSUER": cmd.Issuer, "TOOLHOST_JWKS_URL": cmd.JWKSURL, "TOOLHOST_AUDIENCE": cmd.Audience,
		"TOOLHOST_SCOPES": cmd.Scopes, "TOOLHOST_TENANT_CLAIM": cmd.TenantClaim,
	}
}

// Validate is called by the command line's parser.
func (cmd *devCmd) Validate() error {
	if cmd.Workers < 1 {
		return fmt.Errorf("--workers is %d; at least one is needed", cmd.Workers)
	}
	if cmd.Auth == "oauth" && cmd.Issuer == "" {
		return errors.New("--auth oauth needs --issuer, the authorization server whose tokens are accepted")
	}
	return checkPort(cmd.Port)
}

func checkPort(port int) error {
	if port < 0 || port > 65535 {
		return fmt.Errorf("there is no port %d", port)
	}
	return nil
}

func (cmd *devCmd) Run(ctx context.Context, t *terminal) error {
	level := slog.LevelInfo
	if cmd.Verbose {
		level = slog.LevelDebug
	}
	registry := tools.Registry()
	stack, err := local.Start(ctx, local.Options{
		Registry: registry, Port: cmd.Port, Dir: cmd.Data, Workers: cmd.Workers, Environment: cmd.callers(), Log: newLog(t.err, level),
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "MCP endpoint  %s\n\n", stack.URL)
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, tool := range registry.Tools() {
		d := tool.Definition()
		fmt.Fprintf(w, "  %s\t%s\n", d.Name, summary(d.Title, d.Description))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprint(t.out, "\nTry, in another terminal:\n\n")
	if stack.URL != defaultURL {
		fmt.Fprintf(t.out, "  export TOOLHOST_URL=%s\n", stack.URL)
	}
	for _, command := range suggestions {
		fmt.Fprintf(t.out, "  %s %s\n", self(), command)
	}
	kept := "Tasks are kept in memory; --data DIR keeps them for the next start."
	if cmd.Data != "" {
		kept = "Tasks are kept in " + cmd.Data + "."
	}
	callers := "There is no authentication: every program on this machine can call these tools, and whoever has a task's id can use the task."
	if cmd.Auth == "oauth" {
		callers = "Callers need a bearer token of " + cmd.Issuer + ", as /.well-known/oauth-protected-resource says; commands take one from TOOLHOST_TOKEN."
	}
	fmt.Fprintf(t.out, "\nThe endpoint is all that is here, besides /callbacks/TOKEN, to which tools send outside jobs.\n%s\n%s Ctrl-C stops.\n\n", callers, kept)
	context.AfterFunc(ctx, func() {
		t.say("\nStopping; what runs is released. Ctrl-C again quits at once.")
	})
	return stack.Wait()
}

// suggestions are commands that work with the tools of this repository.
var suggestions = []string{
	"call csv_profile --file functions/tools/testdata/sales.csv",
	"call deploy_approval --service web --version 1.4.2 --environment staging",
	"call batch_http_check --urls https://example.com --urls https://go.dev",
}

// newLog writes what a person may want to read of what happens: without dates,
// and without what is empty or zero.
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case time.Time:
			return slog.String(a.Key, v.Format(time.TimeOnly))
		case time.Duration:
			a.Value = slog.DurationValue(v.Round(time.Millisecond))
		}
		if v := reflect.ValueOf(a.Value.Any()); !v.IsValid() || v.IsZero() {
			return slog.Attr{}
		}
		return a
	}}))
}
