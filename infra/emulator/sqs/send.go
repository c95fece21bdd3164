package sqs

import (
	"time"

	"github.com/google/uuid"
)

// outgoing is what SendMessage and an entry of SendMessageBatch have in common.
type outgoing struct {
	MessageBody             string
	DelaySeconds            *int
	MessageAttributes       map[string]attribute
	MessageSystemAttributes map[string]attribute
	MessageGroupID          string `json:"MessageGroupId"`
}

type sendInput struct {
	QueueURL string `json:"QueueUrl"`
	outgoing
}

// sent acknowledges a message.
type sent struct {
	MessageID                    uuid.UUID `json:"MessageId"`
	MD5OfMessageBody             string
	MD5OfMessageAttributes       string `json:",omitempty"`
	MD5OfMessageSystemAttributes string `json:",omitempty"`
}

func (s *Server) sendMessage(c call, in *sendInput) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := in.check(q); err != nil {
		return nil, err
	}
	return s.enqueue(c, q, &in.outgoing), nil
}

type sendEntry struct {
	entryID
	outgoing
}

type sentEntry struct {
	entryID
	sent
}

func (s *Server) sendMessageBatch(c call, in *batchInput[sendEntry]) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	total := 0
	for i := range in.Entries {
		total += in.Entries[i].size()
	}
	if total > maxBytes {
		return nil, batchRequestTooLong.errorf("Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxBytes, total)
	}
	return eachEntry(in.Entries, func(e *sendEntry) (sentEntry, error) {
		if err := e.outgoing.check(q); err != nil {
			return sentEntry{}, err
		}
		return sentEntry{e.entryID, s.enqueue(c, q, &e.outgoing)}, nil
	}), nil
}

// enqueue takes in a message that was checked, twice if the call is to be
// duplicated; the caller learns of one.
func (s *Server) enqueue(c call, q *queue, out *outgoing) sent {
	now := s.options.Clock.Now()
	delay := q.attributes.duration(delaySeconds)
	if out.DelaySeconds != nil {
		delay = time.Duration(*out.DelaySeconds) * time.Second
	}
	var m *message
	copies := 1
	if c.duplicate {
		copies = 2
	}
	for range copies {
		m = &message{
			ID: uuid.New(), Body: out.MessageBody, Attributes: out.MessageAttributes,
			Group: out.MessageGroupID, Sent: now, VisibleAt: now.Add(delay),
		}
		if trace, ok := out.MessageSystemAttributes[traceHeader]; ok {
			m.Trace = *trace.StringValue
		}
		s.insert(q, m)
	}
	return sent{
		MessageID:                    m.ID,
		MD5OfMessageBody:             sum(m.Body),
		MD5OfMessageAttributes:       attributesSum(m.Attributes),
		MD5OfMessageSystemAttributes: attributesSum(out.MessageSystemAttributes),
	}
}

// insert gives a message its sequence number and puts it into a queue.
func (s *Server) insert(q *queue, m *message) {
	s.last++
	m.Sequence = s.last
	q.add(m, s.options.Clock.Now())
	s.journal.save(q, m)
}
