package server

import (
	"context"
	"encoding/json"
)

// watchesTasks reports whether a subscriptions/listen names tasks (R-N5).
func watchesTasks(c *call) bool {
	var notifications map[string]json.RawMessage
	_ = json.Unmarshal(c.params["notifications"], &notifications)
	_, there := notifications["taskIds"]
	return there
}

// listen refuses: subscriptions are not a capability of this server (R-N9).
func (s *Server) listen(_ context.Context, c *call) (any, error) {
	return nil, noMethod(c.message.Method)
}
