package auth

import (
	"context"
	"slices"

	"toolhost/pkg/task"
)

// Principal is an authenticated caller. The zero Principal is the anonymous
// caller of a server without authorization.
type Principal struct {
	Issuer  string
	Subject string
	Tenant  string
	// Client is the OAuth client through which the caller came.
	Client string
	Scopes []string
}

// Owner is whom the caller's tasks belong to: issuer, subject and tenant; the
// client only where there is no subject (R-V1).
func (p Principal) Owner() task.Owner {
	o := task.Owner{Issuer: p.Issuer, Subject: p.Subject, Tenant: p.Tenant}
	if p.Subject == "" {
		o.Client = p.Client
	}
	return o
}

// Lacks are those of the scopes that the caller does not hold, in their order.
func (p Principal) Lacks(scopes []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(p.Scopes, s) })
}

type key struct{}

// With returns a context whose calls are made by p.
func With(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, key{}, p)
}

// From is the caller in the context; the anonymous one if there is none.
func From(ctx context.Context) Principal {
	p, _ := ctx.Value(key{}).(Principal)
	return p
}
