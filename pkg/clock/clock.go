// Package clock is the time that every part is given: the machine's own, or
// one that a test or an emulator moves by hand.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time and wakes those who wait for one.
type Clock interface {
	Now() time.Time
	// After returns a channel that receives once, when the clock has advanced
	// by d; at once if d is not positive. stop frees it early.
	After(d time.Duration) (c <-chan time.Time, stop func())
}

// System is the machine's clock.
var System Clock = system{}

type system struct{}

func (system) Now() time.Time { return time.Now() }

func (system) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// Manual is a clock that can be moved. It either stands still between moves
// (NewManual) or runs with the machine's clock, ahead by what it was moved
// (NewMovable).
type Manual struct {
	mu      sync.Mutex
	base    func() time.Time
	running bool
	offset  time.Duration
	waiters map[*waiter]struct{}
}

type waiter struct {
	at    time.Time
	c     chan time.Time
	timer *time.Timer
}

// NewManual returns a clock that stands at now until it is moved.
func NewManual(now time.Time) *Manual {
	return &Manual{base: func() time.Time { return now }, waiters: map[*waiter]struct{}{}}
}

// NewMovable returns a clock that runs with the machine's and can be moved ahead of it.
func NewMovable() *Manual {
	return &Manual{base: time.Now, running: true, waiters: map[*waiter]struct{}{}}
}

// Now is the clock's time.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now()
}

func (m *Manual) now() time.Time { return m.base().Add(m.offset) }

// Advance moves the clock by d and wakes all who waited for a time it passed.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.offset += d
	for w := range m.waiters {
		m.settle(w)
	}
}

// settle wakes w if its time has come, else makes sure that something will.
func (m *Manual) settle(w *waiter) {
	now := m.now()
	if w.timer != nil {
		w.timer.Stop()
	}
	if !now.Before(w.at) {
		delete(m.waiters, w)
		w.c <- now
		return
	}
	if m.running {
		w.timer = time.AfterFunc(w.at.Sub(now), func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if _, waits := m.waiters[w]; waits {
				m.settle(w)
			}
		})
	}
}

// After implements Clock.
func (m *Manual) After(d time.Duration) (<-chan time.Time, func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &waiter{at: m.now().Add(d), c: make(chan time.Time, 1)}
	m.waiters[w] = struct{}{}
	m.settle(w)
	return w.c, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.waiters, w)
		if w.timer != nil {
			w.timer.Stop()
		}
	}
}

// Waiting is how many callers wait for the clock; a test that moves it first
// waits until the one it means to wake is there.
func (m *Manual) Waiting() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiters)
}
