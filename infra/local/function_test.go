package local

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"testing"

	"toolhost/pkg/clock"
)

// The event.json beside each function, for `sam local invoke`, is one that the
// function takes.
func TestEvents(t *testing.T) {
	s := start(t, Options{Registry: newFixture().reg})
	f, err := open(t.Context(), Options{Registry: newFixture().reg, Clock: clock.System, Log: quiet,
		Environment: map[string]string{"TOOLHOST_HOSTS": ""}}, s.Services, "")
	if err != nil {
		t.Fatal(err)
	}
	event := func(t *testing.T, name string) []byte {
		raw, err := os.ReadFile("../../functions/" + name + "/event.json")
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for name, c := range map[string]struct {
		function function
		body     string
	}{"mcp": {f.mcp, `"greet"`}, "tasks": {f.tasks, `-32602`}} {
		t.Run(name, func(t *testing.T) {
			a, err := c.function(t.Context(), event(t, name))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			all, err := io.ReadAll(a)
			if err != nil || !bytes.HasPrefix(all, []byte(`{"statusCode":200,`)) || !bytes.Contains(all, []byte(c.body)) {
				t.Errorf("%s, %v", all, err)
			}
		})
	}
	for name, invoke := range map[string]func([]byte) ([]byte, error){
		"worker":     func(e []byte) ([]byte, error) { return f.worker(t.Context(), e) },
		"deadletter": func(e []byte) ([]byte, error) { return f.deadLetter(t.Context(), e) },
	} {
		t.Run(name, func(t *testing.T) {
			out, err := invoke(event(t, name))
			var answer map[string][]any
			if err != nil || json.Unmarshal(out, &answer) != nil || len(answer["batchItemFailures"]) != 0 || answer["batchItemFailures"] == nil {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
}

// An answer stays what it is when the next one is given: of invocations at once,
// each gets its own (R-V3).
func TestInvoked(t *testing.T) {
	echo := invoked(func(_ context.Context, text string) (string, error) { return text, nil })
	var answers [][]byte
	for i := range 100 {
		answer, err := echo(t.Context(), []byte(strconv.Quote(strconv.Itoa(i))))
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer)
	}
	for i, answer := range answers {
		want(t, "an answer", string(answer), strconv.Quote(strconv.Itoa(i)))
	}
}
