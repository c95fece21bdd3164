package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"toolhost/pkg/jsonrpc"
)

// input is one property of a form, within MCP's elicitation subset.
type input struct {
	name        string
	title, help string
	kind        string // "string", "integer", "number", "boolean", "choice", "choices"
	format      string
	required    bool
	options     []choice
	least, most *float64 // a number's bounds, a text's length, how many picks

	// What the person entered, with the default at first.
	text  string
	yes   bool
	picks []string
}

// choice is one allowed value with its title.
type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// formInputs reads the schema of a form; none if there is none.
func formInputs(schema json.RawMessage) ([]input, error) {
	root := parseNode(schema)
	var inputs []input
	var bad error
	err := eachMember(root.Properties, func(name string, raw json.RawMessage) {
		in, err := formInput(raw)
		if err != nil {
			bad = fmt.Errorf("the field %q: %w", name, err)
		}
		in.name, in.required = name, slices.Contains(root.Required, name)
		if in.title == "" {
			in.title = name
		}
		inputs = append(inputs, in)
	})
	return inputs, errors.Join(err, bad)
}

func formInput(raw json.RawMessage) (input, error) {
	var p struct {
		Type        string          `json:"type"`
		Title       string          `json:"title"`
		Description string          `json:"description"`
		Format      string          `json:"format"`
		Default     json.RawMessage `json:"default"`
		Enum        []string        `json:"enum"`
		EnumNames   []string        `json:"enumNames"`
		OneOf       []choice        `json:"oneOf"`
		Items       struct {
			Enum  []string `json:"enum"`
			AnyOf []choice `json:"anyOf"`
		} `json:"items"`
		Minimum, Maximum, MinLength, MaxLength, MinItems, MaxItems *float64
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return input{}, err
	}
	in := input{title: p.Title, help: p.Description, kind: p.Type, format: p.Format, least: p.Minimum, most: p.Maximum}
	for i, v := range append(p.Enum, p.Items.Enum...) {
		title := v
		if i < len(p.EnumNames) {
			title = p.EnumNames[i]
		}
		in.options = append(in.options, choice{v, title})
	}
	for _, c := range append(p.OneOf, p.Items.AnyOf...) {
		if c.Title == "" {
			c.Title = c.Const
		}
		in.options = append(in.options, c)
	}
	switch {
	case p.Type == "array":
		in.kind, in.least, in.most = "choices", p.MinItems, p.MaxItems
	case len(in.options) > 0:
		in.kind = "choice"
	case p.Type == "string":
		in.least, in.most = p.MinLength, p.MaxLength
	}
	// A default of another type than the field's is none.
	for _, into := range []any{&in.text, &in.yes, &in.picks} {
		_ = json.Unmarshal(p.Default, into)
	}
	if in.kind == "integer" || in.kind == "number" {
		in.text = strings.Trim(string(p.Default), `"`)
	}
	return in, nil
}

// check refuses what the field can't be.
func (in *input) check(text string) error {
	if text == "" {
		if in.required {
			return errors.New("this is needed")
		}
		return nil
	}
	size, unit := float64(utf8.RuneCountInString(text)), " characters"
	var err error
	switch in.kind {
	case "integer", "number":
		var integer int64
		unit = ""
		if json.Unmarshal([]byte(text), &size) != nil {
			return errors.New("a number, please")
		}
		if in.kind == "integer" && json.Unmarshal([]byte(text), &integer) != nil {
			return errors.New("a whole number, please")
		}
	case "string":
		switch in.format {
		case "email":
			_, err = mail.ParseAddress(text)
		case "uri":
			_, err = url.ParseRequestURI(text)
		case "date":
			_, err = time.Parse(time.DateOnly, text)
		case "date-time":
			_, err = time.Parse(time.RFC3339, text)
		}
		if err != nil {
			return fmt.Errorf("this is no %s", in.format)
		}
	}
	return in.within(size, unit)
}

func (in *input) checkPicks(picks []string) error { return in.within(float64(len(picks)), " choices") }

func (in *input) within(n float64, unit string) error {
	switch {
	case in.least != nil && n < *in.least:
		return fmt.Errorf("at least %v%s", *in.least, unit)
	case in.most != nil && n > *in.most:
		return fmt.Errorf("at most %v%s", *in.most, unit)
	}
	return nil
}

// value is what was entered, and whether anything was.
func (in *input) value() (json.RawMessage, bool) {
	switch in.kind {
	case "boolean":
		return jsonrpc.Encode(in.yes), true
	case "choices":
		return jsonrpc.Encode(append([]string{}, in.picks...)), in.required || len(in.picks) > 0
	case "integer", "number":
		return json.RawMessage(in.text), in.text != ""
	}
	return jsonrpc.Encode(in.text), in.required || in.text != ""
}

// set enters a text, as --set gives it.
func (in *input) set(text string) error {
	switch in.kind {
	case "boolean":
		if text != "true" && text != "false" {
			return errors.New("true or false, please")
		}
		in.yes = text == "true"
		return nil
	case "choice", "choices":
		if !slices.ContainsFunc(in.options, func(c choice) bool { return c.Const == text }) {
			return fmt.Errorf("%q is none of %s", text, in.values())
		}
		in.picks = append(in.picks, text)
	}
	in.text = text
	return in.check(text)
}

// values are what there is to choose from.
func (in *input) values() string {
	values := make([]string, len(in.options))
	for i, o := range in.options {
		values[i] = o.Const
	}
	return strings.Join(values, " | ")
}

// kindText tells what may be entered.
func (in *input) kindText() string {
	text := in.kind
	if len(in.options) > 0 {
		text = in.values()
		if in.kind == "choices" {
			text = "any of " + text
		}
	}
	if !in.required {
		text += " (optional)"
	}
	return text
}
