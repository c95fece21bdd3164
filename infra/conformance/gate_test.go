package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolhost/infra/conformance/fixtures"
	"toolhost/pkg/tool"
)

func TestJudge(t *testing.T) {
	known := baseline{"prompts-list": "there are none", "caching/a": "there are none"}
	for _, c := range []struct {
		name     string
		checks   []check
		expected []string // scenarios that must have run
		problems string
	}{
		{"an expected failure is no problem",
			[]check{{Scenario: "prompts-list", ID: "x", Status: "FAILURE"}, {Scenario: "caching", ID: "a", Status: "WARNING"}}, nil, ""},
		{"a failure is", []check{{Scenario: "tools-list", ID: "x", Status: "FAILURE", ErrorMessage: "no list"}}, nil, "FAILURE tools-list/x: no list"},
		{"a warning is, too", []check{{Scenario: "caching", ID: "b", Status: "WARNING"}}, nil, "WARNING caching/b: "},
		{"an entry that nothing needs is", []check{{Scenario: "prompts-list", ID: "x", Status: "SUCCESS"}}, []string{"prompts-list"},
			"the baseline expects prompts-list to fail and it does not: take the entry out"},
		{"a scenario that did not run is", nil, []string{"tools-list"}, "the scenario tools-list did not run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(judge(c.checks, c.expected, known).Problems, "\n"); got != c.problems {
				t.Errorf("problems %q, want %q", got, c.problems)
			}
		})
	}
}

func TestListed(t *testing.T) {
	got := listed(`Required for 2026-07-28 (3 scenarios):

Server scenarios (test against a server):
  - tools-list
  - json-schema-2020-12

Client scenarios (test against a client):
  - tools_call

Run and reported, but never scored:
  extension (2):
    - auth/dpop [client]
    - tasks-lifecycle [server]
`)
	if want := []string{"json-schema-2020-12", "tasks-lifecycle", "tools-list"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadChecks(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"server-json-schema-2020-12-2026-12-01T04-00-00-000Z", "server-tools-list-2026-12-01T04-00-00-000Z"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, "checks.json"), []byte(`[{"id":"a","status":"SUCCESS"}]`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	checks, err := readChecks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(checks) != 2 || checks[0].Scenario != "json-schema-2020-12" || checks[1].Scenario != "tools-list" {
		t.Errorf("got %+v", checks)
	}
}

func TestReadBaseline(t *testing.T) {
	if _, err := readBaseline("baseline.yaml"); err != nil {
		t.Error(err)
	}
	for name, bad := range map[string]string{
		"an entry without a reason":  "\"2026-07-28\":\n  tools-list:\n",
		"a revision that is not run": "\"2024-11-05\":\n  tools-list: there are none\n",
	} {
		file := filepath.Join(t.TempDir(), "baseline.yaml")
		if err := os.WriteFile(file, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readBaseline(file); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// The suite calls whatever is listed first, without arguments.
func TestFirstFixture(t *testing.T) {
	first := fixtures.Registry().Tools()[0]
	o := first.Run(context.Background(), tool.Call{Name: first.Name()})
	if first.Options().Task != tool.Never || o.Kind != tool.Done || o.ToolError {
		t.Errorf("%s: %+v", first.Name(), o)
	}
}
