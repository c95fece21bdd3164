package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"toolhost/pkg/client"
)

// progress shows what a call is doing: on a terminal one line that is rewritten,
// with the time that has passed; elsewhere a line for each change.
type progress struct {
	t    *terminal
	stop chan struct{} // closed by end

	mu    sync.Mutex
	text  string // "" shows nothing
	since time.Time
	held  bool // a form has the screen
	ended bool
}

// newProgress begins with a text that only a terminal shows.
func newProgress(t *terminal, text string) *progress {
	p := &progress{t: t, stop: make(chan struct{}), since: time.Now()}
	if t.live && !t.json {
		p.text = text
		p.draw()
		go p.tick()
	}
	return p
}

// watch shows a call's states. It tells the id of its task once.
func (p *progress) watch() client.Watch {
	var known string
	return client.Watch{
		Task: func(t client.Task) {
			if t.ID != known {
				known = t.ID
				p.line("Task " + t.ID)
			}
			if t.Terminal() {
				return
			}
			text := t.Status
			if t.StatusMessage != "" {
				text += ": " + t.StatusMessage
			}
			p.say(text)
		},
		Progress: func(done, total float64, message string) {
			text := fmt.Sprintf("%g", done)
			if total > 0 {
				text = fmt.Sprintf("%.0f %%", 100*done/total)
			}
			p.say(oneLine(text + " " + message))
		},
	}
}

// line writes a line that stays.
func (p *progress) line(text string) {
	if p.t.json {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.t.say("%s", oneLine(text))
	p.draw()
}

// say shows a new state.
func (p *progress) say(text string) {
	text = oneLine(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.t.json || p.ended || text == p.text {
		return
	}
	p.text = text
	if p.t.live {
		p.draw()
	} else {
		p.t.say("%s", text)
	}
}

// hold leaves the screen to a form until release.
func (p *progress) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.held = true
}

func (p *progress) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = false
}

// end takes the line away.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.clear()
		p.ended = true
		close(p.stop)
	}
}

func (p *progress) tick() {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-second.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// draw and clear write to the rewritten line; the caller holds the lock.
func (p *progress) draw() {
	if !p.t.live || p.t.json || p.held || p.ended || p.text == "" {
		return
	}
	passed := fmt.Sprintf(" (%v)", time.Since(p.since).Truncate(time.Second))
	fmt.Fprint(p.t.err, "\r\x1b[K", ansi.Truncate(p.text, max(p.t.width(p.t.err)-len(passed)-1, 0), "…"), passed)
}

func (p *progress) clear() {
	if p.t.live && !p.t.json && !p.held {
		fmt.Fprint(p.t.err, "\r\x1b[K")
	}
}
