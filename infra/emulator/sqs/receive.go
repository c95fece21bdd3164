package sqs

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

const maxReceive = 10

type receiveInput struct {
	QueueURL                    string `json:"QueueUrl"`
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	AttributeNames              []string // the older spelling of MessageSystemAttributeNames
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
}

type received struct {
	MessageID              uuid.UUID `json:"MessageId"`
	ReceiptHandle          string
	Body                   string
	MD5OfBody              string
	Attributes             map[string]string    `json:",omitempty"`
	MessageAttributes      map[string]attribute `json:",omitempty"`
	MD5OfMessageAttributes string               `json:",omitempty"`
}

type receiveOutput struct {
	Messages []received `json:",omitempty"`
}

// systemAttributes are the names that a receive may ask for; two belong to
// FIFO queues and never have a value.
var systemAttributes = []string{
	"All", "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
	"MessageGroupId", traceHeader, "DeadLetterQueueSourceArn", "SequenceNumber", "MessageDeduplicationId",
}

func (in *receiveInput) check() error {
	for _, bound := range []struct {
		name            string
		value           *int
		lowest, highest int
	}{
		{"MaxNumberOfMessages", in.MaxNumberOfMessages, 1, maxReceive},
		{"VisibilityTimeout", in.VisibilityTimeout, 0, maxVisibility},
		{"WaitTimeSeconds", in.WaitTimeSeconds, 0, maxWait},
	} {
		if v := bound.value; v != nil && (*v < bound.lowest || *v > bound.highest) {
			return outOfRange(bound.name, *v, bound.lowest, bound.highest)
		}
	}
	in.MessageSystemAttributeNames = append(in.MessageSystemAttributeNames, in.AttributeNames...)
	for _, name := range in.MessageSystemAttributeNames {
		if !slices.Contains(systemAttributes, name) {
			return invalidAttributeName.errorf("Unknown Attribute %s.", name)
		}
	}
	return nil
}

// receiveMessage answers with what is visible, or waits for it: until the poll
// ends by the clock, the caller goes away or the server closes.
func (s *Server) receiveMessage(c call, in *receiveInput) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	start := s.options.Clock.Now()
	for {
		out, wait, err := s.tryReceive(c, in, start)
		if err != nil || wait == nil {
			return out, err
		}
		alarm, stop := s.alarm(wait.until)
		select {
		case <-alarm:
		case <-wait.changed:
		case <-c.ctx.Done():
			wait = nil
		case <-s.closed:
			wait = nil
		}
		stop()
		if wait == nil {
			return receiveOutput{}, nil
		}
	}
}

// waiting says what a receive that found nothing waits for.
type waiting struct {
	until   time.Time
	changed <-chan struct{}
}

// tryReceive takes what is visible. It returns a *waiting if there is nothing
// and the poll, which began at start, has not ended.
func (s *Server) tryReceive(c call, in *receiveInput, start time.Time) (receiveOutput, *waiting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out receiveOutput
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return out, nil, err
	}
	if c.ctx.Err() != nil {
		return out, nil, nil // nobody is there to take a message
	}
	wait := q.attributes.duration(waitTimeSeconds)
	if in.WaitTimeSeconds != nil {
		wait = time.Duration(*in.WaitTimeSeconds) * time.Second
	}
	room := s.options.InFlightLimit - q.inflight.Len()
	if room <= 0 && wait == 0 { // a long poll waits instead
		return out, nil, overLimit.errorf("Too many messages are in flight: the limit is %d.", s.options.InFlightLimit)
	}
	now := s.options.Clock.Now()
	for _, m := range s.take(c, q, in, room, now) {
		out.Messages = append(out.Messages, s.receipt(q, m, in))
	}
	end := start.Add(wait)
	if len(out.Messages) > 0 || !now.Before(end) {
		return out, nil, nil
	}
	return out, &waiting{q.next(end), q.changed}, nil
}

// take receives up to room messages. One that was received as often as the
// redrive policy allows goes to the dead-letter queue instead.
func (s *Server) take(c call, q *queue, in *receiveInput, room int, now time.Time) []*message {
	limit := 1
	if in.MaxNumberOfMessages != nil {
		limit = *in.MaxNumberOfMessages
	}
	visibility := q.attributes.duration(visibilityTimeout)
	if in.VisibilityTimeout != nil {
		visibility = time.Duration(*in.VisibilityTimeout) * time.Second
	}
	target, maxReceives, redrives := q.attributes.redrive()
	deadLetters := s.queues[lastSegment(target, ":")]
	var taken []*message
	for len(taken) < min(limit, room) {
		m := q.ready.first()
		if m == nil {
			break
		}
		if redrives && deadLetters != nil && m.receivedHere() >= maxReceives {
			s.giveUp(q, deadLetters, m, now)
			continue
		}
		q.lift(m) // placed below, so that a visibility of 0 does not give it twice
		taken = append(taken, m)
	}
	for _, m := range taken {
		if c.duplicate {
			twin := *m
			s.insert(q, &twin)
		}
		m.Receives++
		m.Received, m.VisibleAt = now, now.Add(visibility)
		if m.First.IsZero() {
			m.First = now
		}
		q.place(m, now)
		s.journal.save(q, m)
	}
	return taken
}

// giveUp moves a message to the dead-letter queue. It keeps its id, its sent
// time and its count.
func (s *Server) giveUp(q, deadLetters *queue, m *message, now time.Time) {
	q.drop(m)
	s.journal.remove(q, m)
	m.Source, m.Elsewhere, m.VisibleAt = s.arn(q.name), m.Receives, now
	deadLetters.add(m, now)
	s.journal.save(deadLetters, m)
}

func (s *Server) receipt(q *queue, m *message, in *receiveInput) received {
	system := m.system(s.options.Account)
	if !slices.Contains(in.MessageSystemAttributeNames, "All") {
		for name := range system {
			if !slices.Contains(in.MessageSystemAttributeNames, name) {
				delete(system, name)
			}
		}
	}
	chosen := selected(m.Attributes, in.MessageAttributeNames)
	return received{
		MessageID:              m.ID,
		ReceiptHandle:          receipt{q.id, m.Sequence, m.ID, uint32(m.Receives)}.handle(),
		Body:                   m.Body,
		MD5OfBody:              sum(m.Body),
		Attributes:             system,
		MessageAttributes:      chosen,
		MD5OfMessageAttributes: attributesSum(chosen),
	}
}

// alarm is a channel that receives when the clock shows t. A clock that is
// moved while its alarm is being set is asked again, or the alarm would be late
// by the move.
func (s *Server) alarm(t time.Time) (<-chan time.Time, func()) {
	const unnoticed = 50 * time.Millisecond
	for {
		now := s.options.Clock.Now()
		c, stop := s.options.Clock.After(t.Sub(now))
		if s.options.Clock.Now().Sub(now) < unnoticed {
			return c, stop
		}
		stop()
	}
}
