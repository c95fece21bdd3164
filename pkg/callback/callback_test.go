package callback_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"toolhost/pkg/callback"
	"toolhost/pkg/fault"
)

func keys(t testing.TB, secrets ...string) callback.Keys {
	t.Helper()
	var all [][]byte
	for _, s := range secrets {
		all = append(all, []byte(strings.Repeat(s, 32)))
	}
	k, err := callback.NewKeys(all)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var built = callback.Callback{TaskID: "786512e2-9e0d-44bd-8f29-789f320fe840", Birth: "a1c9d1a4-8a7e-4f0c-9a3e-0d6f2b1c7e55", Name: "built"}

func TestToken(t *testing.T) {
	k := keys(t, "a")
	token := k.Token(built)
	t.Run("opens_to_what_it_was_made_of", func(t *testing.T) {
		for _, c := range []callback.Callback{built, {}, {TaskID: "x", Birth: `"],["`, Name: "das Ergebnis / é"}} {
			if got, ok := k.Open(k.Token(c)); !ok || got != c {
				t.Errorf("got %+v, %v; want %+v", got, ok, c)
			}
		}
	})
	t.Run("is_the_same_on_replay_and_in_another_process", func(t *testing.T) {
		if keys(t, "a").Token(built) != token {
			t.Error("it differs")
		}
	})
	t.Run("differs_with_each_of_its_parts", func(t *testing.T) {
		seen := map[string]bool{token: true}
		for _, change := range []func(*callback.Callback){
			func(c *callback.Callback) { c.TaskID = "another" },
			func(c *callback.Callback) { c.Birth = "another" },
			func(c *callback.Callback) { c.Name = "another" },
			func(c *callback.Callback) { c.TaskID, c.Birth = c.Birth, c.TaskID },
		} {
			c := built
			change(&c)
			if other := k.Token(c); seen[other] {
				t.Errorf("%+v has the token of another", c)
			} else {
				seen[other] = true
			}
		}
	})
	t.Run("hides_the_task", func(t *testing.T) {
		raw, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil || bytes.Contains(raw, []byte(built.TaskID[:4])) || bytes.Contains(raw, []byte(built.Name)) {
			t.Errorf("%q, %v", raw, err)
		}
	})
	t.Run("is_short_and_needs_no_escapes_in_a_URL", func(t *testing.T) {
		longest := built
		longest.Name = strings.Repeat("n", 128)
		if n := len(k.Token(longest)); n > 320 {
			t.Errorf("%d characters", n)
		}
		if strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Error(token)
		}
	})
}

func TestForgery(t *testing.T) {
	k := keys(t, "a")
	token := k.Token(built)
	t.Run("any_character_changed_is_refused", func(t *testing.T) {
		for i := range token {
			for _, c := range "AZaz09-_=%é" {
				if forged := token[:i] + string(c) + token[i+1:]; forged != token {
					if got, ok := k.Open(forged); ok {
						t.Errorf("character %d as %q opens to %+v", i, c, got)
					}
				}
			}
		}
	})
	t.Run("any_bit_changed_is_refused", func(t *testing.T) {
		raw, _ := base64.RawURLEncoding.DecodeString(token)
		for i := range len(raw) * 8 {
			raw[i/8] ^= 1 << (i % 8)
			if got, ok := k.Open(base64.RawURLEncoding.EncodeToString(raw)); ok {
				t.Errorf("bit %d opens to %+v", i, got)
			}
			raw[i/8] ^= 1 << (i % 8)
		}
	})
	t.Run("cut_and_lengthened_ones_are_refused", func(t *testing.T) {
		for i := range token {
			if _, ok := k.Open(token[:i]); ok {
				t.Errorf("its first %d characters open", i)
			}
		}
		for _, forged := range []string{token + "A", token + "=", " " + token, token + "\n", token + token} {
			if _, ok := k.Open(forged); ok {
				t.Errorf("%q opens", forged)
			}
		}
	})
}

// Keys rotate: the first makes, all read.
func TestRotation(t *testing.T) {
	before, after, without := keys(t, "a"), keys(t, "b", "a"), keys(t, "b")
	old, fresh := before.Token(built), after.Token(built)
	if old == fresh {
		t.Error("the new key makes the old token")
	}
	for name, c := range map[string]struct {
		keys  callback.Keys
		token string
		opens bool
	}{
		"old by both":       {after, old, true},
		"new by both":       {after, fresh, true},
		"new by the new":    {without, fresh, true},
		"old by the new":    {without, old, false},
		"new by the old":    {before, fresh, false},
		"old by a stranger": {keys(t, "c"), old, false},
	} {
		if got, ok := c.keys.Open(c.token); ok != c.opens || ok && got != built {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

func TestNewKeys(t *testing.T) {
	for name, secrets := range map[string][][]byte{"none": nil, "a short one": {make([]byte, 32), make([]byte, 15)}} {
		if _, err := callback.NewKeys(secrets); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	k := keys(f, "a")
	f.Add(k.Token(built))
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		if c, ok := k.Open(token); ok && k.Token(c) != token {
			t.Errorf("%q opens to %+v", token, c)
		}
	})
}
