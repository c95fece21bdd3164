package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"toolhost/pkg/client"
)

// writeHelp prints how a tool is called.
func (t *terminal) writeHelp(tool client.Tool, flags []flag) {
	width := max(min(t.width(t.out), 120), 40)
	out := &strings.Builder{}
	fmt.Fprintf(out, "Usage: toolhost call %s [--KEY VALUE …]\n\n", tool.Name)
	if tool.Title != "" {
		fmt.Fprintf(out, "%s\n", tool.Title)
	}
	if tool.Description != "" {
		fmt.Fprintf(out, "%s\n", ansi.Wordwrap(plain(tool.Description), width, ""))
	}
	var theirs, ours []flag
	for _, f := range flags {
		if f.own == nil {
			theirs = append(theirs, f)
		} else {
			ours = append(ours, f)
		}
	}
	if len(theirs) > 0 {
		fmt.Fprintln(out, "\nArguments (a VALUE that is @PATH is a file's content, @- standard input):")
		writeFlags(out, theirs, width)
	}
	fmt.Fprintln(out, "\nFlags:")
	writeFlags(out, ours, width)
	fmt.Fprint(t.out, plain(out.String()))
}

// column is where the words about a flag begin; a longer flag has a line to itself.
const column = 28

func writeFlags(w io.Writer, flags []flag, width int) {
	for _, f := range flags {
		name := "  --" + f.name
		if f.bare() && f.own == nil {
			name = "  --[no-]" + f.name
		} else if f.value != "" {
			name += "=" + f.value
		}
		lines := strings.Split(ansi.Wordwrap(oneLine(f.help), width-column, ""), "\n")
		if ansi.StringWidth(name) > column-2 {
			fmt.Fprintln(w, name)
			name = ""
		}
		for _, line := range lines {
			fmt.Fprintln(w, strings.TrimRight(name+strings.Repeat(" ", column-ansi.StringWidth(name))+line, " "))
			name = ""
		}
	}
}
