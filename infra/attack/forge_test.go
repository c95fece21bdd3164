package attack

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"hash"
	"maps"
	"testing"
)

// forger writes tokens by hand: whatever a library would refuse to write.
type forger struct {
	t   *testing.T
	key *ecdsa.PrivateKey
	kid string
}

func segment(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	must(t, err)
	return raw
}

// of is a token of a head and a payload, both as they are, signed by ES256.
func (f forger) of(head, payload string) string {
	f.t.Helper()
	signed := segment([]byte(head)) + "." + segment([]byte(payload))
	return signed + "." + segment(f.sign(f.key, signed))
}

func (f forger) sign(key *ecdsa.PrivateKey, text string) []byte {
	f.t.Helper()
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	must(f.t, err)
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signature
}

// head is a good head with some members changed; nil takes one out.
func (f forger) head(changes map[string]any) string {
	f.t.Helper()
	return string(encoded(f.t, changed(map[string]any{"alg": "ES256", "typ": "at+jwt", "kid": f.kid}, changes)))
}

// mac is a token whose signature is a MAC.
func (f forger) mac(alg, payload string, secret []byte) string {
	f.t.Helper()
	signed := segment([]byte(f.head(map[string]any{"alg": alg}))) + "." + segment([]byte(payload))
	hashes := map[string]func() hash.Hash{"HS384": sha512.New384, "HS512": sha512.New}
	h := hashes[alg]
	if h == nil {
		h = sha256.New
	}
	m := hmac.New(h, secret)
	m.Write([]byte(signed))
	return signed + "." + segment(m.Sum(nil))
}

func changed(all, changes map[string]any) map[string]any {
	out := maps.Clone(all)
	for name, value := range changes {
		if value == nil {
			delete(out, name)
		} else {
			out[name] = value
		}
	}
	return out
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}
