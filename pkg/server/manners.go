package server

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/task"
)

// tooOften tells a client that polls far below the interval it was given.
func (m *manners) tooOften() error {
	return placed{jsonrpc.Errorf(jsonrpc.CodeInternal,
		"This task is polled too often: the limit is %d times a second. Wait its pollIntervalMs between two polls", m.rate), http.StatusTooManyRequests}
}

// manners bounds how often a caller reads one task, in this process alone: an
// even rate, and three seconds' worth of it at once. It knows the calls, not
// whether there is such a task, so it tells nothing, and a refused poll reads
// nothing.
type manners struct {
	rate  int // a second; negative: any
	mu    sync.Mutex
	polls map[polled]*rate.Limiter
}

type polled struct {
	owner task.Owner
	id    string
}

// maxPolled is how many tasks' polls are counted at once. When there are more, all
// start anew: that lets more polls pass, never fewer.
const maxPolled = 4096

// admit counts a poll, and reports whether it may be answered.
func (m *manners) admit(owner task.Owner, id string, now time.Time) bool {
	if m.rate < 0 {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := polled{owner, id}
	if m.polls == nil || m.polls[key] == nil && len(m.polls) >= maxPolled {
		m.polls = map[polled]*rate.Limiter{}
	}
	l := m.polls[key]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(m.rate), 3*m.rate)
		m.polls[key] = l
	}
	return l.AllowN(now, 1)
}
