package tool_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"toolhost/pkg/limits"
)

// The defaults that the documentation of Options names are those that it has.
func TestOptionsDocumentation(t *testing.T) {
	source, err := os.ReadFile("options.go")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\s*\n\t*// `).ReplaceAllString(string(source), " ")
	for _, want := range []string{
		fmt.Sprintf("waiting included: %v hours.", limits.TTL.Hours()),
		fmt.Sprintf("after its end: %v hours.", limits.Retention.Hours()),
		fmt.Sprintf("grows from %v second up to MaxPollInterval, %v seconds.", limits.PollInterval.Seconds(), limits.MaxPollInterval.Seconds()),
		fmt.Sprintf("asks for a retry: %v times.", limits.Attempts),
		fmt.Sprintf("good for %v hour.", limits.RequestStateTTL.Hours()),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("options.go does not say %q", want)
		}
	}
}
