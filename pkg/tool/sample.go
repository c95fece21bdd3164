package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Sample asks the client's model. It suspends the run as AskRaw does.
func Sample(ctx context.Context, key string, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return askFor[mcp.CreateMessageResult](ctx, key, methodSample, params)
}

// SampleWithTools asks the client's model, which may use the tools in params.
func SampleWithTools(ctx context.Context, key string, params *mcp.CreateMessageWithToolsParams) (*mcp.CreateMessageWithToolsResult, error) {
	return askFor[mcp.CreateMessageWithToolsResult](ctx, key, methodSample, params)
}

// Roots asks for the client's roots. It suspends the run as AskRaw does.
func Roots(ctx context.Context, key string) ([]*mcp.Root, error) {
	result, err := askFor[mcp.ListRootsResult](ctx, key, methodRoots, nil)
	if err != nil {
		return nil, err
	}
	return result.Roots, nil
}

func askFor[R any](ctx context.Context, key, method string, params any) (*R, error) {
	q := Question{Key: key, Method: method}
	if params != nil {
		text, err := encode(params)
		if err != nil {
			return nil, fmt.Errorf("the question %q can't be encoded: %w", key, err)
		}
		q.Params = text
	}
	response, err := AskRaw(ctx, q)
	if err != nil {
		return nil, err
	}
	result := new(R)
	if err := json.Unmarshal(response, result); err != nil {
		return nil, &MisfitError{Key: key, Reason: "it is no result of " + method}
	}
	return result, nil
}
