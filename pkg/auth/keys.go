package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"toolhost/pkg/fault"
)

const (
	// keysFresh is how long keys are used without a look at whether there are
	// others. A key that is not known, or does not fit, is looked for at once, but no
	// sooner than keysPause after the last look: forged tokens must not become as many
	// fetches.
	keysFresh = 15 * time.Minute
	keysPause = 30 * time.Second
	// keysStale is how long keys are used that can't be fetched anew. Then, and before
	// there are any, nobody is let in, so keysRetry is all that lies between two looks.
	keysStale = 24 * time.Hour
	keysRetry = 5 * time.Second

	fetchTime = 3 * time.Second // within the gateway's patience
	maxKeys   = 256 << 10       // bytes of a document
)

// keySet is an issuer's keys, fetched when they are needed.
type keySet struct {
	issuer string
	url    string // "" until it is found
	http   *http.Client
	now    func() time.Time

	turn    chan struct{} // held by whoever reads or fetches; waiting ends with a context
	keys    []jose.JSONWebKey
	fetched time.Time // when keys came
	tried   time.Time // when they were asked for
	failure error     // of the last try
}

func newKeySet(o VerifierOptions) *keySet {
	s := &keySet{issuer: o.Issuer, url: o.KeysURL, http: o.HTTP, now: o.Clock.Now, turn: make(chan struct{}, 1)}
	if s.http == nil {
		s.http = &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("too many redirects")
			}
			return CheckURL(r.URL.String())
		}}
	}
	return s
}

// find returns the keys that a token with this head may be signed by: none if the
// issuer has no such key. anew asks for those of a new look, since the known ones
// don't fit: none if it is too soon for one. fault.Busy if the keys can't be had.
func (s *keySet) find(ctx context.Context, id, algorithm string, anew bool) ([]jose.JSONWebKey, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, fault.Wrap(fault.Busy, "auth.Verify", ctx.Err())
	}
	now := s.now()
	usable := func() bool { return !s.fetched.IsZero() && now.Sub(s.fetched) <= keysStale }
	pause := keysPause
	if !usable() {
		pause = keysRetry
	}
	found, looked := s.matching(id, algorithm), false
	if (len(found) == 0 || anew || now.Sub(s.fetched) > keysFresh) && (s.tried.IsZero() || now.Sub(s.tried) >= pause) {
		s.tried = now
		keys, err := s.fetch(ctx)
		if s.failure = err; err == nil {
			s.keys, s.fetched = keys, now
			found, looked = s.matching(id, algorithm), true
		}
	}
	switch {
	case !usable():
		return nil, &fault.Error{Kind: fault.Busy, Op: "auth.Verify", Message: "the authorization server's keys can't be had; try again later", Err: s.failure}
	case anew && !looked:
		return nil, nil
	}
	return found, nil
}

// matching are the keys with the id, or all if the token names none, that may
// make signatures of the algorithm.
func (s *keySet) matching(id, algorithm string) (found []jose.JSONWebKey) {
	for _, k := range s.keys {
		if (id == "" || k.KeyID == id) && (k.Algorithm == "" || k.Algorithm == algorithm) {
			found = append(found, k)
		}
	}
	return found
}

func (s *keySet) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	// Whoever happened to need the keys may go; others wait for them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	if s.url == "" {
		found, err := s.discover(ctx)
		if err != nil {
			return nil, err
		}
		s.url = found
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := s.get(ctx, s.url, &document); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, raw := range document.Keys {
		var k jose.JSONWebKey
		// One of a kind that is not known here is for others. A secret one has no
		// place there, and must not verify anything.
		if json.Unmarshal(raw, &k) == nil && k.Valid() && k.IsPublic() && (k.Use == "" || k.Use == "sig") {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no key that can be used", s.url)
	}
	return keys, nil
}

// discover finds where the issuer publishes its keys: by its OAuth metadata (RFC
// 8414), or else that of OpenID Connect, which puts the well-known part last.
func (s *keySet) discover(ctx context.Context) (string, error) {
	u, err := url.Parse(s.issuer)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(u.Path, "/")
	var failures []error
	for _, at := range []string{
		"/.well-known/oauth-authorization-server" + path,
		"/.well-known/openid-configuration" + path,
		path + "/.well-known/openid-configuration",
	} {
		var document struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		err := s.get(ctx, u.Scheme+"://"+u.Host+at, &document)
		switch {
		case err != nil:
		case document.Issuer != s.issuer:
			err = fmt.Errorf("%s is the metadata of another issuer", at)
		default:
			if err = CheckURL(document.Keys); err == nil {
				return document.Keys, nil
			}
			err = fmt.Errorf("%s: jwks_uri %w", at, err)
		}
		failures = append(failures, err)
	}
	return "", errors.Join(failures...)
}

func (s *keySet) get(ctx context.Context, from string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	answer, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxKeys+1))
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %s", from, answer.Status)
	case len(body) > maxKeys:
		return fmt.Errorf("%s is larger than %d bytes", from, maxKeys)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	return nil
}

// CheckURL says what is wrong with a URL that secrets depend on: it must be
// https, or http on this machine, without query, fragment or user.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return errors.New("is missing")
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("is not a URL of host and path alone")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return errors.New("is not an https URL")
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
