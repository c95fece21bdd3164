package local

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"toolhost/pkg/fault"
)

// keys is the deployment's secret: a fresh one, or that of the directory, so
// that what was sealed before a restart still opens.
func keys(dir string) (string, error) {
	fresh := rand.Text() + rand.Text()
	if dir == "" {
		return fresh, nil
	}
	file := filepath.Join(dir, "keys")
	switch kept, err := os.ReadFile(file); {
	case err == nil:
		return strings.TrimSpace(string(kept)), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fault.Wrap(fault.Internal, "local.Start", err)
	}
	if err := os.WriteFile(file, []byte(fresh+"\n"), 0o600); err != nil {
		return "", fault.Wrap(fault.Internal, "local.Start", err)
	}
	return fresh, nil
}
