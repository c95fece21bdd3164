package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"toolhost/pkg/client"
	"toolhost/pkg/protocol"
)

// errUnanswered means that a tool asks and nobody is here to answer.
var errUnanswered = errors.New("the tool asks a question")

// elicitation is the params of an elicitation/create.
type elicitation struct {
	Mode    string          `json:"mode"`
	Message string          `json:"message"`
	URL     string          `json:"url"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

// answerer answers from prepared answers first, then by a form.
type answerer struct {
	t        *terminal
	line     *progress
	prepared map[string]json.RawMessage
}

// answer is a client.Answerer.
func (a *answerer) answer(ctx context.Context, q client.Question) (json.RawMessage, error) {
	if response, ok := a.prepared[q.Key]; ok && q.Refused == "" {
		return response, nil
	}
	if q.Method != protocol.MethodElicit {
		return nil, fmt.Errorf("%w, %q, by %s: only --answers can answer that", errUnanswered, q.Key, q.Method)
	}
	var e elicitation
	if err := json.Unmarshal(q.Params, &e); err != nil {
		return nil, fmt.Errorf("the question %q can't be read: %w", q.Key, err)
	}
	inputs, err := formInputs(e.Schema)
	if err != nil {
		return nil, fmt.Errorf("the question %q can't be read: %w", q.Key, err)
	}
	if !a.t.asks {
		return nil, a.unanswered(q, e, inputs)
	}
	a.line.hold()
	defer a.line.release()
	if q.Refused != "" {
		a.t.say("The server refused the answer: %s", q.Refused)
	}
	return a.t.ask(ctx, e, inputs)
}

// unanswered says what is asked, so that a script's author can answer it.
func (a *answerer) unanswered(q client.Question, e elicitation, inputs []input) error {
	say := &strings.Builder{}
	fmt.Fprintf(say, " by the key %q: %s", q.Key, e.Message)
	if e.Mode == "url" {
		fmt.Fprintf(say, "\nOpen %s", e.URL)
	}
	for _, in := range inputs {
		fmt.Fprintf(say, "\n  %s: %s", in.name, in.kindText())
	}
	if q.Refused != "" {
		fmt.Fprintf(say, "\nThe server refused the answer: %s", q.Refused)
	} else if len(a.prepared) > 0 {
		fmt.Fprintf(say, "\n--answers has only %s", strings.Join(slices.Sorted(maps.Keys(a.prepared)), ", "))
	}
	return fmt.Errorf("%w%s", errUnanswered, say)
}

// answers reads prepared answers by key; content alone becomes an acceptance.
func (t *terminal) answers(value string) (map[string]json.RawMessage, error) {
	if value == "" {
		return nil, nil
	}
	answers, err := t.object("--answers", value)
	if err != nil {
		return nil, err
	}
	for key, a := range answers {
		var content map[string]json.RawMessage
		if json.Unmarshal(a, &content) != nil || content == nil {
			return nil, usagef("--answers: the answer to %q is no JSON object", key)
		}
		switch string(content["action"]) {
		case `"accept"`, `"decline"`, `"cancel"`:
		default:
			answers[key] = accept(content)
		}
	}
	return answers, nil
}
