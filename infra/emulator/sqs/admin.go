package sqs

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"strings"
)

type createQueueInput struct {
	QueueName  string
	Attributes map[string]string
}

type queueInput struct {
	QueueURL string `json:"QueueUrl"`
}

type queueURLOutput struct {
	QueueURL string `json:"QueueUrl"`
}

// none is the result of an operation that returns nothing.
type none struct{}

func (s *Server) arn(name string) string {
	return "arn:aws:sqs:" + s.options.Region + ":" + s.options.Account + ":" + name
}

// url is a queue's URL at the host by which the caller reached the emulator.
func (s *Server) url(c call, name string) string {
	return "http://" + c.host + "/" + s.options.Account + "/" + name
}

// resolve finds the queue that a URL names by its last segment, brought up to
// now. The caller holds the lock.
func (s *Server) resolve(url string) (*queue, error) {
	if url == "" {
		return nil, missing("QueueUrl")
	}
	name := lastSegment(url, "/")
	if name == "" {
		return nil, invalidAddress.errorf("The address %s is not valid for this endpoint.", url)
	}
	return s.lookup(name)
}

func (s *Server) lookup(name string) (*queue, error) {
	q := s.queues[name]
	if q == nil {
		return nil, queueDoesNotExist.errorf("The specified queue does not exist: %s.", name)
	}
	s.settle(q)
	return q, nil
}

// settle brings a queue up to now, in the journal too.
func (s *Server) settle(q *queue) {
	for _, m := range q.settle(s.options.Clock.Now()) {
		s.journal.remove(q, m)
	}
}

func (s *Server) createQueue(c call, in *createQueueInput) (any, error) {
	if err := checkName(in.QueueName); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, err := s.changed(in.QueueName, attributes{}, in.Attributes)
	if err != nil {
		return nil, err
	}
	q := s.queues[in.QueueName]
	if q == nil {
		q = newQueue(in.QueueName, rand.Uint64(), a, s.options.Clock.Now(), s.random, s.options.Shuffle != 0)
		s.queues[q.name] = q
		s.journal.saveQueue(q)
	}
	for name := range in.Attributes {
		if q.attributes.value(name) != a.value(name) {
			return nil, queueNameExists.errorf("A queue already exists with the same name and a different value for attribute %s.", name)
		}
	}
	return queueURLOutput{s.url(c, q.name)}, nil
}

type getQueueURLInput struct {
	QueueName string
}

func (s *Server) getQueueURL(c call, in *getQueueURLInput) (any, error) {
	if in.QueueName == "" {
		return nil, missing("QueueName")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.lookup(in.QueueName)
	if err != nil {
		return nil, err
	}
	return queueURLOutput{s.url(c, q.name)}, nil
}

type listQueuesInput struct {
	QueueNamePrefix string
	MaxResults      *int
	NextToken       string
}

type listQueuesOutput struct {
	QueueURLs []string `json:"QueueUrls,omitempty"`
	NextToken string   `json:",omitempty"`
}

func (s *Server) listQueues(c call, in *listQueuesInput) (any, error) {
	const most = 1000
	limit := most
	if in.MaxResults != nil {
		limit = *in.MaxResults
		if limit < 1 || limit > most {
			return nil, outOfRange("MaxResults", limit, 1, most)
		}
	}
	after, err := base64.StdEncoding.DecodeString(in.NextToken)
	if err != nil {
		return nil, invalidParameterValue.errorf("Invalid or expired next token.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for name := range s.queues {
		if strings.HasPrefix(name, in.QueueNamePrefix) && name > string(after) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out listQueuesOutput
	if len(names) > limit {
		names = names[:limit]
		if in.MaxResults != nil {
			out.NextToken = base64.StdEncoding.EncodeToString([]byte(names[limit-1]))
		}
	}
	for _, name := range names {
		out.QueueURLs = append(out.QueueURLs, s.url(c, name))
	}
	return out, nil
}

func (s *Server) deleteQueue(_ call, in *queueInput) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return nil, err
	}
	delete(s.queues, q.name)
	s.journal.dropQueue(q)
	q.wake() // whoever waits learns that the queue is gone
	return none{}, nil
}

func (s *Server) purgeQueue(_ call, in *queueInput) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return nil, err
	}
	for _, m := range q.messages {
		q.drop(m)
		s.journal.remove(q, m)
	}
	return none{}, nil
}

type getQueueAttributesInput struct {
	QueueURL       string `json:"QueueUrl"`
	AttributeNames []string
}

type getQueueAttributesOutput struct {
	Attributes map[string]string `json:",omitempty"`
}

func (s *Server) getQueueAttributes(_ call, in *getQueueAttributesInput) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return nil, err
	}
	values, err := s.report(q, in.AttributeNames)
	if err != nil {
		return nil, err
	}
	return getQueueAttributesOutput{values}, nil
}

type setQueueAttributesInput struct {
	QueueURL   string `json:"QueueUrl"`
	Attributes map[string]string
}

func (s *Server) setQueueAttributes(_ call, in *setQueueAttributesInput) (any, error) {
	if in.Attributes == nil {
		return nil, missing("Attributes")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.resolve(in.QueueURL)
	if err != nil {
		return nil, err
	}
	a, err := s.changed(q.name, q.attributes, in.Attributes)
	if err != nil {
		return nil, err
	}
	q.attributes, q.modified = a, s.options.Clock.Now()
	s.journal.saveQueue(q)
	s.settle(q) // retention may have become shorter
	return none{}, nil
}
