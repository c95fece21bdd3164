package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"toolhost/pkg/client"
)

// callCmd calls a tool. What follows the tool's name is parsed once the tool's
// schema is known, so that its properties are flags with help of their own.
type callCmd struct {
	Rest []string `arg:"" passthrough:"all" optional:"" name:"tool" help:"The tool, then its arguments; 'toolhost call TOOL --help' lists them."`
}

// callFlags are the flags of call that are not the tool's.
type callFlags struct {
	URL     string `help:"MCP endpoint." env:"TOOLHOST_URL" default:"http://127.0.0.1:8080/mcp" placeholder:"URL"`
	Args    string `help:"All arguments as one JSON object, or @path of a file that holds it." placeholder:"JSON"`
	Answers string `help:"Answers to the tool's questions, {\"key\": {…}} as JSON or @path: the content, or a whole response with an action." placeholder:"JSON"`
	Detach  bool   `help:"Print the task's id and leave it running."`
	JSON    bool   `name:"json" help:"Print the whole result as JSON, and say nothing else."`
}

func (cmd *callCmd) Run(ctx context.Context, c *cli, t *terminal) error {
	if len(cmd.Rest) == 0 {
		return usagef("which tool? 'toolhost tools' lists them")
	}
	if strings.HasPrefix(cmd.Rest[0], "-") {
		if cmd.Rest[0] == "--help" || cmd.Rest[0] == "-h" {
			fmt.Fprintln(t.out, "Usage: toolhost call TOOL [--KEY VALUE …] [flags]\n\n'toolhost call TOOL --help' lists the tool's arguments; 'toolhost tools' lists the tools.")
			return nil
		}
		return usagef("the tool comes first: toolhost call TOOL %s", strings.Join(cmd.Rest, " "))
	}
	name, rest := cmd.Rest[0], cmd.Rest[1:]
	url := flagValue(rest, "url", c.URL)
	tools, err := client.New(url, client.Options{}).Tools(ctx)
	if err != nil {
		return err
	}
	tool, err := findTool(tools, name)
	if err != nil {
		return err
	}
	flags, arguments, err := parseArguments(t, tool, rest)
	if err != nil {
		return err
	}
	answers, err := parseAnswers(flags.Answers)
	if err != nil {
		return err
	}
	return t.call(ctx, url, tool.Name, flags, arguments, answers)
}

// call runs the call itself.
func (t *terminal) call(ctx context.Context, url, name string, flags callFlags, arguments json.RawMessage, answers map[string]json.RawMessage) error {
	line := newProgress(t, flags.JSON)
	cl := client.New(url, client.Options{Name: "toolhost", Version: "1", Answerer: t.answerer(line, answers)})
	var id string
	watch := line.watch()
	show := watch.Task
	watch.Task = func(task client.Task) { id = task.ID; show(task) }

	if flags.Detach {
		o, err := cl.Start(ctx, name, arguments, watch)
		line.end()
		if err != nil {
			return err
		}
		if o.Task == nil {
			return t.result(o.Result, flags.JSON)
		}
		if flags.JSON {
			return json.NewEncoder(t.out).Encode(o.Task)
		}
		fmt.Fprintln(t.out, o.Task.ID)
		return nil
	}
	raw, err := cl.Call(ctx, name, arguments, watch)
	line.end()
	if err != nil {
		return t.left(cl, id, err)
	}
	return t.result(raw, flags.JSON)
}

// left says what became of the task when a command ends before it does. After
// a Ctrl-C it offers to cancel.
func (t *terminal) left(cl *client.Client, id string, err error) error {
	if id == "" || !errors.Is(err, context.Canceled) && !errors.Is(err, errUnanswered) {
		return err
	}
	if errors.Is(err, context.Canceled) && t.tty && t.confirm("Cancel the task?") {
		if err := cl.Cancel(context.Background(), id); err != nil {
			return err
		}
		return client.ErrCancelled
	}
	fmt.Fprintf(t.err, "The task goes on. Come back with 'toolhost watch %s', answer with 'toolhost answer %s', stop it with 'toolhost cancel %s'.\n", id, id, id)
	return err
}

// result prints a CallToolResult: its text as text, anything else as JSON.
func (t *terminal) result(raw json.RawMessage, whole bool) error {
	var r struct {
		Content []struct {
			Type     string          `json:"type"`
			Text     string          `json:"text"`
			MIMEType string          `json:"mimeType"`
			URI      string          `json:"uri"`
			Data     string          `json:"data"`
			Resource json.RawMessage `json:"resource"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("reading the result: %w", err)
	}
	switch {
	case whole:
		fmt.Fprintln(t.out, string(raw))
	case r.Structured != nil && !r.IsError:
		fmt.Fprintln(t.out, indented(r.Structured))
	default:
		for _, c := range r.Content {
			switch c.Type {
			case "text":
				fmt.Fprintln(t.out, c.Text)
			case "resource_link":
				fmt.Fprintln(t.out, c.URI)
			case "resource":
				fmt.Fprintln(t.out, indented(c.Resource))
			default:
				fmt.Fprintf(t.out, "[%s %s, %d bytes of base64]\n", c.Type, c.MIMEType, len(c.Data))
			}
		}
	}
	if r.IsError {
		return exitError(exitToolError)
	}
	return nil
}
