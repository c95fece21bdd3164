package server

import (
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// legacy answers a request of an era before per-request versions (R-N11). None
// of those revisions is served: the client learns which are.
func (s *Server) legacy(c *call) (any, error) {
	if c.message.ID == nil && !c.headers.Version.Present {
		return nil, nil
	}
	var asked string
	if c.message.Method == protocol.MethodInitialize {
		asked, _ = c.text("protocolVersion")
	}
	return nil, unsupported(or(or(asked, c.headers.Version.Value), protocol.Revision20250326))
}

// unsupported is the error for a protocol version that is not served (R-H3).
func unsupported(requested string) error {
	return &jsonrpc.Error{
		Code:    protocol.CodeUnsupportedVersion,
		Message: "Unsupported protocol version",
		Data: jsonrpc.Encode(struct {
			Supported []string `json:"supported"`
			Requested string   `json:"requested"`
		}{protocol.Modern, requested}),
	}
}
