package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"toolhost/pkg/protocol"
)

// Tool is what the server tells of a tool.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	// Execution says, of an older server's tool, whether its calls may be tasks.
	Execution struct {
		TaskSupport string `json:"taskSupport"` // "required", "optional", "forbidden" or ""
	} `json:"execution"`
	// Raw is the whole entry as it came.
	Raw json.RawMessage `json:"-"`
}

// listing is what a tool's calls need of its entry.
type listing struct {
	mirrors     []mirror
	taskSupport string
}

// maxPages bounds a listing.
const maxPages = 1000

// Tools lists all tools, page by page.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	var tools []Tool
	listed := map[string]listing{}
	params := map[string]any{}
	for range maxPages {
		raw, err := c.do(ctx, exchange{method: protocol.MethodToolsList, params: params})
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor *string           `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("the list of tools can't be read: %w", err)
		}
		for _, entry := range page.Tools {
			t := Tool{Raw: entry}
			if err := json.Unmarshal(entry, &t); err != nil {
				return nil, fmt.Errorf("the list of tools can't be read: %w", err)
			}
			tools = append(tools, t)
			listed[t.Name] = listing{mirrors(t.InputSchema, nil), t.Execution.TaskSupport}
		}
		if page.NextCursor == nil {
			c.mu.Lock()
			c.listed = listed
			c.mu.Unlock()
			return tools, nil
		}
		params = map[string]any{"cursor": *page.NextCursor}
	}
	return nil, errors.New("the list of tools does not end")
}

// Discover returns the server's self-description, a DiscoverResult as JSON.
func (c *Client) Discover(ctx context.Context) (json.RawMessage, error) {
	return c.do(ctx, exchange{method: protocol.MethodDiscover})
}
