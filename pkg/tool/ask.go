package tool

import (
	"context"
	"encoding/json"
	"net/url"

	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// Question's Method is one of these.
const (
	methodElicit = protocol.MethodElicit
	methodSample = protocol.MethodSample
	methodRoots  = protocol.MethodRoots
)

// AskRaw asks the client a question and returns its response as it came. If the
// answer is not there yet, it returns an error, which the tool must return: the
// run ends, and nothing runs until the answer has come, hours later perhaps. The
// next run gets it here.
//
// A key is unique within the tool, among all kinds of questions. A question of a
// kind that the client did not declare gives a *MissingCapability.
func AskRaw(ctx context.Context, q Question) (json.RawMessage, error) {
	answers, err := AskAllRaw(ctx, q)
	return answers[q.Key], err
}

// AskAllRaw asks several questions at once and returns the responses by key,
// once all are there.
func AskAllRaw(ctx context.Context, questions ...Question) (map[string]json.RawMessage, error) {
	w, err := current(ctx, "Ask")
	if err != nil {
		return nil, err
	}
	for _, q := range questions {
		if err := w.takeKey(q.Key); err != nil {
			return nil, err
		}
	}
	answers := make(map[string]json.RawMessage, len(questions))
	var open []Question
	for _, q := range questions {
		response, err := w.run.answer(q)
		switch {
		case err != nil:
			return nil, err
		case response != nil:
			answers[q.Key] = response
		default:
			open = append(open, q)
		}
	}
	if err := w.run.ask(open); err != nil {
		return nil, err
	}
	return answers, nil
}

// takeKey reserves a question's key for this run.
func (w within) takeKey(key string) error {
	r := w.run
	switch {
	case w.step != "":
		return r.refuse("The question %q was asked inside the step %q: a step asks nothing.", key, w.step)
	case !isRecordName(key):
		return r.refuse("A question has the key %q: want 1 to %d bytes of text without ~ or control characters.", key, maxName)
	}
	r.mu.Lock()
	taken, ended := r.keys[key], r.ended
	if !ended {
		r.keys[key] = true
	}
	r.mu.Unlock()
	if ended {
		return errEnded
	}
	if taken {
		return r.refuse("The key %q was used for two questions of one run: each needs its own.", key)
	}
	return nil
}

// answer is the response to a question, nil if it has not been answered.
func (r *run) answer(q Question) (json.RawMessage, error) {
	for _, a := range r.call.Answers {
		if a.Key != q.Key {
			continue
		}
		if a.Method != q.Method {
			return nil, r.refuse("The answer under the key %q is to a question of another kind: the tool was changed without a new Version.", q.Key)
		}
		return a.Response, nil
	}
	return nil, nil
}

// ask suspends the run until the questions are answered; with none it goes on.
func (r *run) ask(questions []Question) error {
	if len(questions) == 0 {
		return nil
	}
	if err := r.checkCapabilities(questions); err != nil {
		return err
	}
	r.mu.Lock()
	open := len(r.questions) + len(questions)
	if open <= limits.MaxQuestions {
		r.questions = append(r.questions, questions...)
		r.suspended = true
	}
	r.mu.Unlock()
	if open > limits.MaxQuestions {
		return r.refuse("The tool asks %d questions at once, the limit is %d.", open, limits.MaxQuestions)
	}
	return &suspension{"it waits for answers"}
}

// AskURL asks the person to go to a URL, for what must not pass through the
// client: a secret, a payment, a consent (R-U9). It returns what they chose;
// Accept means that they agreed to go there, not that they finished.
func AskURL(ctx context.Context, key, message, address string) (Action, error) {
	if u, err := url.Parse(address); err != nil || !u.IsAbs() || u.Host == "" {
		w, err := current(ctx, "AskURL")
		if err != nil {
			return "", err
		}
		return "", w.run.refuse("The question %q has no absolute URL.", key)
	}
	params, err := encode(map[string]string{"mode": "url", "message": message, "url": address})
	if err != nil {
		return "", err
	}
	response, err := AskRaw(ctx, Question{Key: key, Method: methodElicit, Params: params})
	if err != nil {
		return "", err
	}
	a, err := readAnswer(response)
	if err != nil {
		return "", &MisfitError{key, err.Error()}
	}
	return a.Action, nil
}

// capabilities that a question may need, as bits.
type needs uint8

const (
	needsForm needs = 1 << iota
	needsURL
	needsSampling
	needsSamplingTools
	needsRoots
)

// needsOf reads off a question what the client must have declared (R-U8).
func needsOf(q Question) needs {
	var params struct {
		Mode       string          `json:"mode"`
		Tools      json.RawMessage `json:"tools"`
		ToolChoice json.RawMessage `json:"toolChoice"`
	}
	// What can't be read needs nothing beyond its kind.
	_ = json.Unmarshal(q.Params, &params)
	switch {
	case q.Method == methodElicit && params.Mode == "url":
		return needsURL
	case q.Method == methodElicit:
		return needsForm
	case q.Method == methodSample && (isGiven(params.Tools) || isGiven(params.ToolChoice)):
		return needsSampling | needsSamplingTools
	case q.Method == methodSample:
		return needsSampling
	default:
		return needsRoots
	}
}

func isGiven(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// checkCapabilities refuses questions that the client did not declare for.
func (r *run) checkCapabilities(questions []Question) error {
	var missing needs
	for _, q := range questions {
		if q.Method != methodElicit && q.Method != methodSample && q.Method != methodRoots {
			return r.refuse("The question %q has the method %q, which no client answers.", q.Key, q.Method)
		}
		missing |= needsOf(q)
	}
	if missing &^= declared(r.call.Capabilities); missing == 0 {
		return nil
	}
	return &MissingCapability{Required: missing.object()}
}

// declared is what a client declared, in so far as tools can need it.
func declared(capabilities json.RawMessage) needs {
	var out needs
	// Nothing readable means that nothing was declared.
	c, _ := protocol.ParseCapabilities(capabilities)
	for need, has := range map[needs]bool{
		needsForm:          c.HasElicitationForm(),
		needsURL:           c.HasElicitationURL(),
		needsSampling:      c.HasSampling(),
		needsSamplingTools: c.HasSamplingTools(),
		needsRoots:         c.HasRoots(),
	} {
		if has {
			out |= need
		}
	}
	return out
}

// object is the ClientCapabilities that have all of n.
func (n needs) object() json.RawMessage {
	type none struct{}
	out := map[string]map[string]none{}
	for need, path := range map[needs][2]string{
		needsForm:          {"elicitation", "form"},
		needsURL:           {"elicitation", "url"},
		needsSampling:      {"sampling"},
		needsSamplingTools: {"sampling", "tools"},
		needsRoots:         {"roots"},
	} {
		if n&need == 0 {
			continue
		}
		if out[path[0]] == nil {
			out[path[0]] = map[string]none{}
		}
		if path[1] != "" {
			out[path[0]][path[1]] = none{}
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // string maps always encode
	}
	return text
}
