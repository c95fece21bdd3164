package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

const (
	// livePoll is how often a task is read that is listened to, in case the stream
	// is silent for another reason than that nothing happens; or at livePolls times
	// its poll interval, if that is more.
	livePoll  = time.Minute
	livePolls = 4
	// shortest is what a stream lasts at least if it is worth having. The first
	// shorter one is followed by another at once, the next ones after a pause that
	// grows.
	shortest = time.Second
)

// errNotWatched means that the server does not tell of the task.
var errNotWatched = errors.New("the server does not tell of this task")

// listener hears of one task until it is ended. Where the server does not offer
// that, or what lies between does not let it through, its owner polls.
type listener struct {
	client *Client
	id     string
	off    bool // there is no use in listening (again)
	short  bool // the last stream was
	pause  *backoff.ExponentialBackOff
	after  time.Time // when another stream may be opened

	// The stream that is open; states is nil if there is none.
	states chan Task
	ended  chan error
	cancel context.CancelFunc
	began  time.Time
	heard  bool // it tells of the task
}

func newListener(c *Client, id string) *listener {
	return &listener{client: c, id: id, off: c.opts.Poll || c.deaf.Load() || c.isOlder(), pause: backoff.NewExponentialBackOff()}
}

// begin opens a stream if none is open and it is time to.
func (l *listener) begin(ctx context.Context) {
	now := l.client.opts.Clock.Now()
	if l.off || l.states != nil || now.Before(l.after) {
		return
	}
	ctx, l.cancel = context.WithCancel(ctx)
	states, ended := make(chan Task), make(chan error, 1)
	l.states, l.ended, l.began, l.heard = states, ended, now, false
	go func() { ended <- l.client.listen(ctx, l.id, states) }()
}

// over notes that the stream ended, and why; nil is in good order. Another may be
// opened: it begins with how the task is, so nothing is missed in between.
func (l *listener) over(err error) {
	now := l.client.opts.Clock.Now()
	switch {
	case now.Sub(l.began) >= shortest:
		l.short = false
		l.pause.Reset()
	case l.short:
		l.after = now.Add(l.pause.NextBackOff())
	default:
		l.short = true
	}
	if err != nil {
		passing, after := l.client.passing(err, false)
		l.off = !passing
		l.after = slices.MaxFunc([]time.Time{l.after, now.Add(after)}, time.Time.Compare)
	}
	l.cancel()
	l.states, l.ended = nil, nil
}

// end closes the stream and waits until it is closed.
func (l *listener) end() {
	if l.states != nil {
		l.cancel()
		<-l.ended
		l.states, l.ended = nil, nil
	}
}

// poll is how long to wait before the next read of the task.
func (l *listener) poll(t Task) time.Duration {
	if l.states != nil && l.heard {
		return max(livePoll, livePolls*t.poll())
	}
	return t.poll()
}

// listen sends the states of a task as the server tells them. It returns nil
// when the server has ended the stream in good order.
func (c *Client) listen(ctx context.Context, id string, states chan<- Task) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := exchange{method: protocol.MethodListen, params: map[string]any{"notifications": map[string]any{"taskIds": []string{id}}}}
	x.notify = func(method string, raw json.RawMessage) {
		switch method {
		case protocol.NotificationAcknowledged:
			var p protocol.AcknowledgedParams
			if json.Unmarshal(raw, &p) == nil && !slices.Contains(p.Notifications.TaskIDs, id) {
				cancel(errNotWatched)
			}
		case protocol.NotificationTasks:
			t, err := readTask(raw)
			if err != nil || t.ID != id {
				return
			}
			select {
			case states <- t:
			case <-ctx.Done():
			}
		}
	}
	_, err := c.send(ctx, x, c.ids.Add(1), c.spoken())
	if cause := context.Cause(ctx); errors.Is(cause, errNotWatched) {
		return cause
	}
	var refused *Error
	if errors.As(err, &refused) && refused.Code == jsonrpc.CodeMethodNotFound {
		c.deaf.Store(true)
	}
	return err
}
