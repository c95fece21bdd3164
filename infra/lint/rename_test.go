package lint

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README's lines give the module another name, and change nothing else: the
// renamed tree is whole, and what goes over the wire keeps its name.
func TestRename(t *testing.T) {
	if name := module(t); name != "toolhost" {
		t.Skipf("the module is %s: it has been renamed already", name)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile("(?s)```\n(go mod edit -module .*?)```").FindSubmatch(readme)
	if lines == nil {
		t.Fatal("the README does not say how to rename the module")
	}
	dir := t.TempDir()
	copyTree(t, dir)
	for _, command := range []string{string(lines[1]), "go list -deps -test ./...", "go vet ./pkg/tool/...", `test -z "$(gofmt -l .)"`, `test -z "$(find . -name '*.bak')"`, "grep -q '= \"toolhost/idempotencyKey\"' pkg/protocol/name.go"} {
		run := exec.Command("sh", "-ec", command)
		run.Dir = dir
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	out, err := exec.Command("grep", "-rlE", `"toolhost/(pkg|functions|infra)/`, "--include=*.go", dir).Output()
	if len(out) > 0 || err == nil {
		t.Errorf("the old name is left in\n%s", out)
	}
}

// copyTree copies what belongs to the project, but not what was built from it.
func copyTree(t *testing.T, to string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(name, ".") && name != "." || d.Name() == "node_modules" || name == "bin" {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
