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

// ParseKeys reads keys, newest first, from a plain string or a JSON list of
// base64 strings. Its errors never show any of them.
func ParseKeys(s string) ([][]byte, error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "[") {
		if len(s) < KeySize {
			return nil, fmt.Errorf("is a key of fewer than %d characters", KeySize)
		}
		return [][]byte{[]byte(s)}, nil
	}
	var list []string
	if err := json.Unmarshal([]byte(s), &list); err != nil {
		return nil, errors.New("is not a JSON list of strings")
	}
	if len(list) == 0 {
		return nil, errors.New("is an empty list")
	}
	keys := make([][]byte, len(list))
	for i, text := range list {
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(key) < KeySize {
			return nil, fmt.Errorf("has a key %d that is not base64 of at least %d bytes", i+1, KeySize)
		}
		keys[i] = key
	}
	return keys, nil
}
