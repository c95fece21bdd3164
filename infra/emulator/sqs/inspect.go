package sqs

import (
	"cmp"
	"slices"
	"time"
)

// Message is a message as a test or a person inspects it.
type Message struct {
	ID        string
	Body      string
	Group     string            // MessageGroupId
	System    map[string]string // what a receive would tell
	Sent      time.Time
	VisibleAt time.Time // from when it may be received
	Receives  int       // in all queues
	InFlight  bool      // received and hidden
}

// Messages returns the messages of a queue by its name, in the order in which
// they were sent to it; nil if there is no such queue. Nothing is received.
func (s *Server) Messages(queue string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.lookup(queue)
	if err != nil {
		return nil
	}
	all := make([]*message, 0, len(q.messages))
	for _, m := range q.messages {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *message) int { return cmp.Compare(a.Sequence, b.Sequence) })
	shown := make([]Message, len(all))
	for i, m := range all {
		shown[i] = Message{
			ID: m.ID.String(), Body: m.Body, Group: m.Group, System: m.system(s.options.Account),
			Sent: m.Sent, VisibleAt: m.VisibleAt, Receives: m.Receives, InFlight: m.in == &q.inflight,
		}
	}
	return shown
}

// Depth returns how many messages of a queue, by its name, can be received now,
// are delayed, and are in flight; 0 if there is no such queue.
func (s *Server) Depth(queue string) (visible, delayed, inflight int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.lookup(queue)
	if err != nil {
		return 0, 0, 0
	}
	return q.ready.Len(), q.delayed.Len(), q.inflight.Len()
}

// Reveal makes the messages of a queue that are in flight visible, as if their
// visibility timeouts were over: for whoever knows that no receiver lives any
// more. SQS itself can't know.
func (s *Server) Reveal(queue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.lookup(queue)
	if err != nil {
		return
	}
	now := s.options.Clock.Now()
	for m := q.inflight.first(); m != nil; m = q.inflight.first() {
		m.VisibleAt = now
		q.place(m, now)
		s.journal.save(q, m)
	}
}
