package server

import (
	"context"

	"toolhost/pkg/protocol"
)

// discover says what the server can do. It never declares the legacy tasks
// capability, and its extension settings are empty (R-N1).
func (s *Server) discover(context.Context, *call) (any, error) {
	return protocol.DiscoverResult{
		ResultType:        protocol.ResultComplete,
		SupportedVersions: protocol.Supported,
		Capabilities: protocol.ServerCapabilities{
			Extensions: map[string]struct{}{protocol.ExtensionTasks: {}},
		},
		Instructions: s.instructions,
		TTLMs:        s.limits.ListTTL.Milliseconds(),
		CacheScope:   protocol.CachePublic,
	}, nil
}
