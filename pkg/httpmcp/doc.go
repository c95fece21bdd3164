// Package httpmcp is Streamable HTTP: a server.Server as an http.Handler, to be
// mounted at /mcp.
//
// It holds what belongs to HTTP alone: the method, Origin and Host, the media
// type, the size of a body, and the form of the answer, which is JSON, or a
// stream of server-sent events once a call sends something before its result, with
// a comment every 10 s that keeps it alive. A client that goes away ends its
// call's context. Nothing outlives a request, and no session exists.
//
// Callbacks, beside it, is for outside jobs, which speak no MCP.
//
//	http.Handle("/mcp", httpmcp.New(s, httpmcp.Options{}))
//	http.Handle(callback.Path+"{token}", httpmcp.Callbacks(s))
package httpmcp
