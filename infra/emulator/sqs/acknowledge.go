package sqs

import "time"

type deleteInput struct {
	QueueURL      string `json:"QueueUrl"`
	ReceiptHandle string
}

func (s *Server) deleteMessage(_ call, in *deleteInput) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return nil, err
	}
	return none{}, s.acknowledge(q, in.ReceiptHandle)
}

type deleteEntry struct {
	entryID
	ReceiptHandle string
}

func (s *Server) deleteMessageBatch(_ call, in *batchInput[deleteEntry]) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return eachEntry(in.Entries, func(e *deleteEntry) (entryID, error) {
		return e.entryID, s.acknowledge(q, e.ReceiptHandle)
	}), nil
}

// acknowledge deletes the message of a handle, hidden or not, unless it was
// received again since.
func (s *Server) acknowledge(q *queue, handle string) error {
	m, latest, err := q.find(handle)
	if err != nil || m == nil || !latest {
		return err
	}
	q.drop(m)
	s.journal.remove(q, m)
	return nil
}

type visibilityInput struct {
	QueueURL          string `json:"QueueUrl"`
	ReceiptHandle     string
	VisibilityTimeout *int
}

func (s *Server) changeVisibility(_ call, in *visibilityInput) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return nil, err
	}
	return none{}, s.hide(q, in.ReceiptHandle, in.VisibilityTimeout)
}

type visibilityEntry struct {
	entryID
	ReceiptHandle     string
	VisibilityTimeout *int
}

func (s *Server) changeVisibilityBatch(_ call, in *batchInput[visibilityEntry]) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	return eachEntry(in.Entries, func(e *visibilityEntry) (entryID, error) {
		return e.entryID, s.hide(q, e.ReceiptHandle, e.VisibilityTimeout)
	}), nil
}

// hide makes a received message visible seconds from now, at most 12 hours
// after it was received.
func (s *Server) hide(q *queue, handle string, seconds *int) error {
	if seconds == nil {
		return missing(visibilityTimeout)
	}
	if *seconds < 0 || *seconds > maxVisibility {
		return outOfRange(visibilityTimeout, *seconds, 0, maxVisibility)
	}
	m, latest, err := q.find(handle)
	if err != nil {
		return err
	}
	if m == nil {
		return invalidParameterValue.errorf("Value %s for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.", handle)
	}
	if !latest || m.in != &q.inflight {
		return messageNotInflight.errorf("The message referred to isn't in flight.")
	}
	now := s.options.Clock.Now()
	until := now.Add(time.Duration(*seconds) * time.Second)
	if until.After(m.Received.Add(maxVisibility * time.Second)) {
		return invalidParameterValue.errorf("Value %d for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the limit [%d seconds].", *seconds, maxVisibility)
	}
	m.VisibleAt = until
	q.place(m, now)
	s.journal.save(q, m)
	return nil
}
