// Package protocol is MCP on the wire: everything that the specification spells,
// spelled once. Revisions and their error codes, methods, _meta keys,
// capabilities, the rules of the mirrored headers, and the shapes of the Tasks
// extension. It has no behaviour of its own and does no I/O.
//
// It is not named mcp: tool authors import the official SDK under that name.
package protocol
