package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"toolhost/pkg/jsonrpc"
)

type toolsCmd struct {
	Name string `arg:"" optional:"" help:"Show this tool and its arguments."`
	JSON bool   `name:"json" help:"Print what the server says, as JSON: a list, or the one tool with its schemas."`
}

func (cmd *toolsCmd) Run(ctx context.Context, c *cli, t *terminal) error {
	t.json = cmd.JSON
	cl, err := c.client(nil)
	if err != nil {
		return err
	}
	if cmd.Name != "" {
		tool, err := findTool(ctx, cl, cmd.Name)
		if err != nil {
			return err
		}
		if t.json {
			fmt.Fprintf(t.out, "%s\n", tool.Raw)
			return nil
		}
		schema, err := readSchema(tool.InputSchema)
		if err != nil {
			return fmt.Errorf("the schema of %s can't be read: %w", tool.Name, err)
		}
		t.writeHelp(tool, toolFlags(schema, (&callCmd{}).flags(&c.URL, new(bool))))
		return nil
	}
	tools, err := cl.Tools(ctx)
	if err != nil {
		return err
	}
	if t.json {
		list := []json.RawMessage{}
		for _, tool := range tools {
			list = append(list, tool.Raw)
		}
		fmt.Fprintf(t.out, "%s\n", jsonrpc.Encode(list))
		return nil
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, tool := range tools {
		fmt.Fprintf(w, "%s\t%s\n", oneLine(tool.Name), summary(tool.Title, tool.Description))
	}
	return w.Flush()
}

// summary is a line about a tool: its title, or how its description begins.
func summary(title, description string) string {
	if title != "" {
		return oneLine(title)
	}
	description, _, _ = strings.Cut(description, "\n")
	if i := strings.Index(description, ". "); i > 0 {
		description = description[:i+1]
	}
	return oneLine(description)
}
