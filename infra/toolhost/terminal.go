package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// terminal is where a command talks to a person or a script.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	keyboard keyboard
	// asks says that a person can fill in a form, live that the last line of err
	// can be rewritten, shows that out is a terminal.
	asks, live, shows bool
	// json says that out is for a script.
	json bool
}

// say writes a line to the person. Control characters of a server's words do not
// reach the terminal.
func (t *terminal) say(format string, args ...any) {
	fmt.Fprintln(t.err, plain(fmt.Sprintf(format, args...)))
}

// print writes a server's text to standard output: as it is to a file, made
// harmless to a terminal.
func (t *terminal) print(text string) {
	if t.shows {
		text = plain(text)
	}
	fmt.Fprintln(t.out, text)
}

// width is how many columns a line has.
func (t *terminal) width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return 100
}

// plain is text without control characters but for line ends and tabs.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}

// oneLine is text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(plain(s)), " ") }

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
