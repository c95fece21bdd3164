// Package callback makes the tokens by which the outside world answers a
// waiting task, and reads them back.
//
// A token says which callback of which task it is, so nothing is stored for it,
// and a tool that is replayed hands out the same one. Nobody else can make one:
// it is a MAC over task, birth and name, followed by these under a cipher whose
// nonce is that MAC. Who holds a token thus learns nothing of the task, whose
// id is all that an anonymous caller needs to read it.
package callback

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"toolhost/pkg/fault"
)

// Path is where callbacks arrive below a deployment's public URL; the token follows.
const Path = "/callbacks/"

// Callback names one callback of one task.
type Callback struct {
	TaskID string
	// Birth is the task's: a later task of the same id is another one.
	Birth string
	Name  string
}

// Keys make tokens, all with the first, and read those of any.
type Keys []pair

type pair struct {
	mac    []byte
	cipher cipher.Block
}

const (
	purpose  = "toolhost callback v1"
	leastKey = 16
	macSize  = aes.BlockSize // the MAC is the cipher's nonce
	keySize  = 32
)

// NewKeys derives keys from a deployment's secrets, the newest first.
// fault.Invalid if there is none, or one of fewer than 16 bytes.
func NewKeys(secrets [][]byte) (Keys, error) {
	const op = "callback.NewKeys"
	if len(secrets) == 0 {
		return nil, fault.New(fault.Invalid, op, "callbacks need a key")
	}
	var keys Keys
	for _, secret := range secrets {
		if len(secret) < leastKey {
			return nil, fault.New(fault.Invalid, op, "a key has at least %d bytes", leastKey)
		}
		derived, err := hkdf.Key(sha256.New, secret, nil, purpose, 2*keySize)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, op, err)
		}
		block, err := aes.NewCipher(derived[keySize:])
		if err != nil {
			return nil, fault.Wrap(fault.Internal, op, err)
		}
		keys = append(keys, pair{derived[:keySize], block})
	}
	return keys, nil
}

// Token is the right to answer c, as text that fits into a URL.
func (k Keys) Token(c Callback) string {
	text, err := json.Marshal([]string{c.TaskID, c.Birth, c.Name})
	if err != nil {
		panic(err) // strings always encode
	}
	mac := k[0].sum(text)
	k[0].crypt(text, mac)
	return base64.RawURLEncoding.EncodeToString(append(mac, text...))
}

// Open reads a token; false if none of the keys made it.
func (k Keys) Open(token string) (Callback, bool) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	// A token is spelled one way: the decoder ignores spare bits and line breaks.
	if err != nil || len(b) <= macSize || base64.RawURLEncoding.EncodeToString(b) != token {
		return Callback{}, false
	}
	mac := b[:macSize]
	for _, key := range k {
		text := append([]byte{}, b[macSize:]...)
		key.crypt(text, mac)
		var parts []string
		if hmac.Equal(mac, key.sum(text)) && json.Unmarshal(text, &parts) == nil && len(parts) == 3 {
			return Callback{TaskID: parts[0], Birth: parts[1], Name: parts[2]}, true
		}
	}
	return Callback{}, false
}

func (p pair) sum(text []byte) []byte {
	h := hmac.New(sha256.New, p.mac)
	h.Write(text)
	return h.Sum(nil)[:macSize]
}

// crypt hides text in place, or shows it again.
func (p pair) crypt(text, nonce []byte) { cipher.NewCTR(p.cipher, nonce).XORKeyStream(text, text) }
