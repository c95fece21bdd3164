package config

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// KeySize is the least size of a key in bytes.
const KeySize = 32

// Keys are a deployment's secrets.
type Keys struct {
	// Rotating protect what others keep for the server, the newest first: the
	// first protects, all are accepted.
	Rotating [][]byte
	// Lasting makes the ids of idempotent calls. It stays when the others rotate.
	Lasting []byte
}

// ParseKeys reads keys from a plain string or a JSON object, as the package's
// documentation describes. Its errors never show any of them.
func ParseKeys(s string) (Keys, error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") {
		if len(s) < KeySize {
			return Keys{}, fmt.Errorf("is a key of fewer than %d characters", KeySize)
		}
		return Keys{Rotating: [][]byte{[]byte(s)}, Lasting: []byte(s)}, nil
	}
	var given struct {
		Rotating []string `json:"rotating"`
		Lasting  string   `json:"lasting"`
	}
	if err := json.Unmarshal([]byte(s), &given); err != nil {
		return Keys{}, errors.New("is not a JSON object of rotating, a list of strings, and lasting, a string")
	}
	if len(given.Rotating) == 0 {
		return Keys{}, errors.New("has no rotating keys")
	}
	var keys Keys
	for i, text := range given.Rotating {
		key, ok := decodeKey(text)
		if !ok {
			return Keys{}, fmt.Errorf("has a rotating key %d that is not base64 of at least %d bytes", i+1, KeySize)
		}
		keys.Rotating = append(keys.Rotating, key)
	}
	var ok bool
	if keys.Lasting, ok = decodeKey(given.Lasting); !ok {
		return Keys{}, fmt.Errorf("has no lasting key that is base64 of at least %d bytes", KeySize)
	}
	return keys, nil
}

func decodeKey(text string) ([]byte, bool) {
	key, err := base64.StdEncoding.DecodeString(text)
	return key, err == nil && len(key) >= KeySize
}
