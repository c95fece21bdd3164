package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"toolhost/pkg/limits"
)

// Action is what a person did with a question.
type Action string

// Decline and Cancel are answers like any other: the person said no, or closed
// the question.
const (
	Accept  Action = "accept"
	Decline Action = "decline"
	Cancel  Action = "cancel"
)

// Reply is the answer to a form.
type Reply[T any] struct {
	Action Action
	// Value is what was filled in, if Action is Accept.
	Value T
	// Raw is the client's response as it came.
	Raw json.RawMessage
}

// Accepted reports whether there is a Value.
func (r Reply[T]) Accepted() bool { return r.Action == Accept }

// maxRounds is how often a form is asked whose answers do not fit it.
const maxRounds = 3

// MisfitError is the error of an answer, or of a callback's body, that does not
// fit the type that was asked for. A form is asked three times before.
type MisfitError struct {
	Key    string // of the question, or the callback's name
	Reason string // names the property at fault
}

func (e *MisfitError) Error() string {
	return fmt.Sprintf("the answer to %q does not fit: %s", e.Key, e.Reason)
}

// Ask asks a person to fill in a form and suspends the run until they have, as
// AskRaw does. T is a struct of strings, numbers, booleans, times, and
// selections; tags describe it:
//
//	type Approval struct {
//		Env   string    `json:"env" enum:"stage|prod" titles:"Staging|Production"`
//		Count int       `json:"count" jsonschema:"How many." minimum:"1" maximum:"9" default:"1"`
//		Mail  string    `json:"mail,omitempty" title:"Your mail" format:"email"`
//		Tags  []string  `json:"tags" enum:"a|b|c" minItems:"1"`
//		When  time.Time `json:"when,omitzero"`
//	}
//
// Fields with omitempty, omitzero, a default or a pointer type are optional.
// Formats are email, uri, date and date-time; minLength, maxLength and maxItems
// are known too. Options of enum and titles are separated by |.
//
// An answer that does not fit is asked for again under KEY~2 and KEY~3, with a
// message that says what was wrong; after that it is a *MisfitError.
func Ask[T any](ctx context.Context, key, message string) (Reply[T], error) {
	p := Form[T](key, message)
	err := AskAll(ctx, p)
	return p.Reply, err
}

// Asker is a question for AskAll.
type Asker interface {
	// next is the question to ask, nil if its answer is there and taken.
	next(w within) (*Question, error)
}

// Pending is a form that AskAll asks; its Reply is there once AskAll returned nil.
type Pending[T any] struct {
	Reply        Reply[T]
	key, message string
}

// Form makes a question for AskAll, with the rules of Ask.
func Form[T any](key, message string) *Pending[T] {
	return &Pending[T]{key: key, message: message}
}

// AskAll asks several forms at once and fills in their Replies once all are there.
//
//	name, sure := tool.Form[Name]("name", "Your name?"), tool.Form[Sure]("sure", "Sure?")
//	if err := tool.AskAll(ctx, name, sure); err != nil {
//		return nil, nil, err
//	}
func AskAll(ctx context.Context, forms ...Asker) error {
	w, err := current(ctx, "Ask")
	if err != nil {
		return err
	}
	var open []Question
	for _, f := range forms {
		q, err := f.next(w)
		if err != nil {
			return err
		}
		if q != nil {
			open = append(open, *q)
		}
	}
	return w.run.ask(open)
}

func (p *Pending[T]) next(w within) (*Question, error) {
	if err := w.takeKey(p.key); err != nil {
		return nil, err
	}
	f, err := formOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, w.run.refuse("The question %q can't be a form: %v.", p.key, err)
	}
	message, reason := p.message, ""
	for n := 1; n <= maxRounds; n++ {
		if reason != "" {
			message = p.message + "\n\nThe last answer did not fit: " + reason + ". Please answer again."
		}
		q, err := f.question(numbered(p.key, n), message)
		if err != nil {
			return nil, err
		}
		response, err := w.run.answer(q)
		if err != nil {
			return nil, err
		}
		if response == nil {
			return &q, nil
		}
		if reason = p.take(f, response); reason == "" {
			return nil, nil
		}
	}
	return nil, &MisfitError{p.key, reason}
}

// take fills the Reply in, or says why the response does not fit.
func (p *Pending[T]) take(f *form, response json.RawMessage) (reason string) {
	answer, err := readAnswer(response)
	if err != nil {
		return err.Error()
	}
	reply := Reply[T]{Action: answer.Action, Raw: response}
	if reply.Accepted() {
		if err := f.read(answer.Content, &reply.Value); err != nil {
			return err.Error()
		}
	}
	p.Reply = reply
	return ""
}

type elicitAnswer struct {
	Action  Action          `json:"action"`
	Content json.RawMessage `json:"content"`
}

func readAnswer(response json.RawMessage) (elicitAnswer, error) {
	var a elicitAnswer
	if err := decodeInto(response, &a); err != nil {
		return a, fmt.Errorf("it is not the answer to a question")
	}
	switch a.Action {
	case Accept, Decline, Cancel:
		return a, nil
	}
	return a, fmt.Errorf(`action: got %s, want "accept", "decline" or "cancel"`, show(string(a.Action)))
}

// form is the schema of a form and what it checks beyond.
type form struct {
	schema  *schema
	formats map[string]string // by property
}

var forms sync.Map // reflect.Type -> *form

func formOf(t reflect.Type) (*form, error) {
	if f, ok := forms.Load(t); ok {
		return f.(*form), nil
	}
	f, err := newForm(t)
	if err != nil {
		return nil, err
	}
	forms.Store(t, f)
	return f, nil
}

func (f *form) question(key, message string) (Question, error) {
	params, err := encode(struct {
		Mode            string          `json:"mode"`
		Message         string          `json:"message"`
		RequestedSchema json.RawMessage `json:"requestedSchema"`
	}{"form", message, f.schema.json})
	return Question{Key: key, Method: methodElicit, Params: params}, err
}

// read holds content to the form and decodes it.
func (f *form) read(content json.RawMessage, into any) error {
	if !isGiven(content) {
		content = json.RawMessage("{}")
	}
	if len(content) > limits.MaxAnswer {
		return fmt.Errorf("content: %d bytes, the limit is %d", len(content), limits.MaxAnswer)
	}
	content, err := f.schema.check(content, "content")
	if err != nil {
		return err
	}
	if err := f.checkFormats(content); err != nil {
		return err
	}
	if err := decodeInto(content, into); err != nil {
		return fmt.Errorf("content: can't be read as what was asked for")
	}
	return nil
}
