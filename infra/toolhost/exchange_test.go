package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// The README's "One call, end to end" is what happens: its commands, sent to a
// local stack one after the other, get the answers that it shows.
func TestReadmeExchange(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## One call, end to end\n")
	section, _, _ = strings.Cut(section, "\n## ")
	meta := regexp.MustCompile(`(?m)^META='(.*)'$`).FindStringSubmatch(section)
	if meta == nil {
		t.Fatal("META is not there")
	}
	shell := map[string]string{"META": meta[1]}
	var get, answer string
	var shown int
	for _, block := range regexp.MustCompile("(?s)```(sh|json)\n(.*?)```").FindAllStringSubmatch(section, -1) {
		if block[1] == "sh" {
			if strings.Contains(block[2], "Mcp-Method: tasks/get") {
				get = block[2]
			} else {
				answer = curl(t, block[2], shell)
			}
			continue
		}
		want := parse(t, block[2])
		if answer == "" { // a get shows what becomes of the task
			if err := until(toolsURL(), want["status"].(string), shell["TASK"]); err != nil {
				t.Fatal(err)
			}
			answer = curl(t, get, shell)
		}
		got := parse(t, answer)
		if !shows(want, got) {
			t.Errorf("the README shows\n%s\nbut the answer is\n%s", block[2], answer)
		}
		if id, made := got["taskId"].(string); made {
			shell["TASK"] = id
		}
		answer, shown = "", shown+1
	}
	if shown != 4 {
		t.Errorf("%d answers were found", shown)
	}
}

// parse is the result in an answer.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var answer struct{ Result map[string]any }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Result == nil {
		t.Fatalf("this is no result: %v\n%s", err, text)
	}
	return answer.Result
}

// curl does what a curl of the README does, to the local stack.
func curl(t *testing.T, command string, shell map[string]string) string {
	t.Helper()
	_, body, _ := strings.Cut(command, "<<END\n")
	body, _, whole := strings.Cut(body, "\nEND\n")
	if !whole || !strings.Contains(command, "curl -s "+defaultURL+" ") {
		t.Fatalf("this is no curl of %s with a body:\n%s", defaultURL, command)
	}
	expand := func(s string) string { return os.Expand(s, func(name string) string { return shell[name] }) }
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, toolsURL(), strings.NewReader(expand(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range regexp.MustCompile(`-H ['"]([^:]+): ([^'"]+)['"]`).FindAllStringSubmatch(command, -1) {
		request.Header.Set(header[1], expand(header[2]))
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// shows reports whether a text that may leave members out, and has … for what
// may be anything, is right about a value.
func shows(want, got any) bool {
	switch want := want.(type) {
	case string:
		text, ok := got.(string)
		begin, open := strings.CutSuffix(want, "…")
		return ok && (text == want || open && strings.HasPrefix(text, begin))
	case map[string]any:
		object, ok := got.(map[string]any)
		for name, member := range want {
			if value, there := object[name]; !there || !shows(member, value) {
				return false
			}
		}
		return ok
	case []any:
		list, ok := got.([]any)
		for i := range want {
			if i >= len(list) || !shows(want[i], list[i]) {
				return false
			}
		}
		return ok && len(want) == len(list)
	}
	return reflect.DeepEqual(want, got)
}
