package main

import (
	"context"
	"encoding/json"
	"fmt"

	"toolhost/pkg/client"
)

type watchCmd struct {
	ID      string `arg:"" help:"The task's id."`
	Answers string `help:"Answers to the tool's questions, as for 'call'." placeholder:"JSON"`
	JSON    bool   `name:"json" help:"Print the whole result as JSON, and say nothing else."`
}

func (cmd *watchCmd) Run(ctx context.Context, c *cli, t *terminal) error {
	answers, err := parseAnswers(cmd.Answers)
	if err != nil {
		return err
	}
	line := newProgress(t, cmd.JSON)
	cl := client.New(c.URL, client.Options{Name: "toolhost", Version: "1", Answerer: t.answerer(line, answers)})
	raw, err := cl.Wait(ctx, cmd.ID, line.watch())
	line.end()
	if err != nil {
		return t.left(cl, cmd.ID, err)
	}
	return t.result(raw, cmd.JSON)
}

type answerCmd struct {
	ID      string            `arg:"" help:"The task's id."`
	Set     map[string]string `help:"A field of the only open question; repeat for more." placeholder:"FIELD=VALUE" mapsep:"none"`
	Decline bool              `help:"Decline every open question." xor:"how"`
	Answers string            `help:"Answers by question, {\"key\": {…}} as JSON or @path: the content, or a whole response with an action." placeholder:"JSON" xor:"how"`
	JSON    bool              `name:"json" help:"Print the task after the answer as JSON."`
}

func (cmd *answerCmd) Run(ctx context.Context, c *cli, t *terminal) error {
	cl := client.New(c.URL, client.Options{Name: "toolhost", Version: "1"})
	task, err := cl.Get(ctx, cmd.ID)
	if err != nil {
		return err
	}
	if len(task.InputRequests) == 0 {
		fmt.Fprintf(t.err, "Nothing to answer: the task is %s.\n", task.Status)
		return nil
	}
	responses, err := cmd.responses(ctx, t, task)
	if err != nil {
		return err
	}
	if err := cl.Answer(ctx, cmd.ID, responses); err != nil {
		return err
	}
	if cmd.JSON {
		if task, err = cl.Get(ctx, cmd.ID); err != nil {
			return err
		}
		return json.NewEncoder(t.out).Encode(task)
	}
	fmt.Fprintf(t.err, "Answered. 'toolhost watch %s' shows how it goes on.\n", cmd.ID)
	return nil
}

func (cmd *answerCmd) responses(ctx context.Context, t *terminal, task client.Task) (map[string]json.RawMessage, error) {
	switch {
	case cmd.Answers != "":
		return parseAnswers(cmd.Answers)
	case cmd.Decline:
		out := map[string]json.RawMessage{}
		for key := range task.InputRequests {
			out[key] = json.RawMessage(`{"action":"decline"}`)
		}
		return out, nil
	case len(cmd.Set) > 0:
		if len(task.InputRequests) > 1 {
			return nil, usagef("there are %d open questions: answer them by --answers", len(task.InputRequests))
		}
		for key, q := range task.InputRequests {
			content, err := contentOf(cmd.Set, q)
			if err != nil {
				return nil, err
			}
			return map[string]json.RawMessage{key: content}, nil
		}
	}
	answer := t.answerer(newProgress(t, true), nil)
	out := map[string]json.RawMessage{}
	for key, q := range task.InputRequests {
		response, err := answer(ctx, key, q)
		if err != nil {
			return nil, err
		}
		out[key] = response
	}
	return out, nil
}

// contentOf makes an accepting response from FIELD=VALUE pairs, each of the
// type that the form says.
func contentOf(set map[string]string, q client.Question) (json.RawMessage, error) {
	var e elicitation
	if err := json.Unmarshal(q.Params, &e); err != nil {
		return nil, fmt.Errorf("reading the question: %w", err)
	}
	inputs, err := formInputs(e.Schema)
	if err != nil {
		return nil, err
	}
	text := map[string]bool{}
	for _, in := range inputs {
		text[in.name] = in.kind == "string" || in.kind == "choice"
	}
	content := map[string]any{}
	for field, value := range set {
		isText, known := text[field]
		if !known {
			return nil, usagef("the question has no field %q", field)
		}
		if content[field] = any(value); !isText {
			content[field] = loose(value)
		}
	}
	return json.Marshal(map[string]any{"action": "accept", "content": content})
}

type cancelCmd struct {
	ID string `arg:"" help:"The task's id."`
}

func (cmd *cancelCmd) Run(ctx context.Context, c *cli, t *terminal) error {
	cl := client.New(c.URL, client.Options{Name: "toolhost", Version: "1"})
	if err := cl.Cancel(ctx, cmd.ID); err != nil {
		return err
	}
	task, err := cl.Get(ctx, cmd.ID)
	if err != nil {
		return err
	}
	switch {
	case task.Status == "cancelled":
		fmt.Fprintln(t.err, "Cancelled.")
	case task.Terminal():
		fmt.Fprintf(t.err, "It was over before: %s.\n", task.Status)
	default:
		fmt.Fprintln(t.err, "Asked to stop; a running tool has ten seconds to return.")
	}
	return nil
}
