package server

import (
	"context"
	"net/http"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// legacyRevision is the revision of a request that carries no modern one of its
// own (R-N11). No session remembers what initialize agreed on: the client says it
// again with each request.
func legacyRevision(c *call) string {
	if c.message.Method == protocol.MethodInitialize {
		if asked, err := c.text("protocolVersion"); err == nil && protocol.IsLegacy(asked) {
			return asked
		}
		return protocol.Legacy[0] // R-B4
	}
	return or(or(c.meta.Version, c.headers.Version.Value), protocol.Revision20250326)
}

// admitLegacy checks a legacy request up to its params. What the client can do
// was said in initialize, if at all, so that nothing is known of it here (R-B1).
func (s *Server) admitLegacy(c *call) (method, error) {
	var none method
	c.legacy, c.revision = true, legacyRevision(c)
	if !protocol.IsLegacy(c.revision) {
		return none, unsupported(jsonrpc.CodeInvalidParams, c.revision)
	}
	if c.batched && (c.revision != protocol.Revision20250326 || c.message.Method == protocol.MethodInitialize) {
		return none, errNotInBatch
	}
	c.dispatched = true
	if c.message.ID == nil {
		return none, nil
	}
	m := methods[c.message.Method]
	if m.legacy == nil || c.revision < m.since {
		return none, noMethod(c.message.Method)
	}
	return m, nil
}

// initialize agrees on a legacy revision, and says what the server can do under
// it. The extension does not exist there, and tasks do only under 2025-11-25.
func (s *Server) initialize(_ context.Context, c *call) (any, error) {
	if _, err := c.text("protocolVersion"); err != nil {
		return nil, err
	}
	result := protocol.InitializeResult{ProtocolVersion: c.revision, ServerInfo: s.info, Instructions: s.instructions}
	if c.hasLegacyTasks() {
		result.Capabilities.Tasks = protocol.LegacyTasks
	}
	return result, nil
}

// ping answers that the server is there.
func (s *Server) ping(context.Context, *call) (any, error) { return struct{}{}, nil }

// unsupported is the error for a protocol version that is not served (R-H3). The
// legacy revisions are named too: a client that knows them may initialize.
func unsupported(code int, requested string) error {
	return placed{&jsonrpc.Error{
		Code:    code,
		Message: "Unsupported protocol version",
		Data: jsonrpc.Encode(struct {
			Supported []string `json:"supported"`
			Requested string   `json:"requested"`
		}{protocol.Supported, requested}),
	}, http.StatusBadRequest}
}
