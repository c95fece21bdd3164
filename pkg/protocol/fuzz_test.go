package protocol

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"toolhost/pkg/jsonrpc"
)

// A name survives its header, whatever it is, and a header is decoded or refused (R-H1).
func FuzzHeader(f *testing.F) {
	for _, s := range []string{"", "greet", " x ", "größe", "=?base64??=", "=?base64?Z3JlZXQ=?=", "a\r\nb", "=?base64?!?="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		encoded := EncodeHeader(name)
		if strings.ContainsAny(encoded, "\r\n\x00") {
			t.Errorf("%q goes into a header as %q", name, encoded)
		}
		if got, ok := (Header{true, encoded}).Decoded(); utf8.ValidString(name) && (!ok || got != name) {
			t.Errorf("%q came back as %q, %v", name, got, ok)
		}
		if got, ok := (Header{true, name}).Decoded(); ok && !utf8.ValidString(got) && got != name {
			t.Errorf("%q was decoded to %q", name, got)
		}
	})
}

// Whatever a _meta says of a request, what goes out again is of the form that it must have (R-N10, R-P5).
func FuzzMeta(f *testing.F) {
	f.Add([]byte(`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}},"progressToken":1.5,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`))
	f.Add([]byte(`{"io.modelcontextprotocol/clientCapabilities":{"sampling":null,"roots":[]}}`))
	f.Fuzz(func(t *testing.T, meta []byte) {
		if !json.Valid(meta) {
			return // the envelope has refused it
		}
		m := ReadMeta(meta)
		if m.ProgressToken != nil && !jsonrpc.ValidID(m.ProgressToken) {
			t.Errorf("progress token %s", m.ProgressToken)
		}
		c, err := ParseCapabilities(m.All[MetaClientCapabilities])
		if err == nil && (!json.Valid(c.Raw) || len(c.Raw) > 1<<10) {
			t.Errorf("capabilities %.100s", c.Raw)
		}
	})
}

// An answer is refused or has what its question needs (R-U7).
func FuzzCheckAnswer(f *testing.F) {
	for _, s := range []string{`{"action":"accept","content":{"a":1}}`, `{"action":null}`, `{"role":"user","content":[],"model":"m"}`, `{"roots":[{"uri":"file:///"}]}`, `[]`, `{"roots":[null]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, response string) {
		if !json.Valid([]byte(response)) {
			return
		}
		for _, method := range []string{MethodElicit, MethodSample, MethodRoots} {
			var object map[string]json.RawMessage
			if CheckAnswer(method, json.RawMessage(response)) == nil && json.Unmarshal([]byte(response), &object) != nil {
				t.Errorf("%s took %q", method, response)
			}
		}
	})
}
