package server

import (
	"net/http"
	"strings"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/tool"
)

// scopeError refuses a caller that lacks a scope (R-V2).
type scopeError struct {
	placed
	scopes []string // all that the tool needs
}

func (e scopeError) Unwrap() error { return e.placed }

// permits reports whether the caller may call the tool. One that lacks a scope is
// told which, instead of that there is no such tool: a client asks for more by
// what it is told here, and the names of tools are no secret.
//
// Only calls are held to it. A task belongs to its owner, whatever scopes the
// token has with which it is read, answered or cancelled.
func (s *Server) permits(c *call, t *tool.Tool) error {
	if !s.sees(c, t) {
		scopes := t.Scopes()
		e := jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "This tool needs a token with the scopes: %s", strings.Join(scopes, " "))
		e.Data = jsonrpc.Encode(map[string][]string{"requiredScopes": scopes})
		return scopeError{placed{e, http.StatusForbidden}, scopes}
	}
	return nil
}

// sees reports whether the tool is one of the caller's.
func (s *Server) sees(c *call, t *tool.Tool) bool {
	return !s.scoped || len(c.caller.Lacks(t.Scopes())) == 0
}

// hasScopes reports whether tools/list depends on who asks.
func (s *Server) hasScopes() bool {
	for _, t := range s.tools.Tools() {
		if s.scoped && len(t.Scopes()) > 0 {
			return true
		}
	}
	return false
}
