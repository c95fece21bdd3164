package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"toolhost/pkg/client"
)

// callCmd calls a tool. What follows the tool's name is parsed once the tool's
// schema is known, so that its properties are flags with help of their own.
type callCmd struct {
	Args    string   `help:"${args}" placeholder:"JSON"`
	Answers string   `help:"${answers}" placeholder:"JSON"`
	Detach  bool     `help:"${detach}"`
	JSON    bool     `name:"json" help:"${json}"`
	Rest    []string `arg:"" passthrough:"all" optional:"" name:"tool" help:"The tool, then its arguments: --key value, --key @path for a file's content, --file path for the tool's one file. 'toolhost call TOOL --help' lists them."`
}

// helps are the words about flags that several places show.
var helps = map[string]string{
	"endpoint": defaultURL,
	"url":      "MCP endpoint ($TOOLHOST_URL). Default " + defaultURL + ".",
	"args":     "All arguments as one JSON object, or @PATH of a file that holds it. Other flags go over it.",
	"answers":  "Answers to the tool's questions by their keys, {\"key\": {…}} as JSON or @PATH: the content of the form, or a whole response with its action.",
	"detach":   "Print the task's id and leave it running.",
	"json":     "Print one JSON value: the whole result, or an error.",
	"help":     "Show this.",
}

// flags are the command's own flags, after the tool's name.
func (cmd *callCmd) flags(url *string, help *bool) []flag {
	flags := []flag{
		{name: "args", own: &cmd.Args, value: "JSON"},
		{name: "answers", own: &cmd.Answers, value: "JSON"},
		{name: "detach", own: &cmd.Detach},
		{name: "json", own: &cmd.JSON},
		{name: "url", own: url, value: "URL"},
		{name: "help", own: help},
	}
	for i := range flags {
		flags[i].help = helps[flags[i].name]
	}
	return flags
}

func (cmd *callCmd) Run(ctx context.Context, c *cli, t *terminal) error {
	if len(cmd.Rest) == 0 {
		return usagef("which tool? '%[1]s tools' lists them, and '%[1]s call TOOL --help' shows one's arguments", self())
	}
	name, rest := cmd.Rest[0], cmd.Rest[1:]
	if strings.HasPrefix(name, "-") {
		return usagef("there is no %s; the tool's arguments come after its name: %s call TOOL %s", name, self(), strings.Join(cmd.Rest, " "))
	}
	c.URL = flagValue(rest, "url", c.URL)
	t.json = cmd.JSON || flagValue(rest, "json", "") != ""

	line := newProgress(t, "calling "+name)
	defer line.end()
	answerer := &answerer{t: t, line: line}
	cl, err := c.client(answerer.answer)
	if err != nil {
		return err
	}
	tool, err := findTool(ctx, cl, name)
	if err != nil {
		return err
	}
	schema, err := readSchema(tool.InputSchema)
	if err != nil {
		return fmt.Errorf("the schema of %s can't be read: %w", tool.Name, err)
	}
	help := false
	flags := toolFlags(schema, cmd.flags(&c.URL, &help))
	all, err := parseFlags(flags, rest)
	if err == nil {
		all, err = setOwn(all)
	}
	if err != nil {
		return usagef("%w; '%s call %s --help' lists the arguments", err, self(), tool.Name)
	}
	t.json = cmd.JSON
	if help {
		line.end()
		t.writeHelp(tool, flags)
		return nil
	}
	arguments, err := t.arguments(schema, cmd.Args, all)
	if err != nil {
		return err
	}
	if missing := schema.missing(arguments); missing != nil {
		return usagef("%s needs %s; '%s call %[1]s --help' lists its arguments", tool.Name, strings.Join(missing, ", "), self())
	}
	if answerer.prepared, err = t.answers(cmd.Answers); err != nil {
		return err
	}
	if cmd.Detach {
		return cmd.detach(ctx, cl, t, line, tool.Name, arguments)
	}
	watch, id := line.watch(), ""
	show := watch.Task
	watch.Task = func(task client.Task) { id = task.ID; show(task) }
	raw, err := cl.Call(ctx, tool.Name, arguments, watch)
	line.end()
	if err != nil {
		return t.leave(c, cl, id, err)
	}
	return t.result(raw)
}

// detach starts the call and prints the id of its task. A call that is no task
// has its result at once.
func (cmd *callCmd) detach(ctx context.Context, cl *client.Client, t *terminal, line *progress, tool string, arguments json.RawMessage) error {
	o, err := cl.Start(ctx, tool, arguments, client.Watch{})
	line.end()
	switch {
	case err != nil:
		return err
	case o.Task == nil:
		return t.result(o.Result)
	case t.json:
		fmt.Fprintf(t.out, "%s\n", o.Task.Raw)
	default:
		fmt.Fprintln(t.out, o.Task.ID)
	}
	return nil
}

// flagValue finds one of our flags before the line can be parsed; "true" if it
// stands alone.
func flagValue(args []string, name, otherwise string) string {
	for i, a := range args {
		if v, is := strings.CutPrefix(a, "--"+name+"="); is {
			return v
		}
		if a == "--"+name {
			if name != "json" && i+1 < len(args) {
				return args[i+1]
			}
			return "true"
		}
	}
	return otherwise
}

func findTool(ctx context.Context, cl *client.Client, name string) (client.Tool, error) {
	tools, err := cl.Tools(ctx)
	if err != nil {
		return client.Tool{}, err
	}
	var names []string
	for _, t := range tools {
		if t.Name == name {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return client.Tool{}, usagef("there is no tool %q; there are: %s", name, strings.Join(names, ", "))
}
