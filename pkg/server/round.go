package server

import (
	"encoding/json"
	"time"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/tool"
)

// rounds is how far a multi round-trip call has come. Between two rounds the
// client keeps it, sealed, as requestState (R-H9).
type rounds struct {
	Until time.Time `json:"until"`
	Count int       `json:"count"`
	// Prepared is the value of the tool's Prepare, nil until that has finished.
	Prepared json.RawMessage `json:"prepared,omitempty"`
	// Answers and State belong to the phase that asked: Prepare or the run.
	Answers []tool.Answer `json:"answers,omitempty"`
	State   string        `json:"state,omitempty"`
	// Asked are the questions that are open, by key, with their methods.
	Asked []asked `json:"asked,omitempty"`

	// ahead are answers that the client gave with its first call, before it was
	// asked: it knows the tool's questions.
	ahead map[string]json.RawMessage
}

type asked struct {
	Key    string `json:"key"`
	Method string `json:"method"`
}

var errRequestState = jsonrpc.Errorf(jsonrpc.CodeInvalidParams,
	"requestState is not of this call, was changed, or has expired: call again without it")

// binding is what a requestState is good for: this caller, this tool, these
// arguments.
func binding(c *call, name string, arguments json.RawMessage) []byte {
	return jsonrpc.Encode([]any{c.owner.Issuer, c.owner.Subject, c.owner.Tenant, c.owner.Client, name, digest(arguments)})
}

// resume reads the requestState and the answers of a call; without a
// requestState the call is in its first round.
func (s *Server) resume(c *call, name string, arguments json.RawMessage) (rounds, error) {
	var r rounds
	if c.legacy {
		return r, nil // a client of that era answers nothing
	}
	if _, given := c.params["requestState"]; !given {
		var err error
		r.ahead, err = s.responses(c, false)
		return r, err
	}
	sealed, err := c.text("requestState")
	if err != nil {
		return r, err
	}
	secret, ok := s.seal.open(sealed, binding(c, name, arguments))
	if !ok || json.Unmarshal(secret, &r) != nil || !s.clock.Now().Before(r.Until) {
		return r, errRequestState
	}
	responses, err := s.responses(c, false)
	if err != nil {
		return r, err
	}
	for _, q := range r.Asked {
		response, given := responses[q.Key]
		if !given {
			continue // it will be asked again (R-H13)
		}
		if err := s.checkAnswer(q.Key, q.Method, response); err != nil {
			return r, err
		}
		r.Answers = append(r.Answers, tool.Answer{Key: q.Key, Method: q.Method, Response: response})
	}
	r.Asked = nil
	return r, nil
}

// runRounds runs a tool, and again for as long as it asks what the client has
// answered ahead.
func (s *Server) runRounds(r *rounds, run func() tool.Outcome) (tool.Outcome, error) {
	for {
		o := run()
		answered := false
		for _, q := range o.Questions {
			response, given := r.ahead[q.Key]
			if !given || o.Kind != tool.Asked {
				continue
			}
			if err := s.checkAnswer(q.Key, q.Method, response); err != nil {
				return o, err
			}
			delete(r.ahead, q.Key)
			r.Answers = append(r.Answers, tool.Answer{Key: q.Key, Method: q.Method, Response: response})
			answered = true
		}
		if !answered {
			return o, nil
		}
		r.State = o.State
	}
}

// ask is the result that lets the client answer and call again.
func (s *Server) ask(c *call, name string, arguments json.RawMessage, r rounds, o tool.Outcome) (any, error) {
	if r.Count++; r.Count > s.limits.MaxRounds {
		return toolError("The tool asked more than %d times, which is this server's limit.", s.limits.MaxRounds), nil
	}
	if len(o.Questions) > limits.MaxQuestions {
		return toolError("The tool asked %d questions at once; the limit is %d.", len(o.Questions), limits.MaxQuestions), nil
	}
	r.Until, r.State = s.clock.Now().Add(limits.RequestStateTTL), o.State
	result := protocol.InputRequiredResult{ResultType: protocol.ResultInputRequired}
	for _, q := range o.Questions {
		r.Asked = append(r.Asked, asked{q.Key, q.Method})
		result.InputRequests = append(result.InputRequests, protocol.InputRequest{Key: q.Key, Method: q.Method, Params: q.Params})
	}
	state := s.seal.seal(jsonrpc.Encode(r), binding(c, name, arguments))
	if len(state) > limits.MaxRequestState {
		return toolError("What the tool has asked so far takes %d bytes of requestState; the limit is %d.", len(state), limits.MaxRequestState), nil
	}
	result.RequestState = state
	return result, nil
}

// responses are the call's inputResponses by key (R-U6).
func (s *Server) responses(c *call, needed bool) (map[string]json.RawMessage, error) {
	raw, given := c.params["inputResponses"]
	if !given && !needed {
		return nil, nil
	}
	var responses map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &responses) != nil {
		return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params.inputResponses must be an object")
	}
	return responses, nil
}

// checkAnswer refuses an answer that is too large or not shaped like a response
// to its question (R-U7).
func (s *Server) checkAnswer(key, method string, response json.RawMessage) error {
	if len(response) > s.limits.MaxAnswer {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams,
			"the answer to %q has %d bytes; the limit is %d", clip(key), len(response), s.limits.MaxAnswer)
	}
	if err := protocol.CheckAnswer(method, response); err != nil {
		return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "the answer to %q is no response to %s: %v", clip(key), method, err)
	}
	return nil
}
