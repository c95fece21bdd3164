package lint

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README's tool, put where the README says, is one that the tests of this
// deployment accept, without a change to them.
func TestReadmeTool(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)`functions/tools/(\\w+.go)`:\n\n```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d files of functions/tools were found, want the tool's and tools.go", len(blocks))
	}
	folder, err := filepath.Abs(filepath.Join(root, "functions/tools"))
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(folder, "tools.go"))
	if err != nil {
		t.Fatal(err)
	}
	before, added, _ := strings.Cut(blocks[1][2], "\n")
	if !strings.Contains(string(list), before+"\n") {
		t.Fatalf("tools.go has no line %q", before)
	}
	dir, replace := t.TempDir(), map[string]string{}
	for name, text := range map[string]string{
		blocks[0][1]: strings.ReplaceAll(blocks[0][2], `"toolhost`+"/", `"`+module(t)+"/"),
		"tools.go":   strings.Replace(string(list), before+"\n", before+"\n"+added, 1),
	} {
		replace[filepath.Join(folder, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	test := exec.Command("go", "test", "-overlay", file, "-run", "^TestRegistry$", "./functions/tools")
	test.Dir = root
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
