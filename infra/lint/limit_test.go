package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"toolhost/pkg/config"
	"toolhost/pkg/limits"
)

// The README's table of limits has the numbers and variables that the code has,
// all of them, and the words in which the code refuses.
func TestReadmeLimits(t *testing.T) {
	want := []struct {
		value    any
		variable string
	}{
		{limits.MaxBody, "TOOLHOST_MAX_BODY"},
		{limits.MaxArguments, "TOOLHOST_MAX_ARGUMENTS"},
		{limits.MaxJSONDepth, ""},
		{limits.MaxResult, "TOOLHOST_MAX_RESULT"},
		{limits.MaxAnswer, "TOOLHOST_MAX_ANSWER"},
		{limits.MaxQuestions, ""},
		{limits.MaxRounds, ""},
		{limits.MaxRequestState, ""},
		{limits.MaxSteps, ""},
		{limits.MaxStep, ""},
		{limits.MaxOpenTasks, "TOOLHOST_MAX_OPEN_TASKS"},
		{limits.MaxCreations, "TOOLHOST_MAX_CREATIONS"},
		{limits.PollRate, "TOOLHOST_POLL_RATE"},
		{limits.MaxListen, "TOOLHOST_MAX_LISTEN"},
		{limits.MaxWatched, ""},
		{limits.PageSize, ""},
		{limits.MaxBatch, ""},
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Limits\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| (.+) \| (\w+) \| (?:`+"`(\\w+)`"+` )?\| (.+) \|$`).FindAllStringSubmatch(section, -1)
	if len(rows) != len(want) {
		t.Fatalf("the table has %d rows, want %d", len(rows), len(want))
	}
	var code strings.Builder
	sources(t, func(path string, text []byte) {
		if strings.HasPrefix(path, "pkg/") && !strings.HasSuffix(path, "_test.go") {
			code.Write(text)
		}
	})
	words := regexp.MustCompile(": `([^`]+)`")
	var variables []string
	for i, row := range rows {
		if row[2] != fmt.Sprint(want[i].value) || row[3] != want[i].variable {
			t.Errorf("%s: the table says %s and %q, the code %v and %q", row[1], row[2], row[3], want[i].value, want[i].variable)
		}
		variables = append(variables, row[3])
		said := words.FindStringSubmatch(row[4])
		if refuses := !strings.HasPrefix(row[4], "it ends") && !strings.HasPrefix(row[4], "the rest"); refuses != (said != nil) {
			t.Errorf("%s: how it refuses is not said: %s", row[1], row[4])
		} else if refuses && !strings.Contains(code.String(), said[1]) {
			t.Errorf("%s: nothing in pkg says %q", row[1], said[1])
		}
	}
	for _, v := range config.Variables {
		if limit := strings.HasPrefix(v.Name, "TOOLHOST_MAX_") || v.Name == "TOOLHOST_POLL_RATE"; limit && !slices.Contains(variables, v.Name) {
			t.Errorf("the table leaves %s out", v.Name)
		}
	}
}
