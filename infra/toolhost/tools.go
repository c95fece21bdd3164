package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"toolhost/pkg/client"
)

type toolsCmd struct {
	Name string `arg:"" optional:"" help:"Show this tool with its schemas."`
	JSON bool   `name:"json" help:"Print the list as JSON."`
}

func (cmd *toolsCmd) Run(ctx context.Context, c *cli, t *terminal) error {
	tools, err := client.New(c.URL, client.Options{Name: "toolhost", Version: "1"}).Tools(ctx)
	if err != nil {
		return err
	}
	if cmd.Name != "" {
		tool, err := findTool(tools, cmd.Name)
		if err != nil {
			return err
		}
		if cmd.JSON {
			return json.NewEncoder(t.out).Encode(tool)
		}
		fmt.Fprintf(t.out, "%s\n%s\n\nArguments:\n%s\n", tool.Name, tool.Description, indented(tool.InputSchema))
		if tool.OutputSchema != nil {
			fmt.Fprintf(t.out, "\nResult:\n%s\n", indented(tool.OutputSchema))
		}
		return nil
	}
	if cmd.JSON {
		return json.NewEncoder(t.out).Encode(tools)
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, tool := range tools {
		fmt.Fprintf(w, "%s\t%s\n", tool.Name, firstSentence(tool.Description))
	}
	return w.Flush()
}

func firstSentence(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if i := strings.Index(s, ". "); i > 0 {
		s = s[:i+1]
	}
	return s
}

// indented is JSON for people.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
