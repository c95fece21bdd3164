package lint

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository, seen from this package.
const root = "../.."

// long are files of more than 500 lines, each with the reason.
var long = map[string]string{}

const mostLines = 500

// sources calls do with each Go file of the repository.
func sources(t *testing.T, do func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		do(filepath.ToSlash(name), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if n := bytes.Count(text, []byte("\n")); n > mostLines && long[path] == "" {
			t.Errorf("%s has %d lines: split it, or give a reason in this test", path, n)
		} else if n <= mostLines && long[path] != "" {
			t.Errorf("%s is no longer long: drop its exception", path)
		}
		formatted, err := format.Source(text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if !bytes.Equal(formatted, text) {
			t.Errorf("%s is not formatted: gofmt -w %s", path, path)
		}
	})
}

// A package of more than one file says in doc.go what it promises.
func TestDocumentation(t *testing.T) {
	files, documented := map[string]int{}, map[string]bool{}
	sources(t, func(path string, text []byte) {
		dir := filepath.Dir(path)
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		files[dir]++
		if bytes.HasPrefix(text, []byte("// Package ")) && filepath.Base(path) == "doc.go" || bytes.HasPrefix(text, []byte("// Command ")) {
			documented[dir] = true
		}
	})
	for dir, n := range files {
		if n > 1 && !documented[dir] {
			t.Errorf("%s has %d files and no doc.go", dir, n)
		}
	}
}
