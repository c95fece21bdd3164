package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

// result prints a CallToolResult: its text as text, JSON indented, and what a
// terminal can't show in a word.
func (t *terminal) result(raw json.RawMessage) error {
	var r struct {
		Content []struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			MIMEType string `json:"mimeType"`
			Data     string `json:"data"`
			URI      string `json:"uri"`
			Resource struct {
				URI      string  `json:"uri"`
				MIMEType string  `json:"mimeType"`
				Text     *string `json:"text"`
				Blob     string  `json:"blob"`
			} `json:"resource"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("the result can't be read: %w", err)
	}
	failed := error(nil)
	if r.IsError {
		failed = errToolFailed
	}
	if t.json {
		fmt.Fprintf(t.out, "%s\n", raw)
		return failed
	}
	bytesOf := func(data string) int { return base64.StdEncoding.DecodedLen(len(strings.TrimRight(data, "="))) }
	for _, c := range r.Content {
		switch c.Type {
		case "text":
			t.print(indented(c.Text))
		case "resource_link":
			t.print(c.URI)
		case "resource":
			if c.Resource.Text != nil {
				t.print(indented(*c.Resource.Text))
			} else {
				t.print(fmt.Sprintf("[%s, %s, %d bytes; --json has them]", c.Resource.URI, c.Resource.MIMEType, bytesOf(c.Resource.Blob)))
			}
		default:
			t.print(fmt.Sprintf("[%s, %s, %d bytes; --json has them]", c.Type, c.MIMEType, bytesOf(c.Data)))
		}
	}
	if len(r.Content) == 0 && r.Structured != nil {
		t.print(indented(string(r.Structured)))
	}
	return failed
}

// indented is JSON for people; other text stays as it is.
func indented(text string) string {
	var b bytes.Buffer
	if t := strings.TrimSpace(text); t == "" || t[0] != '{' && t[0] != '[' || json.Indent(&b, []byte(t), "", "  ") != nil {
		return text
	}
	return b.String()
}
