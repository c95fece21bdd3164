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
	switch kept, err := os.ReadFile(file); { // #nosec G304 -- a file of the user's own
	case err == nil:
		return strings.TrimSpace(string(kept)), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", fault.Wrap(fault.Internal, "local.Start", err)
	}
	// A process that dies while it writes leaves no half of a key under the name.
	part := file + ".new"
	err := os.WriteFile(part, []byte(fresh+"\n"), 0o600)
	if err == nil {
		err = os.Rename(part, file)
	}
	return fresh, fault.Wrap(fault.Internal, "local.Start", err)
}
