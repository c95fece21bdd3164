package server

import (
	"bytes"
	"encoding/base64"
	"testing"
)

// R-H9
func TestSeal(t *testing.T) {
	key := func(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }
	sealers := func(keys ...[]byte) sealer {
		s, err := newSealer(keys)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	old, rotated, other := sealers(key(1)), sealers(key(2), key(1)), sealers(key(3))
	secret, context := []byte("answers so far"), []byte("caller, tool, arguments")
	sealed := old.seal(secret, context)

	t.Run("it opens with its key and its context alone", func(t *testing.T) {
		if got, ok := old.open(sealed, context); !ok || !bytes.Equal(got, secret) {
			t.Errorf("%q, %v", got, ok)
		}
		if _, ok := old.open(sealed, []byte("another call")); ok {
			t.Error("opened for another call")
		}
		if _, ok := other.open(sealed, context); ok {
			t.Error("opened under another key")
		}
	})
	t.Run("line breaks are a change like any other", func(t *testing.T) { // R-H9
		for _, changed := range []string{sealed + "\n", sealed[:9] + "\r\n" + sealed[9:]} {
			if _, ok := old.open(changed, context); ok {
				t.Errorf("%q was opened", changed)
			}
		}
	})
	t.Run("keys rotate: the first seals, all open", func(t *testing.T) {
		if _, ok := rotated.open(sealed, context); !ok {
			t.Error("the old key was forgotten")
		}
		if _, ok := old.open(rotated.seal(secret, context), context); ok {
			t.Error("the old key still seals")
		}
	})
	t.Run("a changed byte anywhere closes it", func(t *testing.T) {
		raw, err := base64.RawURLEncoding.DecodeString(sealed)
		if err != nil {
			t.Fatal(err)
		}
		for i := range raw {
			raw[i] ^= 1
			if _, ok := old.open(base64.RawURLEncoding.EncodeToString(raw), context); ok {
				t.Fatalf("byte %d", i)
			}
			raw[i] ^= 1
		}
		for _, s := range []string{"", "A", "====", sealed[:20], sealed + "A", "é"} {
			if _, ok := old.open(s, context); ok {
				t.Errorf("%q was opened", s)
			}
		}
	})
	t.Run("it shows nothing, and is never the same twice", func(t *testing.T) {
		if sealed == old.seal(secret, context) {
			t.Error("the same seal twice")
		}
		raw, _ := base64.RawURLEncoding.DecodeString(sealed)
		if bytes.Contains(raw, secret) {
			t.Error("the secret shows")
		}
	})
	t.Run("a short key or none is refused", func(t *testing.T) {
		for _, keys := range [][][]byte{nil, {[]byte("short")}, {key(1), nil}} {
			if _, err := newSealer(keys); err == nil {
				t.Errorf("%v was taken", keys)
			}
		}
	})
}

// Nothing opens but what was sealed here (R-H9).
func FuzzSealed(f *testing.F) {
	s, err := newSealer([][]byte{bytes.Repeat([]byte{1}, 32)})
	if err != nil {
		f.Fatal(err)
	}
	sealed := s.seal([]byte("answers so far"), nil)
	f.Add(sealed[1:], "")
	f.Add(sealed, "another call")
	f.Fuzz(func(t *testing.T, state, context string) {
		if _, ok := s.open(state, []byte(context)); ok {
			t.Errorf("%q was opened", state)
		}
	})
}
