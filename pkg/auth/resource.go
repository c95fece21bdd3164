package auth

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// MetadataPath is where a resource server describes itself (RFC 9728), below the
// public URL. The same followed by the resource's own path is what clients try
// first where that is the host's root.
const MetadataPath = "/.well-known/oauth-protected-resource"

// Resource is this server as OAuth sees it.
type Resource struct {
	// URL identifies the resource: the MCP endpoint. It is what tokens are for.
	URL string
	// Base is the public URL above which nothing is this server's: URL without /mcp.
	Base string
	// Issuer is the authorization server.
	Issuer string
	// Scopes are needed for every request.
	Scopes []string
	// Supported are all scopes that some request needs.
	Supported []string
}

// MetadataURL is where the description is, for challenges.
func (r Resource) MetadataURL() string { return r.Base + MetadataPath + "/mcp" }

// Challenge is the value of a WWW-Authenticate header (RFC 6750, RFC 9728). code
// is "" where no token was given. scopes are those that the request needs beyond
// Scopes; the challenge names all of them (R-V5).
func (r Resource) Challenge(code, description string, scopes []string) string {
	parts := []string{"resource_metadata=" + quote(r.MetadataURL())}
	if code != "" {
		parts = append(parts, "error="+quote(code), "error_description="+quote(description))
	}
	all := slices.Clone(r.Scopes)
	for _, s := range scopes {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if len(all) > 0 {
		parts = append(parts, "scope="+quote(strings.Join(all, " ")))
	}
	return "Bearer " + strings.Join(parts, ", ")
}

// InsufficientScope is the code of a challenge to a caller that lacks a scope.
const InsufficientScope = "insufficient_scope"

// quote makes a quoted-string. What stands in it is ours, and has no line breaks.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// ServeHTTP serves the description, whatever the path: MetadataPath, and the same
// followed by /mcp. It is for everybody, from whatever page.
func (r Resource) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	switch request.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		w.Header().Set("Access-Control-Allow-Methods", "GET")
		w.Header().Set("Access-Control-Allow-Headers", "*")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		w.Header().Set("Allow", "GET")
		http.Error(w, "this is to be read", http.StatusMethodNotAllowed)
		return
	}
	body, err := json.Marshal(oauthex.ProtectedResourceMetadata{
		Resource: r.URL, AuthorizationServers: []string{r.Issuer}, ScopesSupported: r.Supported, BearerMethodsSupported: []string{"header"},
	})
	if err != nil {
		panic(err) // strings
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "public, max-age=300")
	_, _ = w.Write(body) // a client that went away learns nothing
}
