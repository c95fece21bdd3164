package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// check is one line of the suite's checks.json.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`

	Scenario string `json:"-"`
}

// baseline says what may fail, and why. A key is a scenario, or scenario/check.
type baseline map[string]string

// readBaseline reads a baseline for each revision.
func readBaseline(path string) (map[string]baseline, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := map[string]baseline{}
	if err := yaml.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for revision, b := range all {
		if !slices.ContainsFunc(suites, func(s suite) bool { return s.revision == revision }) {
			return nil, fmt.Errorf("%s: the scenarios of %s are not run", path, revision)
		}
		for key, reason := range b {
			if strings.TrimSpace(reason) == "" {
				return nil, fmt.Errorf("%s: %s has no reason", path, key)
			}
		}
	}
	return all, nil
}

// readChecks collects every checks.json below dir. The suite names each folder
// after the scenario and a time.
func readChecks(dir string) ([]check, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	var all []check
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var checks []check
		if err := json.Unmarshal(raw, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		scenario := scenarioOf(filepath.Base(filepath.Dir(file)))
		for _, c := range checks {
			c.Scenario = scenario
			all = append(all, c)
		}
	}
	return all, nil
}

// scenarioOf cuts the suite's prefix and timestamp off a folder's name:
// server-tasks-lifecycle-2026-12-01T04-00-00-000Z.
func scenarioOf(folder string) string {
	return timestamp.ReplaceAllString(strings.TrimPrefix(folder, "server-"), "")
}

var timestamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT.*$`)

// verdict is what the gate says.
type verdict struct {
	Counts   map[string]int // by status
	Tasks    int            // successes in the tasks-* scenarios
	Problems []string
}

// judge holds the checks against the baseline: a failure or a warning that it
// does not name is a problem, and so is an entry that nothing needs, and a
// scenario that was expected and left no checks. The suite's own exit code is
// no help: it ignores failures of the extension's scenarios.
func judge(checks []check, scenarios []string, b baseline) verdict {
	v := verdict{Counts: map[string]int{}}
	used, ran := map[string]bool{}, map[string]bool{}
	for _, c := range checks {
		ran[c.Scenario] = true
		v.Counts[c.Status]++
		switch c.Status {
		case "SUCCESS":
			if strings.HasPrefix(c.Scenario, "tasks-") {
				v.Tasks++
			}
		case "FAILURE", "WARNING":
			key := c.Scenario + "/" + c.ID
			if _, known := b[c.Scenario]; known {
				used[c.Scenario] = true
			} else if _, known := b[key]; known {
				used[key] = true
			} else {
				v.Problems = append(v.Problems, fmt.Sprintf("%s %s: %s", c.Status, key, c.ErrorMessage))
			}
		}
	}
	for key := range b {
		if scenario, _, _ := strings.Cut(key, "/"); !used[key] && slices.Contains(scenarios, scenario) {
			v.Problems = append(v.Problems, fmt.Sprintf("the baseline expects %s to fail and it does not: take the entry out", key))
		}
	}
	for _, s := range scenarios {
		if !ran[s] {
			v.Problems = append(v.Problems, fmt.Sprintf("the scenario %s did not run", s))
		}
	}
	slices.Sort(v.Problems)
	return v
}
