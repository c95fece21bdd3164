package attack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// near are ids that are nearly that of a task: changed at every place, spelled in
// other ways, and such as a store might take for something else.
func near(id string) map[string]string {
	all := map[string]string{
		"upper case": strings.ToUpper(id), "without dashes": strings.ReplaceAll(id, "-", ""), "in braces": "{" + id + "}",
		"as a urn": "urn:uuid:" + id, "space before": " " + id, "space after": id + " ", "tab after": id + "\t", "line after": id + "\n",
		"NUL after": id + "\x00", "NUL and more": id + "\x00x", "percent NUL": id + "%00", "quoted": `"` + id + `"`, "half": id[:18], "twice": id + id,
		"a list": id + "," + id, "another part": id + "#task", "a step": id + "#step", "a path": "../" + id, "a folder": id + "/", "dot": id + "/.",
		"full width": strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return r - '0' + '０'
			}
			return r
		}, id), "joined": id[:5] + "\u200d" + id[5:], "turned": "\u202e" + id, "marked": "\ufeff" + id, "kelvin": strings.ReplaceAll(id, "-", "\u2010"),
		"SQL": "' OR 1=1 --", "a value": `{"S":"` + id + `"}`, "an expression": "attribute_exists(pk)", "a wildcard": "*", "a dot": ".", "none": "00000000-0000-0000-0000-000000000000",
		"128 bytes": strings.Repeat("x", 128), "129 bytes": strings.Repeat("x", 129), "a key's most": strings.Repeat("x", 2048), "and one": strings.Repeat("x", 2049),
		"not printable": "\x01\x02\x7f", "an emoji": "🦆", "empty": "", "the word null": "null", "base64 again": "=?base64?eA==?=",
	}
	for i := range id {
		c := byte('0')
		if id[i] == c {
			c = '1'
		}
		all[fmt.Sprint("changed at ", i)] = id[:i] + string(c) + id[i+1:]
	}
	return all
}

// TestTaskIDs guesses, changes and bloats the ids of tasks, in every method that
// takes one. All get the one answer for a task that never was, and the task that
// they are near to is not moved.
func TestTaskIDs(t *testing.T) { // R-G7, R-H1, R-L1, R-B3; case 13
	g := attacked(t)
	id := g.task("ask")
	before := g.until(id, "input_required")
	answers := map[string]any{"who": map[string]any{"action": "accept", "content": map[string]string{"name": "Eve"}}}
	unknown := `{"jsonrpc":"2.0","id":"q","error":{"code":-32602,"message":"Unknown task"}}`
	tried := 0
	refused := func(what string, a answer) {
		t.Helper()
		if tried++; a.status != http.StatusOK || string(a.body) != unknown {
			t.Errorf("%s: %d %.300s", what, a.status, a.body)
		}
	}
	for what, guess := range near(id) {
		refused("get "+what, g.modern(protocol.MethodTasksGet, named(guess)))
		refused("cancel "+what, g.modern(protocol.MethodTasksCancel, named(guess)))
		refused("update "+what, g.modern(protocol.MethodTasksUpdate, map[string]any{"taskId": guess, "inputResponses": answers}))
		for _, method := range []string{protocol.MethodTasksGet, protocol.MethodTasksCancel, protocol.MethodTasksResult} {
			refused("legacy "+method+" "+what, g.legacy(method, named(guess)))
		}
		a := g.send("listen "+what, http.MethodPost, g.url, headers(protocol.Revision20260728, protocol.MethodListen, ""), message(protocol.MethodListen, watched(guess)))
		if tried++; a.status != http.StatusOK || !strings.Contains(string(a.body), `"taskIds":[]`) || strings.Count(string(a.body), "event: message") != 2 {
			t.Errorf("listen %s: %d %.300s", what, a.status, a.body)
		}
	}

	// No strings, and more than any id: 10 MB are more than the gateway takes.
	huge := strings.Repeat("x", limits.MaxBody-2048)
	for what, raw := range map[string]string{
		"a number": "1", "null": "null", "true": "true", "an array": `["` + id + `"]`, "an object": `{"$ne":null}`, "absent": "", "a float": "1e3",
		"4 MB": `"` + huge + `"`, "5 MB": `"` + strings.Repeat("x", 5<<20) + `"`, "10 MB": `"` + strings.Repeat("x", 10<<20) + `"`,
	} {
		for _, method := range []string{protocol.MethodTasksGet, protocol.MethodTasksUpdate, protocol.MethodTasksCancel, protocol.MethodListen} {
			member := `"taskId":` + raw + `,`
			switch {
			case method == protocol.MethodListen:
				member = `"notifications":{"taskIds":` + raw + `},`
				if raw != "" && strings.ContainsAny(raw[:1], `"[`) { // a list of one
					member = `"notifications":{"taskIds":[` + raw + `]},`
				}
			case raw == "":
				member = ""
			}
			if raw == "" && method == protocol.MethodListen {
				continue
			}
			h := headers(protocol.Revision20260728, method, "")
			if method != protocol.MethodListen {
				h.Set(protocol.HeaderName, "x")
			}
			a := g.send(method+" "+what, http.MethodPost, g.url, h, `{"jsonrpc":"2.0","id":"q","method":"`+method+`","params":{`+member+`"inputResponses":{},"_meta":`+meta+`}}`)
			tried++
			switch {
			case len(raw) > limits.MaxBody:
				if a.status != http.StatusRequestEntityTooLarge {
					t.Errorf("%s %s: %d %.300s", method, what, a.status, a.body)
				}
			case method == protocol.MethodListen && raw[0] == '"': // acknowledged without it
				if a.status != http.StatusOK {
					t.Errorf("%s %s: %d %.300s", method, what, a.status, a.body)
				}
			case !oneOf(a.code(), -32602, -32020):
				t.Errorf("%s %s: %d %.300s", method, what, a.status, a.body)
			}
		}
		g.alive()
	}
	// An id that is too long for its header, mirrored in full.
	a := g.send("a huge header", http.MethodPost, g.url, headers(protocol.Revision20260728, protocol.MethodTasksGet, huge), message(protocol.MethodTasksGet, named(huge)))
	if tried++; a.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a huge header: %d", a.status)
	}
	if after := g.modern(protocol.MethodTasksGet, named(id)); string(after.body) != string(before.body) {
		t.Errorf("the task was moved from %s to %s", before.body, after.body)
	}
	t.Logf("%d ids", tried)
}

// TestAnswers answers what was never asked, in every shape that is none.
func TestAnswers(t *testing.T) { // R-U2, R-U6, R-U7
	g := attacked(t)
	id := g.task("ask")
	before := g.until(id, "input_required")
	for _, raw := range []string{
		`null`, `1`, `"who"`, `[]`, `[{"who":{}}]`, `{"who":null}`, `{"who":1}`, `{"who":"yes"}`, `{"who":[]}`, `{"who":{}}`, `{"who":{"action":1}}`,
		`{"who":{"action":"perhaps"}}`, `{"who":{"action":"accept","content":1}}`, `{"who":{"action":"accept","content":"` + strings.Repeat("x", limits.MaxAnswer) + `"}}`,
		`{"who":{"action":"accept\u0000"}}`, `{"who":{"Action":"accept"}}`,
	} {
		a := g.post("update", headers(protocol.Revision20260728, protocol.MethodTasksUpdate, id),
			`{"jsonrpc":"2.0","id":"q","method":"tasks/update","params":{"taskId":"`+id+`","inputResponses":`+raw+`,"_meta":`+meta+`}}`)
		if a.code() != -32602 || string(a.ID) != `"q"` {
			t.Errorf("%.100s: %d %.300s", raw, a.status, a.body)
		}
	}
	many := map[string]any{}
	for i := range 20_000 {
		many[fmt.Sprint("key ", i)] = map[string]string{"action": "accept"}
	}
	for _, ignored := range []map[string]any{{}, {"": 1}, {"WHO": 1}, {"who ": 1}, {"who\x00": 1}, {"__proto__": 1}, {"who~2": 1}, {"~round/1": 1}, many} {
		if a := g.modern(protocol.MethodTasksUpdate, map[string]any{"taskId": id, "inputResponses": ignored}); a.code() != 0 {
			t.Errorf("%.100v: %s", ignored, a.body)
		}
	}
	if after := g.modern(protocol.MethodTasksGet, named(id)); string(after.body) != string(before.body) {
		t.Errorf("the task was moved from %s to %s", before.body, after.body)
	}
	g.alive()
}

// An id is at least 122 random bits: no two of many are alike in more than chance.
func TestIDsAreNoCounter(t *testing.T) { // R-C3
	g := attacked(t)
	var last string
	for range 20 {
		id := g.task("ask")
		alike := 0
		for i := 0; i < len(last); i++ {
			if id[i] == last[i] {
				alike++
			}
		}
		if len(id) != 36 || !utf8.ValidString(id) || alike > 20 { // the dashes and the version are 5
			t.Errorf("%s after %s", id, last)
		}
		last = id
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(g.call("ask", words{}).Result, &raw); err != nil || raw["birth"] != nil || raw["owner"] != nil {
		t.Errorf("%v, %v", raw, err)
	}
}
