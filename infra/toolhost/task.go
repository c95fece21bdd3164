package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"toolhost/pkg/client"
)

// taskArg is the task that a command is about.
type taskArg struct {
	ID string `arg:"" help:"The task's id."`
}

// Validate is called by the command line's parser.
func (a *taskArg) Validate() error {
	if strings.TrimSpace(a.ID) == "" {
		return errors.New("the task's id is empty")
	}
	return nil
}

type watchCmd struct {
	taskArg
	Answers string `help:"${answers}" placeholder:"JSON"`
	JSON    bool   `name:"json" help:"${json}"`
}

func (cmd *watchCmd) Run(ctx context.Context, c *cli, t *terminal) error {
	t.json = cmd.JSON
	answers, err := t.answers(cmd.Answers)
	if err != nil {
		return err
	}
	line := newProgress(t, "watching "+cmd.ID)
	defer line.end()
	cl, err := c.client((&answerer{t: t, line: line, prepared: answers}).answer)
	if err != nil {
		return err
	}
	raw, err := cl.Wait(ctx, cmd.ID, line.watch())
	line.end()
	if err != nil {
		return t.leave(c, cl, cmd.ID, err)
	}
	return t.result(raw)
}

// leave says what became of the task when a command ends before it does. After
// a Ctrl-C it offers to cancel.
func (t *terminal) leave(c *cli, cl *client.Client, id string, err error) error {
	var failed *client.FailedError
	over := errors.Is(err, client.ErrCancelled) || errors.Is(err, client.ErrUnknownTask) || errors.As(err, &failed)
	switch {
	case id == "":
		return err
	case over:
		return taskError{id: id, error: err}
	}
	if errors.Is(err, context.Canceled) && t.asks && t.confirm("Cancel the task?") {
		if _, err := t.cancel(context.Background(), cl, id); err != nil {
			return taskError{id: id, error: err}
		}
		return taskError{id: id, error: client.ErrCancelled}
	}
	next := []string{c.command("watch " + id), c.command("cancel " + id)}
	if errors.Is(err, errUnanswered) {
		next = append([]string{c.command("answer " + id)}, next...)
	}
	return taskError{id, err, next}
}

type answerCmd struct {
	taskArg
	Set     []string `help:"A field of the only open question; repeat for more." placeholder:"FIELD=VALUE" sep:"none" xor:"how"`
	Answers string   `help:"${answers}" placeholder:"JSON" xor:"how"`
	Decline bool     `help:"Decline every open question." xor:"how"`
	JSON    bool     `name:"json" help:"Print one JSON value: the task after the answer, or an error."`
}

func (cmd *answerCmd) Run(ctx context.Context, c *cli, t *terminal) error {
	t.json = cmd.JSON
	cl, err := c.client(nil)
	if err != nil {
		return err
	}
	task, err := cl.Get(ctx, cmd.ID)
	if err != nil {
		return err
	}
	if len(task.InputRequests) == 0 {
		return taskError{id: task.ID, error: fmt.Errorf("%w: the task is %s", errNothingOpen, task.Status)}
	}
	responses, err := cmd.responses(ctx, t, task)
	if err != nil {
		return taskError{id: task.ID, error: err}
	}
	if err := cl.Answer(ctx, cmd.ID, responses); err != nil {
		return taskError{id: task.ID, error: err}
	}
	if t.json {
		if task, err = cl.Get(ctx, cmd.ID); err != nil {
			return err
		}
		fmt.Fprintf(t.out, "%s\n", task.Raw)
		return nil
	}
	t.say("Answered. '%s' shows how it goes on.", c.command("watch "+cmd.ID))
	return nil
}

func (cmd *answerCmd) responses(ctx context.Context, t *terminal, task client.Task) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	switch {
	case cmd.Answers != "":
		answers, err := t.answers(cmd.Answers)
		if err != nil {
			return nil, err
		}
		var open []string
		for _, q := range task.InputRequests {
			if a, given := answers[q.Key]; given {
				out[q.Key] = a
			}
			open = append(open, q.Key)
		}
		if len(out) == 0 {
			return nil, usagef("--answers answers none of the open questions: %s", strings.Join(open, ", "))
		}
	case cmd.Decline:
		for _, q := range task.InputRequests {
			out[q.Key] = json.RawMessage(`{"action":"decline"}`)
		}
	case len(cmd.Set) > 0:
		if n := len(task.InputRequests); n > 1 {
			return nil, usagef("there are %d open questions: answer them by --answers", n)
		}
		q := task.InputRequests[0]
		content, err := t.contentOf(cmd.Set, q)
		if err != nil {
			return nil, err
		}
		out[q.Key] = accept(content)
	default:
		ask := answerer{t: t, line: newProgress(t, "")}
		for _, q := range task.InputRequests {
			response, err := ask.answer(ctx, q)
			if err != nil {
				return nil, err
			}
			out[q.Key] = response
		}
	}
	return out, nil
}

// contentOf is a form's content from FIELD=VALUE pairs, each of the type that
// the form says; what is not set has its default.
func (t *terminal) contentOf(set []string, q client.Question) (map[string]json.RawMessage, error) {
	var e elicitation
	if err := json.Unmarshal(q.Params, &e); err != nil {
		return nil, fmt.Errorf("the question can't be read: %w", err)
	}
	inputs, err := formInputs(e.Schema)
	if err != nil {
		return nil, err
	}
	fields := map[string]*input{}
	for i := range inputs {
		fields[inputs[i].name] = &inputs[i]
	}
	content := map[string]json.RawMessage{}
	for _, pair := range set {
		name, value, ok := strings.Cut(pair, "=")
		field := fields[name]
		switch {
		case !ok:
			return nil, usagef("--set %s: a field is given as FIELD=VALUE", pair)
		case field == nil:
			return nil, usagef("--set %s: the question has no such field, but %s", name, fieldNames(inputs))
		}
		if content[name] == nil {
			field.picks = nil // the default's
		}
		text, err := t.text("--set "+name, value)
		if err == nil {
			err = field.set(text)
		}
		if err != nil {
			return nil, usagef("--set %s: %w", name, err)
		}
		content[name], _ = field.value()
	}
	for _, in := range inputs {
		if _, given := content[in.name]; !given && in.required && in.kind != "boolean" {
			if v, _ := in.value(); in.check(in.text) == nil {
				content[in.name] = v
			}
		}
	}
	return content, nil
}

func fieldNames(inputs []input) string {
	var names []string
	for _, in := range inputs {
		names = append(names, in.name+": "+in.kindText())
	}
	return strings.Join(names, "; ")
}

type cancelCmd struct {
	taskArg
	JSON bool `name:"json" help:"Print one JSON value: the task after the request, or an error."`
}

func (cmd *cancelCmd) Run(ctx context.Context, c *cli, t *terminal) error {
	t.json = cmd.JSON
	cl, err := c.client(nil)
	if err != nil {
		return err
	}
	task, err := t.cancel(ctx, cl, cmd.ID)
	if err == nil && t.json {
		fmt.Fprintf(t.out, "%s\n", task.Raw)
	}
	return err
}

// cancel asks for the task's end and says what came of it.
func (t *terminal) cancel(ctx context.Context, cl *client.Client, id string) (client.Task, error) {
	if err := cl.Cancel(ctx, id); err != nil {
		return client.Task{}, err
	}
	task, err := cl.Get(ctx, id)
	if err != nil {
		return client.Task{}, err
	}
	switch {
	case task.Status == client.Cancelled:
		t.say("Cancelled.")
	case task.Terminal():
		t.say("It was over before: %s.", task.Status)
	default:
		t.say("Asked to stop; a running tool has ten seconds to return.")
	}
	return task, nil
}
