package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-json-experiment/json/jsontext"

	"toolhost/pkg/clock"
	"toolhost/pkg/fault"
	"toolhost/pkg/protocol"
)

const (
	// MaxToken is the longest token that is looked at, in bytes.
	MaxToken = 8 << 10
	// leeway is how far the issuer's clock may be off.
	leeway = 30 * time.Second
)

// algorithms are those of signatures that only the issuer can make: with none of
// them is what verifies a token enough to make one.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// VerifierOptions say which tokens are good.
type VerifierOptions struct {
	// Issuer is the authorization server, as it stands in iss.
	Issuer string
	// KeysURL is where it publishes its keys; "" is found by its metadata.
	KeysURL string
	// Audience is this resource, as it stands in aud.
	Audience string
	// TenantClaim is the claim that holds the caller's tenant; "" for none.
	TenantClaim string
	// HTTP fetches keys; nil means a client with sane bounds.
	HTTP *http.Client
	// Clock is the time; nil means the machine's.
	Clock clock.Clock
}

// Verifier judges bearer tokens. It is safe for concurrent use, and runs nothing
// between calls.
type Verifier struct {
	options VerifierOptions
	keys    *keySet
}

// NewVerifier makes a verifier. It fetches nothing yet. fault.Invalid if issuer or
// audience are missing, or a URL is neither https nor on this machine.
func NewVerifier(o VerifierOptions) (*Verifier, error) {
	const op = "auth.NewVerifier"
	if o.Clock == nil {
		o.Clock = clock.System
	}
	if err := CheckURL(o.Issuer); err != nil {
		return nil, fault.New(fault.Invalid, op, "the issuer %v", err)
	}
	if o.KeysURL != "" {
		if err := CheckURL(o.KeysURL); err != nil {
			return nil, fault.New(fault.Invalid, op, "the URL of the issuer's keys %v", err)
		}
	}
	if o.Audience == "" {
		return nil, fault.New(fault.Invalid, op, "there is no audience")
	}
	return &Verifier{options: o, keys: newKeySet(o)}, nil
}

// TokenError says why a token is not accepted, in words for its holder: nothing
// of the token is in it. Its code in RFC 6750 is invalid_token.
type TokenError struct{ Reason string }

func (e *TokenError) Error() string { return e.Reason }

func refuse(reason string) (Principal, error) { return Principal{}, &TokenError{reason} }

// Bearer takes the token out of the Authorization headers of a request. There
// must be one header with one token: of two, one would be somebody else's idea.
func Bearer(headers []string) (string, error) {
	if len(headers) == 0 {
		return "", &TokenError{"there is no token"}
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if len(headers) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" || strings.ContainsAny(token, " ,\t") {
		return "", &TokenError{"the Authorization header is not one bearer token"}
	}
	return token, nil
}

// Verify returns whom a token speaks for. The error is a *TokenError if the token
// is not good, and fault.Busy if the issuer's keys can't be had: then nothing is
// known about the token.
func (v *Verifier) Verify(ctx context.Context, token string) (Principal, error) {
	if len(token) > MaxToken {
		return refuse(fmt.Sprintf("the token is longer than %d bytes", MaxToken))
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return refuse("the token is not a JWT that is signed by an algorithm accepted here")
	}
	registered, claims, err := v.signed(ctx, parsed)
	if err != nil {
		return Principal{}, err
	}
	if err := v.accepts(registered); err != nil {
		return Principal{}, err
	}
	return v.principal(registered, claims)
}

// signed returns the claims if a key of the issuer has signed them. Keys that don't
// fit may have been replaced under their name, or have none: then they are looked at
// anew.
func (v *Verifier) signed(ctx context.Context, token *jwt.JSONWebToken) (registered jwt.Claims, all map[string]json.RawMessage, err error) {
	head := token.Headers[0]
	for _, anew := range []bool{false, true} {
		keys, err := v.keys.find(ctx, head.KeyID, head.Algorithm, anew)
		if err != nil {
			return registered, nil, err
		}
		for _, key := range keys {
			if token.Claims(key.Key, &registered, &all) == nil {
				return registered, all, nil
			}
		}
	}
	return registered, nil, &TokenError{"the token is not signed by a key of the issuer, or its claims can't be read"}
}

// accepts checks what must be true of every token.
func (v *Verifier) accepts(c jwt.Claims) error {
	if c.Expiry == nil {
		return &TokenError{"the token does not say when it expires"}
	}
	expected := jwt.Expected{Issuer: v.options.Issuer, AnyAudience: []string{v.options.Audience}, Time: v.options.Clock.Now()}
	switch err := c.ValidateWithLeeway(expected, leeway); {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return &TokenError{"the token is by another issuer"}
	case errors.Is(err, jwt.ErrInvalidAudience):
		return &TokenError{"the token is for another audience"}
	case errors.Is(err, jwt.ErrExpired):
		return &TokenError{"the token has expired"}
	default:
		return &TokenError{"the token is not valid yet"}
	}
}

func (v *Verifier) principal(registered jwt.Claims, claims map[string]json.RawMessage) (Principal, error) {
	for _, name := range []string{"sub", "client_id", "azp", v.options.TenantClaim} {
		// Half a surrogate, or bytes that are no UTF-8, would be read as U+FFFD, and
		// several callers become one.
		if raw := claims[name]; raw != nil && !jsontext.Value(raw).IsValid() {
			return refuse("the token names its holder by what is no text")
		}
	}
	p := Principal{Issuer: registered.Issuer, Subject: registered.Subject}
	for _, name := range []string{"client_id", "azp"} { // RFC 9068; OpenID Connect
		if p.Client == "" {
			_ = json.Unmarshal(claims[name], &p.Client) // of another type, it is none
		}
	}
	if p.Subject == "" && p.Client == "" {
		return refuse("the token names neither a subject nor a client")
	}
	if name := v.options.TenantClaim; name != "" {
		if json.Unmarshal(claims[name], &p.Tenant) != nil || p.Tenant == "" {
			return refuse("the token names no tenant")
		}
	}
	p.Scopes = scopes(claims)
	return p, nil
}

// scopes are the token's: of scope, a string (RFC 9068), or else of scp, which some
// issuers use, a string or a list. What can be no scope is left out: joined with
// others by spaces, it might become two.
func scopes(claims map[string]json.RawMessage) []string {
	for _, name := range []string{"scope", "scp"} {
		var text string
		var list []string
		if json.Unmarshal(claims[name], &text) == nil && text != "" {
			list = strings.Split(text, " ")
		} else if json.Unmarshal(claims[name], &list) != nil || len(list) == 0 {
			continue
		}
		return slices.DeleteFunc(list, func(s string) bool { return !protocol.IsScope(s) })
	}
	return nil
}
