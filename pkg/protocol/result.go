package protocol

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"toolhost/pkg/jsonrpc"
)

// ServerInfo names the server in every result's _meta (R-H7).
type ServerInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// DiscoverResult answers server/discover.
type DiscoverResult struct {
	ResultType        string             `json:"resultType"`
	SupportedVersions []string           `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	Instructions      string             `json:"instructions,omitempty"`
	TTLMs             int64              `json:"ttlMs"`
	CacheScope        string             `json:"cacheScope"`
}

// ServerCapabilities are what the server can do.
type ServerCapabilities struct {
	Tools      struct{}            `json:"tools"`
	Extensions map[string]struct{} `json:"extensions"`
}

// ListToolsResult answers tools/list.
type ListToolsResult struct {
	ResultType string            `json:"resultType"`
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor,omitempty"`
	TTLMs      int64             `json:"ttlMs"`
	CacheScope string            `json:"cacheScope"`
}

// Acknowledgement is the empty result of tasks/update and tasks/cancel (R-U1, R-X1).
type Acknowledgement struct {
	ResultType string `json:"resultType"`
}

// Stamp puts the server's name into a result's _meta and takes out what has no
// place there (R-H7, R-P6). The other members stay as they are, in their order.
// result must be an object.
func Stamp(result json.RawMessage, info ServerInfo) (json.RawMessage, error) {
	return rewrite(result, func(string, json.RawMessage) bool { return true }, func(meta map[string]json.RawMessage) {
		delete(meta, MetaRelatedTask)
		meta[MetaServerInfo] = jsonrpc.Encode(info)
	})
}

// rewrite is an object with the members that keep takes, as they are and in their
// order, and with a changed _meta, which is left out if it is empty.
func rewrite(object json.RawMessage, keep func(name string, value json.RawMessage) bool, change func(meta map[string]json.RawMessage)) (json.RawMessage, error) {
	meta := map[string]json.RawMessage{}
	dec := jsontext.NewDecoder(bytes.NewBuffer(object))
	if dec.PeekKind() != '{' {
		return nil, errors.New("a result is an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	out := make([]byte, 1, len(object)+160)
	out[0] = '{'
	for dec.PeekKind() == '"' {
		quoted, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		start, name := len(out), string(quoted[1:len(quoted)-1])
		out = append(append(out, quoted...), ':')
		value, err := dec.ReadValue()
		switch {
		case err != nil:
			return nil, err
		case name == "_meta":
			out = out[:start]
			if err := json.Unmarshal(value, &meta); err != nil {
				return nil, err
			}
		case keep(name, json.RawMessage(value)):
			out = append(append(out, value...), ',')
		default:
			out = out[:start]
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	if meta == nil { // it said null
		meta = map[string]json.RawMessage{}
	}
	if change(meta); len(meta) > 0 {
		out = append(append(out, `"_meta":`...), jsonrpc.Encode(meta)...)
	}
	return append(bytes.TrimSuffix(out, []byte(",")), '}'), nil
}

// WireSize is how many bytes a JSON text takes inside the JSON string in which
// Lambda hands a buffered response on, with the escapes for HTML that Go's
// encoder adds there. Lambda's limit counts these.
func WireSize(text json.RawMessage) int {
	size := len(text)
	for _, b := range text {
		switch b {
		case '"', '\\', '\n', '\r', '\t':
			size++
		case '<', '>', '&':
			size += len(`\u003c`) - 1
		}
	}
	return size
}
