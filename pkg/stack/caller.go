package stack

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"toolhost/pkg/apigw"
	"toolhost/pkg/auth"
	"toolhost/pkg/config"
	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// Members of the authorizer's context, all strings.
const (
	contextIssuer  = "issuer"
	contextSubject = "subject"
	contextTenant  = "tenant"
	contextClient  = "client"
	contextScopes  = "scopes"
)

// Authorizer is the function that API Gateway asks who calls, where the
// configuration asks for tokens. fault.Invalid if it does not.
func (s *Stack) Authorizer() (handler any, err error) {
	if s.config.Auth != config.AuthOAuth {
		return nil, fault.New(fault.Invalid, "stack.Authorizer", "an authorizer is for TOOLHOST_AUTH=oauth")
	}
	verifier, err := auth.NewVerifier(auth.VerifierOptions{
		Issuer: s.config.OAuth.Issuer, KeysURL: s.config.OAuth.KeysURL, Audience: s.config.OAuth.Audience,
		TenantClaim: s.config.OAuth.TenantClaim, Clock: s.clock,
	})
	if err != nil {
		return nil, err
	}
	return apigw.Authorize(func(ctx context.Context, header http.Header) (apigw.Verdict, error) {
		return s.judge(ctx, verifier, header)
	}), nil
}

// judge says who holds the token, and whether it has the scopes of every request
// and of the tool that the headers name. They are the client's word, so they can
// only lead to a refusal: what the body names is looked at again (R-H15). It is
// here that a refusal's header reaches the client under its own name.
func (s *Stack) judge(ctx context.Context, verifier *auth.Verifier, header http.Header) (apigw.Verdict, error) {
	token, err := auth.Bearer(header.Values("Authorization"))
	if err != nil {
		return apigw.Verdict{}, s.unauthorized(err)
	}
	p, err := verifier.Verify(ctx, token)
	if err != nil {
		return apigw.Verdict{}, s.unauthorized(err)
	}
	needed := slices.Clone(s.config.OAuth.Scopes)
	h := protocol.ReadHeaders(header)
	if name, ok := h.Name.Decoded(); ok && h.Method.Value == protocol.MethodToolsCall {
		if t, known := s.tools.Lookup(name); known {
			needed = append(needed, t.Scopes()...)
		}
	}
	if len(p.Lacks(needed)) > 0 {
		return apigw.Verdict{Denied: s.resource().Challenge(auth.InsufficientScope, "the token lacks a scope", needed)}, nil
	}
	return apigw.Verdict{Context: map[string]any{
		contextIssuer: p.Issuer, contextSubject: p.Subject, contextTenant: p.Tenant, contextClient: p.Client,
		contextScopes: strings.Join(p.Scopes, " "),
	}}, nil
}

// unauthorized logs why a token is refused, which helps whoever set the issuer up,
// and says no more to the gateway than it understands.
func (s *Stack) unauthorized(err error) error {
	var bad *auth.TokenError
	if errors.As(err, &bad) {
		s.log.Info("a caller is refused", "reason", bad.Reason)
		return apigw.ErrUnauthorized
	}
	s.log.Error("a caller can't be judged", "error", err)
	return errors.New("a caller can't be judged")
}

// resource is this deployment as OAuth sees it.
func (s *Stack) resource() auth.Resource {
	r := auth.Resource{URL: s.config.PublicURL + "/mcp", Base: s.config.PublicURL, Issuer: s.config.OAuth.Issuer, Scopes: s.config.OAuth.Scopes}
	r.Supported = slices.Clone(r.Scopes)
	for _, t := range s.tools.Tools() {
		for _, scope := range t.Scopes() {
			if !slices.Contains(r.Supported, scope) {
				r.Supported = append(r.Supported, scope)
			}
		}
	}
	return r
}

// identify lets only requests through whose caller the gateway has found out, and
// says who it is. Without a word of the gateway's there is no caller: a route
// without its authorizer lets nobody in. A page's preflight has none.
func (s *Stack) identify(next http.Handler) http.Handler {
	if s.config.Auth == config.AuthNone {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, _ := apigw.From(r.Context())
		p, known := s.caller(origin)
		if !known && r.Method != http.MethodOptions {
			w.Header().Set("Content-Type", "application/json")
			if s.config.Auth == config.AuthOAuth {
				w.Header().Set("WWW-Authenticate", s.resource().Challenge("", "", nil))
			}
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write(jsonrpc.Failure(nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "who calls is not known")))
			return
		}
		next.ServeHTTP(w, r.WithContext(auth.With(r.Context(), p)))
	})
}

// caller is whom the gateway says the request is made by.
func (s *Stack) caller(o apigw.Origin) (auth.Principal, bool) {
	if s.config.Auth == config.AuthIAM {
		// A role's tasks are the role's, whatever the session is called.
		id, _, _ := strings.Cut(o.Caller, ":")
		return auth.Principal{Issuer: "aws", Tenant: o.Account, Subject: id}, o.Account != "" && id != ""
	}
	text := func(name string) string { s, _ := o.Authorizer[name].(string); return s }
	p := auth.Principal{Issuer: text(contextIssuer), Subject: text(contextSubject), Tenant: text(contextTenant), Client: text(contextClient),
		Scopes: strings.Fields(text(contextScopes))}
	return p, p.Issuer == s.config.OAuth.Issuer && (p.Subject != "" || p.Client != "")
}

// checkScopes refuses tools that nobody could call.
func (s *Stack) checkScopes() error {
	for _, t := range s.tools.Tools() {
		if s.config.Auth == config.AuthIAM && len(t.Scopes()) > 0 {
			return fault.New(fault.Invalid, "stack.Open", "the tool %s needs scopes, which only TOOLHOST_AUTH=oauth gives", t.Name())
		}
	}
	return nil
}
