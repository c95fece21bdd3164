package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Question is what a tool wants to know.
type Question struct {
	Key    string          `json:"-"`
	Method string          `json:"method"` // "elicitation/create", …
	Params json.RawMessage `json:"params"`
	// Refused says why the server did not take the answer given before; "" if
	// this is the first time that the question is put.
	Refused string `json:"-"`
}

// Answerer answers one question with the JSON of its result, such as
// {"action":"accept","content":{…}}. An error ends the call; its task lives on.
//
// Its context ends when the question is no longer open, because it was answered
// elsewhere or the task is over: it must return then, and its answer is dropped.
type Answerer func(ctx context.Context, q Question) (json.RawMessage, error)

var errNobody = errors.New("nobody is here to answer")

// answer asks the Answerer.
func (c *Client) answer(ctx context.Context, q Question) (json.RawMessage, error) {
	if c.opts.Answerer == nil {
		return nil, fmt.Errorf("the tool asks %q: %w", q.Key, errNobody)
	}
	response, err := c.opts.Answerer(ctx, q)
	if err == nil && !json.Valid(response) {
		err = fmt.Errorf("the answer to %q is not JSON", q.Key)
	}
	return response, err
}

// Questions are questions in the order in which they were asked; on the wire an
// object by key.
type Questions []Question

// UnmarshalJSON implements json.Unmarshaler.
func (qs *Questions) UnmarshalJSON(b []byte) error {
	*qs = nil
	d := json.NewDecoder(bytes.NewReader(b))
	switch start, err := d.Token(); {
	case err != nil:
		return err
	case start == nil: // null
		return nil
	case start != json.Delim('{'):
		return errors.New("inputRequests is not an object")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		q := Question{Key: key.(string)}
		if err := d.Decode(&q); err != nil {
			return err
		}
		*qs = append(*qs, q)
	}
	return nil
}

// has reports whether the key is among the questions.
func (qs Questions) has(key string) bool {
	for _, q := range qs {
		if q.Key == key {
			return true
		}
	}
	return false
}
