// Package server answers MCP requests: one table from method to handler, tasks
// as the wire shows them, and errors of all kinds as JSON-RPC.
//
// It knows no transport. A Request is the mirrored headers and the body of one
// POST, a Response a status and a body; what a call sends before its response
// goes through Notify. Version, capabilities and caller come from the request
// alone, so any process can answer any request, and nothing of a call runs on
// after Handle has returned.
//
// Checks run in one order (R-N12): JSON-RPC shape, version present, version
// header, version supported, capabilities, other headers, method, client
// capability, params.
//
//	s, err := server.New(server.Options{Tools: reg, Store: st, Queue: q, Keys: keys})
//	response := s.Handle(ctx, server.Request{Headers: h, Body: body}, nil)
package server
