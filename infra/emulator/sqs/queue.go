package sqs

import (
	"math/rand/v2"
	"time"
)

// queue is one queue with its messages. The server's lock guards it.
type queue struct {
	name       string
	id         uint64 // tells it from an earlier queue of the same name
	created    time.Time
	modified   time.Time
	attributes attributes

	messages map[uint64]*message // by sequence number
	ready    index               // visible: the order in which they are received
	delayed  index               // not yet visible, never received here
	inflight index               // received and hidden
	ages     index               // all of them
	random   *rand.Rand

	// changed is closed and replaced when a waiting receive may have to look
	// again: something became visible, or will sooner than before.
	changed chan struct{}
}

func newQueue(name string, id uint64, attributes attributes, now time.Time, random *rand.Rand, shuffle bool) *queue {
	q := &queue{
		name: name, id: id, created: now, modified: now, attributes: attributes,
		messages: map[uint64]*message{}, random: random, changed: make(chan struct{}),
		ready:    index{slot: bySight, before: soonest},
		delayed:  index{slot: bySight, before: soonest},
		inflight: index{slot: bySight, before: soonest},
		ages:     index{slot: byAge, before: oldest},
	}
	if shuffle {
		q.ready.before = shuffled
	}
	return q
}

// wake lets every waiting receive look again.
func (q *queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// add takes a message in.
func (q *queue) add(m *message, now time.Time) {
	q.messages[m.Sequence] = m
	q.ages.add(m)
	q.place(m, now)
}

// place puts a message where its VisibleAt and its receives say.
func (q *queue) place(m *message, now time.Time) {
	q.lift(m)
	switch {
	case !m.VisibleAt.After(now):
		m.in = &q.ready
		m.rank = q.random.Uint64()
	case m.receivedHere() > 0:
		m.in = &q.inflight
	default:
		m.in = &q.delayed
	}
	m.in.add(m)
	if m.in == &q.ready || m.in.first() == m {
		q.wake()
	}
}

// lift takes a message out of its place, to be placed anew.
func (q *queue) lift(m *message) {
	if m.in != nil {
		m.in.remove(m)
		m.in = nil
	}
}

// drop forgets a message.
func (q *queue) drop(m *message) {
	if m.in == &q.inflight && q.ready.Len() > 0 {
		q.wake() // the limit of messages in flight may have held a receive back
	}
	q.lift(m)
	q.ages.remove(m)
	delete(q.messages, m.Sequence)
}

// settle brings the queue up to now: what is old enough is gone, what was
// hidden long enough is visible. It returns what is gone.
func (q *queue) settle(now time.Time) (expired []*message) {
	retention := q.attributes.duration(retentionPeriod)
	for m := q.ages.first(); m != nil && !now.Before(m.Sent.Add(retention)); m = q.ages.first() {
		q.drop(m)
		expired = append(expired, m)
	}
	for _, hidden := range []*index{&q.delayed, &q.inflight} {
		for m := hidden.first(); m != nil && !m.VisibleAt.After(now); m = hidden.first() {
			q.place(m, now)
		}
	}
	return expired
}

// next is when a hidden message becomes visible, but not later than deadline.
func (q *queue) next(deadline time.Time) time.Time {
	for _, hidden := range []*index{&q.delayed, &q.inflight} {
		if m := hidden.first(); m != nil && m.VisibleAt.Before(deadline) {
			deadline = m.VisibleAt
		}
	}
	return deadline
}
