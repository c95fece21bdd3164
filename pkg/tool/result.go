package tool

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	sdk "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

// wireResult is a CallToolResult as sent. The SDK's own encoding leaves
// resultType out, and isError if false, and writes no content as null.
type wireResult struct {
	Meta              map[string]any  `json:"_meta,omitempty"`
	ResultType        string          `json:"resultType"`
	Content           []mcp.Content   `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError"`
}

// ErrorResult is a tool error in wire form: the model sees the message.
func ErrorResult(message string) json.RawMessage {
	text, err := encode(wireResult{
		ResultType: protocol.ResultComplete,
		Content:    []mcp.Content{&mcp.TextContent{Text: message}},
		IsError:    true,
	})
	if err != nil {
		panic(err) // text always encodes
	}
	return text
}

func toolError(message string) Outcome {
	return Outcome{Kind: Done, Result: ErrorResult(message), ToolError: true}
}

// encodeResult checks a handler's result and gives it its wire form.
func (t *Tool) encodeResult(res *mcp.CallToolResult) Outcome {
	if res == nil {
		res = &mcp.CallToolResult{}
	}
	w := wireResult{
		Meta:       maps.Clone(res.Meta),
		ResultType: protocol.ResultComplete,
		Content:    []mcp.Content{},
		IsError:    res.IsError,
	}
	delete(w.Meta, protocol.MetaRelatedTask) // R-P6
	for _, c := range res.Content {
		if v := reflect.ValueOf(c); v.IsValid() && !(v.Kind() == reflect.Pointer && v.IsNil()) {
			w.Content = append(w.Content, c)
		}
	}
	structured, err := t.structured(res)
	if err != nil {
		return reference("The tool's result does not fit its output schema.", err)
	}
	if structured != nil {
		w.StructuredContent = structured
		if res.Content == nil || structured[0] != '{' {
			w.Content = append(w.Content, &mcp.TextContent{Text: string(structured)})
		}
	}
	text, err := encode(w)
	if err != nil {
		return internal(fmt.Errorf("the result can't be encoded: %w", err))
	}
	if size := protocol.WireSize(text); size > limits.MaxResult {
		return toolError(fmt.Sprintf("The result has %d bytes as sent, the limit is %d. Ask for less at once.", size, limits.MaxResult))
	}
	return Outcome{Kind: Done, Result: text, ToolError: w.IsError}
}

// structured is structuredContent, nil if there is none. It conforms to the
// output schema (R-P9); a tool error's may be left out instead.
func (t *Tool) structured(res *mcp.CallToolResult) (json.RawMessage, error) {
	if res.StructuredContent == nil {
		if t.output != nil && !res.IsError {
			return nil, fmt.Errorf("there is no structuredContent, though there is an output schema")
		}
		return nil, nil
	}
	text, err := encode(res.StructuredContent)
	if err != nil {
		return nil, fmt.Errorf("structuredContent can't be encoded: %w", err)
	}
	if t.output == nil || len(text) > limits.MaxResult {
		return text, nil
	}
	// As in the SDK: a nil map is an empty object.
	if string(text) == "null" && t.output.root.keyword("type") == "object" {
		text = json.RawMessage("{}")
	}
	checked, err := t.output.check(text, "structuredContent")
	if err != nil && res.IsError {
		return nil, nil
	}
	return checked, err
}

// brokenBy is the outcome of a protocol error that the tool returned (R-P8). Its
// message is the caller's, and may hold what that sent: the log gets the code
// (R-V3).
func brokenBy(e *sdk.Error) Outcome {
	out := &jsonrpc.Error{Code: int(e.Code), Message: e.Message}
	if json.Valid(e.Data) {
		out.Data = e.Data
	}
	return Outcome{Kind: Broken, Error: protocol.ToolError(out), Cause: fmt.Errorf("the tool returned the protocol error %d", e.Code)}
}

// internal hides a cause from the client behind a reference id (R-V4).
func internal(cause error) Outcome { return reference("The tool failed unexpectedly.", cause) }

// reference joins what the client sees and what the log says by a random id.
func reference(message string, cause error) Outcome {
	id := rand.Text()[:12]
	return Outcome{
		Kind:  Broken,
		Error: jsonrpc.Errorf(jsonrpc.CodeInternal, "%s (reference %s)", message, id),
		Cause: fmt.Errorf("reference %s: %w", id, cause),
	}
}
