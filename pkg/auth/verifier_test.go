package auth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"toolhost/pkg/auth"
	"toolhost/pkg/auth/authtest"
	"toolhost/pkg/clock"
	"toolhost/pkg/fault"
)

const resource = "https://tools.example/mcp"

func verifier(t *testing.T, o auth.VerifierOptions) *auth.Verifier {
	t.Helper()
	o.Audience = resource
	v, err := auth.NewVerifier(o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func with(claims map[string]any, name string, value any) map[string]any {
	if claims[name] = value; value == nil {
		delete(claims, name)
	}
	return claims
}

func TestVerify(t *testing.T) { // R-V1, R-V2
	i := authtest.New(t)
	v := verifier(t, auth.VerifierOptions{Issuer: i.URL})
	t.Run("a_good_token_names_its_caller", func(t *testing.T) {
		p, err := v.Verify(t.Context(), i.Token("alice", resource, "mcp deploy"))
		if want := (auth.Principal{Issuer: i.URL, Subject: "alice", Client: "client", Scopes: []string{"mcp", "deploy"}}); err != nil || fmt.Sprint(p) != fmt.Sprint(want) {
			t.Errorf("got %+v, %v", p, err)
		}
	})
	good := func() map[string]any { return i.Claims("alice", resource, "mcp") }
	for name, claims := range map[string]map[string]any{
		"an_audience_among_others":        with(good(), "aud", []string{"https://other.example", resource}),
		"a_client_without_a_subject":      with(good(), "sub", nil),
		"a_clock_that_is_a_little_ahead":  with(good(), "nbf", time.Now().Add(20*time.Second).Unix()),
		"a_clock_that_is_a_little_behind": with(good(), "exp", time.Now().Add(-20*time.Second).Unix()),
		"no_scope":                        with(good(), "scope", nil),
	} {
		t.Run("accepted/"+name, func(t *testing.T) {
			if _, err := v.Verify(t.Context(), i.Sign(claims)); err != nil {
				t.Error(err)
			}
		})
	}
	for name, claims := range map[string]map[string]any{
		"another_issuer":              with(good(), "iss", "https://evil.example"),
		"an_issuer_with_a_slash":      with(good(), "iss", i.URL+"/"),
		"no_issuer":                   with(good(), "iss", nil),
		"another_audience":            with(good(), "aud", "https://other.example/mcp"),
		"an_audience_that_begins_so":  with(good(), "aud", resource+"/more"),
		"an_audience_that_is_a_slash": with(good(), "aud", resource+"/"),
		"no_audience":                 with(good(), "aud", nil),
		"expired":                     with(good(), "exp", time.Now().Add(-time.Minute).Unix()),
		"no_expiry":                   with(good(), "exp", nil),
		"not_yet_valid":               with(good(), "nbf", time.Now().Add(time.Minute).Unix()),
		"made_in_the_future":          with(good(), "iat", time.Now().Add(time.Minute).Unix()),
		"nobody":                      with(with(good(), "sub", nil), "client_id", nil),
		"a_subject_that_is_a_number":  with(good(), "sub", 7),
		"an_expiry_that_is_a_text":    with(good(), "exp", "tomorrow"),
	} {
		t.Run("refused/"+name, func(t *testing.T) { refused(t, v, i.Sign(claims)) })
	}

	t.Run("scopes_are_those_of_RFC_6749", func(t *testing.T) {
		for given, want := range map[string][]string{
			`"a b"`: {"a", "b"}, `"a  b"`: {"a", "b"}, `"a\tb"`: {}, `["a b","c"]`: {"c"}, `""`: {}, `{"a":1}`: {}, `"a\u00a0b"`: {}, `["x"]`: {"x"}, `5`: {},
		} {
			for _, name := range []string{"scope", "scp"} {
				claims := with(good(), "scope", nil)
				p, err := v.Verify(t.Context(), i.Sign(with(claims, name, json.RawMessage(given))))
				if err != nil || len(p.Scopes) != len(want) || strings.Join(p.Scopes, "|") != strings.Join(want, "|") {
					t.Errorf("%s %s: %q, %v", name, given, p.Scopes, err)
				}
			}
		}
	})

	t.Run("a_tenant_that_is_asked_for_must_be_there", func(t *testing.T) {
		v := verifier(t, auth.VerifierOptions{Issuer: i.URL, TenantClaim: "org"})
		if p, err := v.Verify(t.Context(), i.Sign(with(good(), "org", "acme"))); err != nil || p.Owner().Tenant != "acme" {
			t.Errorf("got %+v, %v", p, err)
		}
		for _, none := range []any{nil, "", 5, []string{"acme"}} {
			refused(t, v, i.Sign(with(good(), "org", none)))
		}
	})
}

func refused(t *testing.T, v *auth.Verifier, token string) {
	t.Helper()
	p, err := v.Verify(t.Context(), token)
	var bad *auth.TokenError
	if !errors.As(err, &bad) || p.Owner() != (auth.Principal{}).Owner() {
		t.Errorf("got %+v, %v", p, err)
	}
	if len(token) > 20 && err != nil && strings.Contains(err.Error(), token[:20]) {
		t.Errorf("the error shows the token: %v", err)
	}
}

// What is not signed by a key of the issuer, with an algorithm of that key.
func TestForgery(t *testing.T) {
	i := authtest.New(t)
	v := verifier(t, auth.VerifierOptions{Issuer: i.URL})
	claims := i.Claims("alice", resource, "mcp")
	good := i.Sign(claims)
	parts := strings.Split(good, ".")
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	sign := func(a jose.SignatureAlgorithm, key any, extra map[jose.HeaderKey]any) string {
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: a, Key: key}, &jose.SignerOptions{ExtraHeaders: extra})
		if err != nil {
			t.Fatal(err)
		}
		token, err := jwt.Signed(s).Claims(claims).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	key := i.Key()
	public := key.Public()
	published, err := x509.MarshalPKIXPublicKey(public.Key)
	if err != nil {
		t.Fatal(err)
	}
	publishedText, err := public.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(evil.Close)
	kid := map[jose.HeaderKey]any{"kid": key.KeyID}
	for name, token := range map[string]string{
		"none":                        encode(`{"alg":"none"}`) + "." + parts[1] + ".",
		"none_in_another_case":        encode(`{"alg":"nOnE","kid":"key 1"}`) + "." + parts[1] + ".",
		"none_with_its_old_signature": encode(`{"alg":"none","kid":"key 1"}`) + "." + parts[1] + "." + parts[2],
		"no_signature":                parts[0] + "." + parts[1] + ".",
		"a_part_less":                 parts[0] + "." + parts[1],
		"a_part_more":                 good + ".x",
		"another_payload":             parts[0] + "." + encode(`{"iss":"`+i.URL+`","sub":"root"}`) + "." + parts[2],
		"the_public_key_as_a_secret":  sign(jose.HS256, published, kid),
		"its_text_as_a_secret":        sign(jose.HS256, publishedText, kid),
		"a_key_of_ones_own":           sign(jose.RS256, own, kid),
		"a_key_that_it_brings":        sign(jose.RS256, own, map[jose.HeaderKey]any{"jwk": jose.JSONWebKey{Key: own.Public()}}),
		"a_key_that_it_points_to":     sign(jose.RS256, own, map[jose.HeaderKey]any{"jku": evil.URL, "x5u": evil.URL, "kid": evil.URL}),
		"a_key_id_that_is_a_path":     sign(jose.RS256, own, map[jose.HeaderKey]any{"kid": "../../dev/null"}),
		"a_header_that_must_be_known": sign(jose.RS256, own, map[jose.HeaderKey]any{"crit": []string{"x"}, "x": 1}),
		"nothing":                     "",
		"dots":                        strings.Repeat(".", 5000),
		"more_than_8_KB":              good + strings.Repeat("A", auth.MaxToken),
		"JSON":                        `{"payload":"` + parts[1] + `","signatures":[]}`,
		"control_characters":          "\x00\n" + good,
		"a_space":                     good + " ",
		"five_parts":                  "a.b.c.d.e",
	} {
		t.Run(name, func(t *testing.T) { refused(t, v, token) })
	}
	if asked {
		t.Error("a URL out of a token was asked")
	}
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Errorf("the good token: %v", err)
	}
}

func TestKeys(t *testing.T) {
	at := clock.NewManual(time.Now())
	i := authtest.New(t)
	v := verifier(t, auth.VerifierOptions{Issuer: i.URL, Clock: at})
	token := func() string {
		c := i.Claims("alice", resource, "mcp")
		return i.Sign(with(c, "exp", at.Now().Add(48*time.Hour).Unix()))
	}
	accepts := func(token string) {
		t.Helper()
		if _, err := v.Verify(t.Context(), token); err != nil {
			t.Error(err)
		}
	}
	fetched := func(want int32) {
		t.Helper()
		if n := i.Fetches.Load(); n != want {
			t.Errorf("%d fetches, want %d", n, want)
		}
	}
	first := token()
	accepts(first)
	accepts(first)
	fetched(1)

	// A thousand unknown keys are at most one fetch in half a minute.
	foreign := authtest.New(t)
	for n := range 1000 {
		foreign.Rotate(false)
		if n == 999 {
			at.Advance(30 * time.Second)
		}
		c := foreign.Claims("alice", resource, "mcp")
		refused(t, v, foreign.Sign(with(c, "iss", i.URL)))
	}
	fetched(2)

	// A new key is seen at once, and the old one stays good while it is published.
	at.Advance(30 * time.Second)
	i.Rotate(true)
	accepts(token())
	accepts(first)
	fetched(3)
	at.Advance(time.Minute)
	i.Rotate(false)
	accepts(token())
	refused(t, v, first)

	// Keys outlive an outage of their server, for a day.
	kept := token()
	i.Down.Store(true)
	at.Advance(23 * time.Hour)
	accepts(kept)
	at.Advance(2 * time.Hour)
	if _, err := v.Verify(t.Context(), kept); !fault.Is(err, fault.Busy) {
		t.Errorf("got %v", err)
	}
	i.Down.Store(false)
	at.Advance(time.Minute)
	accepts(kept)

	t.Run("that_never_came_make_no_caller", func(t *testing.T) {
		i.Down.Store(true)
		v := verifier(t, auth.VerifierOptions{Issuer: i.URL, Clock: at})
		if _, err := v.Verify(t.Context(), kept); !fault.Is(err, fault.Busy) {
			t.Errorf("got %v", err)
		}
		i.Down.Store(false)
	})
	t.Run("that_did_not_come_are_asked_for_again_soon", func(t *testing.T) {
		i.Down.Store(true)
		v := verifier(t, auth.VerifierOptions{Issuer: i.URL, Clock: at})
		for range 10 {
			if _, err := v.Verify(t.Context(), kept); !fault.Is(err, fault.Busy) {
				t.Errorf("got %v", err)
			}
		}
		i.Down.Store(false)
		at.Advance(5 * time.Second)
		if _, err := v.Verify(t.Context(), kept); err != nil {
			t.Error(err)
		}
	})
	t.Run("replaced_under_their_name_are_seen_at_once", func(t *testing.T) {
		for _, id := range []string{"", "the key"} {
			i := authtest.New(t)
			i.Rename(id)
			v := verifier(t, auth.VerifierOptions{Issuer: i.URL, Clock: at})
			claims := with(i.Claims("alice", resource, "mcp"), "exp", at.Now().Add(48*time.Hour).Unix())
			old := i.Sign(claims)
			if _, err := v.Verify(t.Context(), old); err != nil {
				t.Errorf("key %q: %v", id, err)
			}
			at.Advance(time.Minute)
			i.Rotate(false)
			i.Rename(id)
			if _, err := v.Verify(t.Context(), i.Sign(claims)); err != nil {
				t.Errorf("key %q, replaced: %v", id, err)
			}
			for range 100 { // a forgery costs no more than one of an unknown key
				refused(t, v, old)
			}
			if n := i.Fetches.Load(); n != 2 {
				t.Errorf("key %q: %d fetches", id, n)
			}
		}
	})
	t.Run("can_be_named_instead_of_found", func(t *testing.T) {
		v := verifier(t, auth.VerifierOptions{Issuer: i.URL, KeysURL: i.URL + "/keys", Clock: at})
		if _, err := v.Verify(t.Context(), kept); err != nil {
			t.Error(err)
		}
	})
}

// The metadata must be the issuer's own, and its keys where nobody can change them
// on their way.
func TestDiscovery(t *testing.T) {
	i := authtest.New(t)
	for name, c := range map[string]struct {
		path, document string
		ok             bool
	}{
		"OpenID_Connect":          {"/.well-known/openid-configuration", `{"issuer":"$ISSUER","jwks_uri":"` + i.URL + `/keys"}`, true},
		"another_issuer":          {"/.well-known/oauth-authorization-server", `{"issuer":"https://evil.example","jwks_uri":"` + i.URL + `/keys"}`, false},
		"keys_without_TLS":        {"/.well-known/oauth-authorization-server", `{"issuer":"$ISSUER","jwks_uri":"http://keys.example/keys"}`, false},
		"no_keys":                 {"/.well-known/oauth-authorization-server", `{"issuer":"$ISSUER"}`, false},
		"more_than_is_read":       {"/.well-known/oauth-authorization-server", strings.Repeat(" ", 300<<10) + `{"issuer":"$ISSUER","jwks_uri":"` + i.URL + `/keys"}`, false},
		"no_JSON":                 {"/.well-known/oauth-authorization-server", `<html>`, false},
		"no_key_that_can_be_used": {"/.well-known/oauth-authorization-server", `{"issuer":"$ISSUER","jwks_uri":"$ISSUER/keys"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var url string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case c.path:
					_, _ = w.Write([]byte(strings.ReplaceAll(c.document, "$ISSUER", url)))
				case "/keys":
					_, _ = w.Write([]byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"key 1"},{"kty":"new"},{"kty":"EC","use":"enc"},5]}`))
				default:
					http.NotFound(w, r)
				}
			}))
			t.Cleanup(s.Close)
			url = s.URL
			v := verifier(t, auth.VerifierOptions{Issuer: url})
			claims := with(i.Claims("alice", resource, "mcp"), "iss", url)
			if _, err := v.Verify(t.Context(), i.Sign(claims)); (err == nil) != c.ok || !c.ok && !fault.Is(err, fault.Busy) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestNewVerifier(t *testing.T) {
	for name, o := range map[string]auth.VerifierOptions{
		"no_issuer":          {Audience: resource},
		"no_audience":        {Issuer: "https://i.example"},
		"an_issuer_in_clear": {Issuer: "http://i.example", Audience: resource},
		"keys_in_clear":      {Issuer: "https://i.example", KeysURL: "http://i.example/k", Audience: resource},
		"a_query":            {Issuer: "https://i.example?x", Audience: resource},
		"a_password":         {Issuer: "https://u:p@i.example", Audience: resource},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := auth.NewVerifier(o); !fault.Is(err, fault.Invalid) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestBearer(t *testing.T) { // R-V5
	if got, err := auth.Bearer([]string{"bearer abc"}); err != nil || got != "abc" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range [][]string{nil, {""}, {"abc"}, {"Basic abc"}, {"Bearer"}, {"Bearer "}, {"Bearer a b"}, {"Bearer a,Bearer b"}, {"Bearer a", "Bearer b"}, {"Bearer  a"}} {
		if got, err := auth.Bearer(bad); err == nil {
			t.Errorf("%q gives %q", bad, got)
		}
	}
}
