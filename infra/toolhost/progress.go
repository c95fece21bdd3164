package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"toolhost/pkg/client"
)

// progress shows what a call is doing: one line that is rewritten on a
// terminal, a line for each change elsewhere.
type progress struct {
	t     *terminal
	quiet bool
	open  bool // the line on the screen has not ended
	last  string
	since time.Time
}

func newProgress(t *terminal, quiet bool) *progress {
	return &progress{t: t, quiet: quiet, since: time.Now()}
}

func (p *progress) watch() client.Watch {
	return client.Watch{
		Task: func(t client.Task) {
			if t.Terminal() {
				return
			}
			text := "task " + t.ID + ": " + t.Status
			if t.StatusMessage != "" {
				text += ": " + t.StatusMessage
			}
			p.say(text)
		},
		Progress: func(done, total float64, message string) {
			switch {
			case total > 0:
				p.say(fmt.Sprintf("%3.0f %% %s", 100*done/total, message))
			case message != "":
				p.say(message)
			default:
				p.say(fmt.Sprintf("%g", done))
			}
		},
	}
}

func (p *progress) say(text string) {
	if p.quiet || text == p.last {
		return
	}
	p.last = text
	if !p.t.live {
		fmt.Fprintln(p.t.err, text)
		return
	}
	fmt.Fprintf(p.t.err, "\r\x1b[K%s (%s)", text, time.Since(p.since).Round(time.Second))
	p.open = true
}

// end leaves the line as it is and goes to the next one.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.t.err)
		p.open = false
	}
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
