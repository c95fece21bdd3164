package server

import (
	"context"
	"encoding/json"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
	"toolhost/pkg/tool"
)

// listLegacyTools is listTools in the shapes of the client's revision.
func (s *Server) listLegacyTools(_ context.Context, c *call) (any, error) {
	tools, next, err := s.page(c)
	if err != nil {
		return nil, err
	}
	result := protocol.LegacyListToolsResult{Tools: []json.RawMessage{}, NextCursor: next}
	for _, t := range tools {
		entry, err := legacyEntry(c, t)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "server.legacyEntry", err)
		}
		result.Tools = append(result.Tools, entry)
	}
	return result, nil
}

// since is the legacy revision that brought a member of a tool's entry.
var since = map[string]string{
	"title": protocol.Revision20250618, "outputSchema": protocol.Revision20250618, "_meta": protocol.Revision20250618,
	"icons": protocol.Revision20251125,
}

// taskSupport is a tool's mode as 2025-11-25 spells it.
var taskSupport = map[tool.Mode]string{tool.Never: "forbidden", tool.Optional: "optional", tool.Required: "required"}

// legacyEntry is a tool's entry with what the client's revision knows of it.
func legacyEntry(c *call, t *tool.Tool) (json.RawMessage, error) {
	var entry map[string]json.RawMessage
	if err := json.Unmarshal(t.ListEntry(), &entry); err != nil {
		return nil, err
	}
	for member, revision := range since {
		if c.revision < revision {
			delete(entry, member)
		}
	}
	for _, member := range []string{"inputSchema", "outputSchema"} {
		if text, has := entry[member]; has {
			if entry[member] = legacySchema(text); entry[member] == nil {
				delete(entry, member)
			}
		}
	}
	if c.hasLegacyTasks() {
		entry["execution"] = jsonrpc.Encode(map[string]string{"taskSupport": taskSupport[t.Options().Task]})
	}
	return jsonrpc.Encode(entry), nil
}

// legacySchema is a schema as legacy revisions restrict it: of an object, whose
// properties have schemas that are objects, too. nil if it is of anything else.
func legacySchema(text json.RawMessage) json.RawMessage {
	var schema, properties map[string]json.RawMessage
	if json.Unmarshal(text, &schema) != nil || string(schema["type"]) != `"object"` {
		return nil
	}
	if json.Unmarshal(schema["properties"], &properties) != nil {
		return text
	}
	changed := false
	for name, property := range properties {
		if same, isBool := map[string]string{"true": `{}`, "false": `{"not":{}}`}[string(property)]; isBool {
			properties[name], changed = json.RawMessage(same), true
		}
	}
	if !changed {
		return text
	}
	schema["properties"] = jsonrpc.Encode(properties)
	return jsonrpc.Encode(schema)
}
