package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
	"toolhost/pkg/tool"
)

// listTools lists the caller's tools. Where all callers have the same, caches may
// share the list (R-H7, R-H14).
func (s *Server) listTools(_ context.Context, c *call) (any, error) {
	tools, next, err := s.page(c)
	if err != nil {
		return nil, err
	}
	result := protocol.ListToolsResult{
		ResultType: protocol.ResultComplete,
		Tools:      []json.RawMessage{},
		NextCursor: next,
		TTLMs:      s.limits.ListTTL.Milliseconds(),
		CacheScope: protocol.CachePublic,
	}
	if s.hasScopes() {
		result.CacheScope = protocol.CachePrivate
	}
	for _, t := range tools {
		result.Tools = append(result.Tools, t.ListEntry())
	}
	return result, nil
}

// page is the tools that a tools/list asks for, in the order of their
// registration, and the cursor of the next page, "" if there is none.
func (s *Server) page(c *call) (tools []*tool.Tool, next string, err error) {
	tools = s.tools.Tools()
	if _, given := c.params["cursor"]; given {
		cursor, err := c.text("cursor")
		if err != nil {
			return nil, "", err
		}
		name, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
		last := slices.IndexFunc(tools, func(t *tool.Tool) bool { return t.Name() == string(name) })
		if err != nil || last < 0 || strings.ContainsAny(cursor, "\r\n") {
			return nil, "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "Invalid cursor")
		}
		tools = tools[last+1:]
	}
	tools = slices.DeleteFunc(slices.Clone(tools), func(t *tool.Tool) bool { return !s.sees(c, t) })
	if len(tools) > s.limits.PageSize {
		tools = tools[:s.limits.PageSize]
		// A cursor is the last tool listed: it outlives a deployment that adds some.
		next = base64.RawURLEncoding.EncodeToString([]byte(tools[len(tools)-1].Name()))
	}
	return tools, next, nil
}
