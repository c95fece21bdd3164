// Package authtest has an authorization server for tests: it publishes its
// metadata and keys over HTTP, and signs whatever token a test wants.
package authtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Issuer is an authorization server at URL.
type Issuer struct {
	URL string
	// Fetches counts how often its keys were fetched; Down makes it answer 500.
	Fetches atomic.Int32
	Down    atomic.Bool

	t    *testing.T
	mu   sync.Mutex
	keys []jose.JSONWebKey // the last one signs
	made int
}

// New starts an issuer with one key. It ends with the test.
func New(t *testing.T) *Issuer {
	t.Helper()
	i := &Issuer{t: t}
	s := httptest.NewServer(i)
	t.Cleanup(s.Close)
	i.URL = s.URL
	i.Rotate(true)
	return i
}

// Rotate makes a new key, which signs from now on. keep says whether the former
// ones stay published.
func (i *Issuer) Rotate(keep bool) {
	i.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if !keep {
		i.keys = nil
	}
	i.made++
	i.keys = append(i.keys, jose.JSONWebKey{Key: key, KeyID: fmt.Sprint("key ", i.made), Algorithm: string(jose.ES256), Use: "sig"})
}

// Rename gives the key that signs another id; "" is none.
func (i *Issuer) Rename(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[len(i.keys)-1].KeyID = id
}

// Key is the key that signs, its secret part included.
func (i *Issuer) Key() jose.JSONWebKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[len(i.keys)-1]
}

// Claims are those of a good token of a caller for a resource: an hour from now on
// by the machine's clock. A test changes them as it likes.
func (i *Issuer) Claims(subject, resource, scope string) map[string]any {
	now := time.Now()
	return map[string]any{
		"iss": i.URL, "sub": subject, "aud": resource, "client_id": "client", "scope": scope,
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
}

// Sign makes a token of the claims.
func (i *Issuer) Sign(claims map[string]any) string {
	i.t.Helper()
	key := i.Key()
	options := (&jose.SignerOptions{}).WithType("at+jwt")
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, options)
	if err != nil {
		i.t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		i.t.Fatal(err)
	}
	return token
}

// Token is a good token of a caller for a resource.
func (i *Issuer) Token(subject, resource, scope string) string {
	return i.Sign(i.Claims(subject, resource, scope))
}

// ServeHTTP implements http.Handler.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if i.Down.Load() {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	var document any
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		document = map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys"}
	case "/keys":
		i.Fetches.Add(1)
		i.mu.Lock()
		set := jose.JSONWebKeySet{}
		for _, k := range i.keys {
			set.Keys = append(set.Keys, k.Public())
		}
		i.mu.Unlock()
		document = set
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(document); err != nil {
		i.t.Error(err)
	}
}
