package client

import (
	"encoding/json"
	"strings"

	"toolhost/pkg/protocol"
)

// mirror is an argument that the tool wants repeated in an Mcp-Param-* header, so
// that what lies between client and server can route by it (R-H2).
type mirror struct {
	header string
	path   []string // of property names
}

// mirrors finds the x-mcp-header annotations of a schema, which stand on what
// properties lead to.
func mirrors(schema json.RawMessage, path []string) []mirror {
	var s struct {
		Header     string                     `json:"x-mcp-header"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var out []mirror
	if s.Header != "" && len(path) > 0 {
		out = append(out, mirror{protocol.HeaderParamPrefix + s.Header, path})
	}
	for name, property := range s.Properties {
		out = append(out, mirrors(property, append(path[:len(path):len(path)], name))...)
	}
	return out
}

// headers are the headers that mirror the arguments, for a tool that has been
// listed. An argument that is absent, null or no scalar has none.
func (c *Client) headers(tool string, arguments json.RawMessage) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var headers map[string]string
	for _, m := range c.listed[tool].mirrors {
		value := arguments
		for _, name := range m.path {
			var object map[string]json.RawMessage
			_ = json.Unmarshal(value, &object) // what is no object has no members
			value = object[name]
		}
		text := strings.TrimSpace(string(value))
		if text == "" || text == "null" || text[0] == '{' || text[0] == '[' {
			continue
		}
		if text[0] == '"' && json.Unmarshal(value, &text) != nil {
			continue
		}
		if headers == nil {
			headers = map[string]string{}
		}
		headers[m.header] = protocol.EncodeHeader(text)
	}
	return headers
}
