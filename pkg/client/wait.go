package client

import (
	"context"
	"encoding/json"
)

// Wait stays with a task to its end, answers its questions, and returns its
// result, a CallToolResult, or a *FailedError, ErrCancelled, or ErrUnknownTask if it is gone. It
// listens to the task where the server offers that, and reads it now and then to be sure: once a
// minute, or at four times the interval that the server wants between polls if that is more. Elsewhere it
// polls as often as the server wants it to, also while a question is open.
func (c *Client) Wait(ctx context.Context, id string, w Watch) (json.RawMessage, error) {
	t, err := c.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	w.tell(t)
	return c.wait(ctx, t, w)
}

func (c *Client) wait(ctx context.Context, t Task, w Watch) (json.RawMessage, error) {
	in := &interview{client: c, settled: map[string]bool{}, refused: map[string]string{}, refusals: map[string]int{}}
	defer in.end()
	live := newListener(c, t.ID)
	defer live.end()
	for {
		if result, ended, err := t.outcome(); ended {
			return result, err
		}
		in.begin(ctx, t)
		live.begin(ctx)
		next, err := c.next(ctx, t, in, live)
		if err != nil {
			return nil, err
		}
		in.follow(next)
		if t.differs(next) {
			w.tell(next)
		}
		t = next
	}
}

// next waits until there is something to see, and returns the task as it is then.
func (c *Client) next(ctx context.Context, t Task, in *interview, live *listener) (Task, error) {
	poll, stop := c.opts.Clock.After(live.poll(t))
	defer stop()
	select {
	case <-ctx.Done():
		return t, ctx.Err()
	case <-poll:
		next, err := c.Get(ctx, t.ID)
		live.heard = live.heard && !t.differs(next) // a stream that tells less than a read is none to rely on
		return next, err
	case told := <-live.states:
		live.heard = true
		if told.LastUpdatedAt.Before(t.LastUpdatedAt) { // a read was quicker
			told = t
		}
		return told, nil
	case err := <-live.ended:
		if live.over(err); err == nil && !live.off {
			return t, nil // the next stream tells how things are
		}
	case a := <-in.answers:
		if err := in.deliver(ctx, t.ID, a); err != nil {
			return t, err
		}
	}
	return c.Get(ctx, t.ID)
}

// maxRefusals is how often one question is put again because the server refused
// its answer.
const maxRefusals = 3

// interview puts a task's questions to the Answerer, one at a time, each once.
type interview struct {
	client *Client
	// settled are the keys whose answer was delivered: a task may show them a
	// little longer.
	settled  map[string]bool
	refused  map[string]string
	refusals map[string]int

	// The question that is open: answers is nil if there is none.
	key     string
	cancel  context.CancelFunc
	answers chan answer
}

type answer struct {
	response json.RawMessage
	err      error
}

// begin puts the first question that is not settled, if none is open.
func (in *interview) begin(ctx context.Context, t Task) {
	if in.answers != nil || t.Status != InputRequired {
		return
	}
	if in.client.isOlder() {
		in.open(ctx, "", func(ctx context.Context) answer { return answer{err: in.client.interviewOlder(ctx, t)} })
		return
	}
	for _, q := range t.InputRequests {
		if in.settled[q.Key] {
			continue
		}
		q.Refused = in.refused[q.Key]
		in.open(ctx, q.Key, func(ctx context.Context) answer {
			response, err := in.client.answer(ctx, q)
			return answer{response, err}
		})
		return
	}
}

// open puts a question.
func (in *interview) open(ctx context.Context, key string, put func(context.Context) answer) {
	ctx, cancel := context.WithCancel(ctx)
	answers := make(chan answer, 1)
	in.key, in.cancel, in.answers = key, cancel, answers
	go func() { answers <- put(ctx) }()
}

// follow ends the open question if the task does not ask it any more.
func (in *interview) follow(t Task) {
	if t.Status != InputRequired || !t.InputRequests.has(in.key) && !in.client.isOlder() {
		in.end()
	}
}

// end ends the open question and waits until the Answerer has let go.
func (in *interview) end() {
	if in.answers != nil {
		in.cancel()
		<-in.answers
		in.answers = nil
	}
}

// deliver sends the answer. One that the server refuses is asked for again.
func (in *interview) deliver(ctx context.Context, id string, a answer) error {
	in.cancel()
	in.answers = nil
	if a.err != nil || in.client.isOlder() { // whose questions are answered where they are asked
		return a.err
	}
	err := in.client.Answer(ctx, id, map[string]json.RawMessage{in.key: a.response})
	switch {
	case err == nil:
		in.settled[in.key] = true
	case invalidParams(err) && in.refusals[in.key] < maxRefusals:
		// Or the task is gone: the read that follows tells.
		in.refused[in.key] = err.Error()
		in.refusals[in.key]++
		return nil
	}
	return err
}
