package lint

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/licensecheck"
)

// permissive are the licences that a dependency may have: whoever deploys a tool
// gives the binary on, and owes nobody its source.
var permissive = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "Unlicense", "0BSD"}

// copyleft is what no dependency's text may hold, in whatever part.
var copyleft = regexp.MustCompile(`^(A|L)?GPL|^MPL|^SSPL|^BUSL|^EPL|^CC-BY-(NC|SA)`)

// Every module has a licence text that is known, and permissive. One that only
// tests use is not given on: it may ask for its own files' source (MPL).
func TestLicences(t *testing.T) {
	built := modules(t, "./...")
	for path, dir := range modules(t, "-test", "./...") {
		found := licences(t, dir)
		if built[path] == "" && slices.Equal(found, []string{"MPL-2.0"}) {
			continue
		}
		if !slices.ContainsFunc(found, func(id string) bool { return slices.Contains(permissive, id) }) || slices.ContainsFunc(found, copyleft.MatchString) {
			t.Errorf("%s has the licences %v; permissive ones are %v", path, found, permissive)
		}
	}
}

// modules are the folders of the modules that packages need, by path.
func modules(t *testing.T, arguments ...string) map[string]string {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-deps", "-json=Module"}, arguments...)...)
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for d := json.NewDecoder(out); ; {
		var p struct {
			Module *struct {
				Path, Dir string
				Main      bool
			}
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && !p.Module.Main {
			found[p.Module.Path] = p.Module.Dir
		}
	}
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(found) < 20 {
		t.Fatalf("only %d modules were seen", len(found))
	}
	return found
}

// licences are the SPDX ids of the licence texts at the top of a module.
func licences(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "[LC][IO][CP][EY]*")) // LICENSE, LICENCE.txt, COPYING
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range licensecheck.Scan(text).Match {
			ids = append(ids, m.ID)
		}
	}
	return ids
}
