package server

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"toolhost/pkg/fault"
)

// sealer hides and protects what a client keeps for us: AES-256-GCM under keys
// derived from the server's, for this purpose alone (R-H9). The first key seals,
// all of them open, so that keys can rotate.
type sealer []cipher.AEAD

const (
	sealPurpose = "toolhost requestState v1"
	leastKey    = 16
)

func newSealer(keys [][]byte) (sealer, error) {
	const op = "server.New"
	if len(keys) == 0 {
		return nil, fault.New(fault.Invalid, op, "a server needs a key")
	}
	var s sealer
	for _, key := range keys {
		if len(key) < leastKey {
			return nil, fault.New(fault.Invalid, op, "a key has at least %d bytes", leastKey)
		}
		derived, err := hkdf.Key(sha256.New, key, nil, sealPurpose, 32)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, op, err)
		}
		block, err := aes.NewCipher(derived)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, op, err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, op, err)
		}
		s = append(s, aead)
	}
	return s, nil
}

// seal makes a text of secret that opens only with the same context.
func (s sealer) seal(secret, context []byte) string {
	return base64.RawURLEncoding.EncodeToString(s[0].Seal(nil, nil, secret, context)) // #nosec G407 -- the AEAD makes its own nonce
}

// open is what was sealed with the context; false if it was not, or was changed.
func (s sealer) open(sealed string, context []byte) ([]byte, bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || strings.ContainsAny(sealed, "\r\n") { // which the decoder skips
		return nil, false
	}
	for _, aead := range s {
		if secret, err := aead.Open(nil, nil, b, context); err == nil {
			return secret, true
		}
	}
	return nil, false
}
