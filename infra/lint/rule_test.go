package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whoever meets a rule's id or an invariant's number in the code finds in
// pkg/README.md what that is.
func TestRules(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "pkg/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, said, _ := strings.Cut(string(readme), "\n## Invariants\n")
	said, _, _ = strings.Cut(said, "\n## Decisions\n")
	named := regexp.MustCompile(`\bR-([A-Z]+)\d+\b|\binvariants? (\d+)\b`)
	sources(t, func(path string, text []byte) {
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			if m[1] != "" && !strings.Contains(said, "| `"+m[1]+"` |") {
				t.Errorf("%s names the rule %s, and pkg/README.md does not say what %s stands for", path, m[0], m[1])
			}
			if m[2] != "" && !strings.Contains(said, "\n"+m[2]+". **") {
				t.Errorf("%s names %s, which pkg/README.md does not have", path, m[0])
			}
		}
	})
}
