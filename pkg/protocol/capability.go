package protocol

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"toolhost/pkg/jsonrpc"
)

// Capabilities is what a client declared for one request.
type Capabilities struct {
	// Raw is what the object declares of the capabilities that are known here,
	// without their settings. It is kept with every task, and so must be small
	// whatever a client sends; nil means that nothing was declared.
	Raw json.RawMessage

	elicitation, sampling, roots, extensions map[string]json.RawMessage
}

// ParseCapabilities reads a ClientCapabilities object. A capability that is not
// an object is an error.
func ParseCapabilities(raw json.RawMessage) (Capabilities, error) {
	c, all := Capabilities{}, map[string]json.RawMessage{}
	if !isObject(raw) || json.Unmarshal(raw, &all) != nil {
		return c, errors.New("it must be an object")
	}
	known := map[string]map[string]struct{}{}
	for _, one := range []struct {
		name  string
		into  *map[string]json.RawMessage
		parts []string
	}{
		{"elicitation", &c.elicitation, []string{"form", "url"}},
		{"sampling", &c.sampling, []string{"tools", "context"}},
		{"roots", &c.roots, nil},
		{"extensions", &c.extensions, []string{ExtensionTasks}},
	} {
		raw, declared := all[one.name]
		if !declared {
			continue
		}
		if !isObject(raw) || json.Unmarshal(raw, one.into) != nil {
			return c, errors.New(one.name + " must be an object")
		}
		known[one.name] = map[string]struct{}{}
		for _, part := range one.parts {
			if isObject((*one.into)[part]) {
				known[one.name][part] = struct{}{}
			}
		}
	}
	c.Raw = jsonrpc.Encode(known)
	return c, nil
}

// HasTasks reports the Tasks extension. The legacy tasks capability does not
// count (R-N6).
func (c Capabilities) HasTasks() bool { return isObject(c.extensions[ExtensionTasks]) }

// HasElicitationForm reports questions by form; elicitation: {} means form only (R-U8).
func (c Capabilities) HasElicitationForm() bool {
	return c.elicitation != nil && (isObject(c.elicitation["form"]) || !isObject(c.elicitation["url"]))
}

// HasElicitationURL reports questions that are answered at a URL.
func (c Capabilities) HasElicitationURL() bool { return isObject(c.elicitation["url"]) }

// HasSampling reports that the client lets tools ask its model.
func (c Capabilities) HasSampling() bool { return c.sampling != nil }

// HasSamplingTools reports that those may use tools of their own.
func (c Capabilities) HasSamplingTools() bool { return isObject(c.sampling["tools"]) }

// HasRoots reports that the client tells its roots.
func (c Capabilities) HasRoots() bool { return c.roots != nil }

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// NeedsTasks is the requiredCapabilities of a call that can only be a task (R-N3).
var NeedsTasks = json.RawMessage(`{"extensions":{"` + ExtensionTasks + `":{}}}`)

// MissingCapability is the error for client capabilities that a call needs and
// that were not declared for it (R-N3, R-N8). required is a ClientCapabilities
// object; the message names what is in it.
func MissingCapability(required json.RawMessage) *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    CodeMissingCapability,
		Message: "Missing required client capability: " + strings.Join(leaves(required, ""), ", "),
		Data: jsonrpc.Encode(struct {
			Required json.RawMessage `json:"requiredCapabilities"`
		}{required}),
	}
}

// leaves are the paths of an object's innermost members, such as sampling.tools.
func leaves(object json.RawMessage, path string) []string {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(object, &members)
	if len(members) == 0 && path != "" {
		return []string{path}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		under := name
		if path != "" {
			under = path + "." + name
		}
		all = append(all, leaves(members[name], under)...)
	}
	return all
}
