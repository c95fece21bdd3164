package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"toolhost/functions/tools"
	"toolhost/pkg/client"
)

// The README's commands are commands, with flags that there are and files that
// are where it says.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?:go run \./infra/toolhost|\btoolhost) ((?:dev|emulate|tools|call|watch|answer|cancel)\b[^\n`+"`"+`]*)`).FindAllStringSubmatch(string(readme), -1)
	if len(commands) < 4 {
		t.Fatalf("only %d commands were found", len(commands))
	}
	for _, c := range commands {
		t.Run(c[1], func(t *testing.T) { checkCommand(t, c[1]) })
	}
}

// What dev suggests works, too.
func TestSuggestions(t *testing.T) {
	for _, command := range suggestions {
		t.Run(command, func(t *testing.T) { checkCommand(t, command) })
	}
}

func checkCommand(t *testing.T, command string) {
	t.Helper()
	line, _, _ := strings.Cut(command, " > ")
	var c cli
	if _, err := c.parser(&terminal{}, func(int) {}).Parse(strings.Fields(line)); err != nil {
		t.Errorf("%s: %v", command, err)
		return
	}
	if len(c.Call.Rest) == 0 {
		return
	}
	listed, known := tools.Registry().Lookup(c.Call.Rest[0])
	if !known {
		t.Errorf("%s: there is no such tool", command)
		return
	}
	var tool client.Tool
	if err := json.Unmarshal(listed.ListEntry(), &tool); err != nil {
		t.Fatal(err)
	}
	schema, err := readSchema(tool.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	given, err := parseFlags(toolFlags(schema, c.Call.flags(&c.URL, new(bool))), c.Call.Rest[1:])
	if err != nil {
		t.Errorf("%s: %v", command, err)
		return
	}
	t.Chdir("../..")
	arguments, err := (&terminal{}).arguments(schema, c.Call.Args, given)
	if err == nil {
		err = listed.Validate(arguments)
	}
	if err != nil {
		t.Errorf("%s: %v", command, err)
	}
}
