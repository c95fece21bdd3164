package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"charm.land/huh/v2"

	"toolhost/pkg/client"
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
func (t *terminal) answerer(line *progress, prepared map[string]json.RawMessage) client.Answerer {
	return func(ctx context.Context, key string, q client.Question) (json.RawMessage, error) {
		if a, ok := prepared[key]; ok {
			return a, nil
		}
		line.end()
		var e elicitation
		if err := json.Unmarshal(q.Params, &e); err != nil && q.Params != nil {
			return nil, fmt.Errorf("reading the question %q: %w", key, err)
		}
		if !t.tty || q.Method != "elicitation/create" {
			known := ""
			if len(prepared) > 0 {
				known = fmt.Sprintf(" (--answers has %s)", strings.Join(slices.Sorted(maps.Keys(prepared)), ", "))
			}
			return nil, fmt.Errorf("%w, %q: %s%s", errUnanswered, key, e.Message, known)
		}
		return t.ask(ctx, e)
	}
}

// ask shows the question as a form and returns the response.
func (t *terminal) ask(ctx context.Context, e elicitation) (json.RawMessage, error) {
	fields := []huh.Field{huh.NewNote().Title(e.Message)}
	var inputs []input
	if e.Mode == "url" {
		fields[0] = huh.NewNote().Title(e.Message).Description("Open " + e.URL)
	} else {
		var err error
		if inputs, err = formInputs(e.Schema); err != nil {
			return nil, err
		}
		for i := range inputs {
			fields = append(fields, inputs[i].field())
		}
	}
	send := true
	fields = append(fields, huh.NewConfirm().Title("Send this answer?").Affirmative("Send").Negative("Decline").Value(&send))
	form := huh.NewForm(huh.NewGroup(fields...)).WithInput(t.in).WithOutput(t.err)
	switch err := form.RunWithContext(ctx); {
	case errors.Is(err, huh.ErrUserAborted):
		return nil, context.Canceled
	case err != nil:
		return nil, err
	case !send:
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	response := map[string]any{"action": "accept"}
	if e.Mode != "url" {
		content := map[string]any{}
		for i := range inputs {
			if v, given := inputs[i].value(); given {
				content[inputs[i].name] = v
			}
		}
		response["content"] = content
	}
	return json.Marshal(response)
}

// confirm asks yes or no; Ctrl-C means no.
func (t *terminal) confirm(question string) bool {
	yes := false
	form := huh.NewForm(huh.NewGroup(huh.NewConfirm().Title(question).Value(&yes))).WithInput(t.in).WithOutput(t.err)
	return form.Run() == nil && yes
}

// input is one property of a form, within MCP's elicitation subset.
type input struct {
	name        string
	title, help string
	kind        string // "string", "integer", "number", "boolean", "choice", "choices"
	required    bool
	options     []huh.Option[string]

	text  string
	yes   bool
	picks []string
}

// choice is one allowed value with its title.
type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

func formInputs(schema json.RawMessage) ([]input, error) {
	s := struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}{}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("reading the form: %w", err)
	}
	var inputs []input
	err := eachMember(s.Properties, func(name string, raw json.RawMessage) error {
		var p struct {
			Type        string   `json:"type"`
			Title       string   `json:"title"`
			Description string   `json:"description"`
			Default     any      `json:"default"`
			Enum        []string `json:"enum"`
			EnumNames   []string `json:"enumNames"`
			OneOf       []choice `json:"oneOf"`
			Items       struct {
				Enum  []string `json:"enum"`
				AnyOf []choice `json:"anyOf"`
			} `json:"items"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return fmt.Errorf("reading the field %q: %w", name, err)
		}
		in := input{name: name, title: p.Title, help: p.Description, kind: p.Type, required: slices.Contains(s.Required, name)}
		if in.title == "" {
			in.title = name
		}
		for i, v := range append(p.Enum, p.Items.Enum...) {
			title := v
			if i < len(p.EnumNames) {
				title = p.EnumNames[i]
			}
			in.options = append(in.options, huh.NewOption(title, v))
		}
		for _, c := range append(p.OneOf, p.Items.AnyOf...) {
			in.options = append(in.options, huh.NewOption(c.Title, c.Const))
		}
		switch d := p.Default.(type) {
		case bool:
			in.yes = d
		case []any:
			for _, v := range d {
				in.picks = append(in.picks, fmt.Sprint(v))
			}
		case nil:
		case float64:
			in.text = strconv.FormatFloat(d, 'f', -1, 64)
		default:
			in.text = fmt.Sprint(d)
		}
		switch {
		case p.Type == "array":
			in.kind = "choices"
		case len(in.options) > 0:
			in.kind = "choice"
			if !in.required {
				in.options = append([]huh.Option[string]{huh.NewOption("(none)", "")}, in.options...)
			}
		}
		inputs = append(inputs, in)
		return nil
	})
	return inputs, err
}

func (in *input) field() huh.Field {
	switch in.kind {
	case "boolean":
		return huh.NewConfirm().Title(in.title).Description(in.help).Value(&in.yes)
	case "choice":
		return huh.NewSelect[string]().Title(in.title).Description(in.help).Options(in.options...).Value(&in.text)
	case "choices":
		return huh.NewMultiSelect[string]().Title(in.title).Description(in.help).Options(in.options...).Value(&in.picks)
	}
	return huh.NewInput().Title(in.title).Description(in.help).Value(&in.text).Validate(in.check)
}

// check refuses what the field's type can't be.
func (in *input) check(text string) error {
	if text == "" {
		if in.required {
			return errors.New("this is needed")
		}
		return nil
	}
	switch in.kind {
	case "integer":
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return errors.New("a whole number, please")
		}
	case "number":
		if _, err := strconv.ParseFloat(text, 64); err != nil || !json.Valid([]byte(text)) {
			return errors.New("a number, please")
		}
	}
	return nil
}

// value is what the person entered, and whether anything was.
func (in *input) value() (any, bool) {
	switch in.kind {
	case "boolean":
		return in.yes, true
	case "choices":
		return append([]string{}, in.picks...), in.required || len(in.picks) > 0
	case "integer", "number":
		return json.RawMessage(in.text), in.text != ""
	}
	return in.text, in.required || in.text != ""
}
