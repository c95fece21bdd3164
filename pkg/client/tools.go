package client

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"toolhost/pkg/protocol"
)

// Tool is what the server tells of a tool.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
}

// maxPages bounds a listing.
const maxPages = 1000

// Tools lists all tools, page by page.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	var tools []Tool
	params := map[string]any{}
	for range maxPages {
		raw, err := c.do(ctx, exchange{method: protocol.MethodToolsList, params: params, repeat: true})
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools      []Tool `json:"tools"`
			NextCursor string `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("reading the tools: %w", err)
		}
		tools = append(tools, page.Tools...)
		if page.NextCursor == "" {
			return tools, nil
		}
		params = map[string]any{"cursor": page.NextCursor}
	}
	return nil, fmt.Errorf("the list of tools does not end")
}

// Discover returns the server's self-description, a DiscoverResult as JSON.
func (c *Client) Discover(ctx context.Context) (json.RawMessage, error) {
	return c.do(ctx, exchange{method: protocol.MethodDiscover, repeat: true})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
