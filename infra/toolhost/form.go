package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"github.com/charmbracelet/x/ansi"

	"toolhost/pkg/jsonrpc"
)

// ask shows the question as a form and returns the response. Ctrl-C is
// context.Canceled; a ctx that ends takes the form away.
func (t *terminal) ask(ctx context.Context, e elicitation, inputs []input) (json.RawMessage, error) {
	t.say("\n%s", ansi.Wordwrap(plain(e.Message), t.width(t.err), ""))
	send := huh.NewConfirm().Title("Send this answer?").Affirmative("Send").Negative("Decline")
	if e.Mode == "url" {
		t.say("Open %s", e.URL)
		inputs = nil
		send = send.Title("Did you finish there?").Affirmative("Yes").Negative("Decline")
	}
	yes := true
	var fields []huh.Field
	for i := range inputs {
		fields = append(fields, inputs[i].field())
	}
	if err := t.form(ctx, append(fields, send.Value(&yes))...); err != nil {
		return nil, err
	}
	if !yes {
		t.say("Declined.")
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	if e.Mode == "url" {
		return json.RawMessage(`{"action":"accept"}`), nil
	}
	content := map[string]json.RawMessage{}
	var sent []string
	for _, in := range inputs {
		if v, given := in.value(); given {
			content[in.name] = v
			sent = append(sent, fmt.Sprintf("%s = %s", in.name, v))
		}
	}
	t.say("Answered: %s", strings.Join(sent, ", "))
	return accept(content), nil
}

// accept is the response that carries a form's content.
func accept(content map[string]json.RawMessage) json.RawMessage {
	return jsonrpc.Encode(map[string]any{"action": "accept", "content": content})
}

// confirm asks yes or no; Ctrl-C means no.
func (t *terminal) confirm(question string) bool {
	yes := false
	return t.form(context.Background(), huh.NewConfirm().Title(question).Value(&yes)) == nil && yes
}

// form runs a form until it is sent, Ctrl-C or the end of ctx.
func (t *terminal) form(ctx context.Context, fields ...huh.Field) error {
	form := huh.NewForm(huh.NewGroup(fields...)).WithInput(t.in).WithOutput(t.err)
	if os.Getenv("TERM") == "dumb" {
		return form.RunWithContext(ctx) // plain prompts, one after the other
	}
	turn := t.keyboard.turn()
	defer turn.end()
	form.SubmitCmd, form.CancelCmd = tea.Quit, tea.Quit
	program := tea.NewProgram(page{form}, tea.WithInput(turn), tea.WithOutput(t.err), tea.WithoutSignalHandler())
	defer context.AfterFunc(ctx, program.Quit)()
	if _, err := program.Run(); err != nil {
		return err
	}
	if form.State != huh.StateCompleted {
		return context.Canceled
	}
	return nil
}

// page is a form as a program.
type page struct{ form *huh.Form }

func (p page) Init() tea.Cmd { return p.form.Init() }

func (p page) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := p.form.Update(m) // the form is a pointer and updates itself
	return p, cmd
}

func (p page) View() tea.View { return tea.NewView(p.form.View()) }

// field is the widget for an input.
func (in *input) field() huh.Field {
	title := plain(in.title)
	if in.required && in.kind != "boolean" {
		title += " *"
	}
	help := plain(in.help)
	switch in.kind {
	case "boolean":
		return huh.NewConfirm().Title(title).Description(help).Value(&in.yes)
	case "choice":
		options := slices.Clone(in.options)
		if !in.required {
			options = append([]choice{{"", "(none)"}}, options...)
		}
		return huh.NewSelect[string]().Title(title).Description(help).Options(widgets(options)...).Value(&in.text)
	case "choices":
		return huh.NewMultiSelect[string]().Title(title).Description(help).Options(widgets(in.options)...).Value(&in.picks).Validate(in.checkPicks)
	}
	return huh.NewInput().Title(title).Description(help).Value(&in.text).Validate(in.check)
}

func widgets(choices []choice) []huh.Option[string] {
	var out []huh.Option[string]
	for _, c := range choices {
		out = append(out, huh.NewOption(plain(c.Title), c.Const))
	}
	return out
}
