package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

const (
	// livePoll is how often a task is read that is listened to: in case the stream
	// is silent for another reason than that nothing happens.
	livePoll = time.Minute
	// shortest is what a stream lasts at least if it is worth having, and
	// maxShort how many in a row may be shorter before there is no other.
	shortest = time.Second
	maxShort = 3
)

// errNotWatched means that the server does not tell of the task.
var errNotWatched = errors.New("the server does not tell of this task")

// listener hears of one task until it is ended. Where the server does not offer
// that, or what lies between does not let it through, its owner polls.
type listener struct {
	client *Client
	id     string
	off    bool // there is no use in listening (again)
	short  int

	// The stream that is open; states is nil if there is none.
	states chan Task
	ended  chan error
	cancel context.CancelFunc
	began  time.Time
	heard  bool // it has told of the task
}

// begin opens a stream if none is open.
func (l *listener) begin(ctx context.Context) {
	if l.off || l.states != nil {
		return
	}
	ctx, l.cancel = context.WithCancel(ctx)
	states, ended := make(chan Task), make(chan error, 1)
	l.states, l.ended, l.began, l.heard = states, ended, l.client.opts.Clock.Now(), false
	go func() { ended <- l.client.listen(ctx, l.id, states) }()
}

// over notes that the stream ended, and why. Another may be opened: it begins
// with how the task is, so nothing is missed in between.
func (l *listener) over(err error) {
	var refused *Error
	if l.short++; l.client.opts.Clock.Now().Sub(l.began) >= shortest {
		l.short = 0
	}
	l.off = l.short == maxShort || errors.As(err, &refused) || errors.Is(err, errNotWatched)
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
		return max(livePoll, t.poll())
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
	number := c.ids.Add(1)
	params := x.params
	params["_meta"] = c.meta(number, exchange{})
	body := jsonrpc.Encode(map[string]any{"jsonrpc": "2.0", "id": number, "method": x.method, "params": params})
	_, err := c.send(ctx, x, number, body)
	if cause := context.Cause(ctx); errors.Is(cause, errNotWatched) {
		return cause
	}
	return err
}
