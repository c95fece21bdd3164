package protocol

import (
	"encoding/json"
	"errors"
)

// Capabilities is what a client declared for one request.
type Capabilities struct {
	// Raw is the object as it came; nil means nothing was declared.
	Raw json.RawMessage

	elicitation, sampling, roots, extensions map[string]json.RawMessage
}

// ParseCapabilities reads a ClientCapabilities object. A capability that is not
// an object is an error.
func ParseCapabilities(raw json.RawMessage) (Capabilities, error) {
	c, all := Capabilities{Raw: raw}, map[string]json.RawMessage{}
	if !isObject(raw) || json.Unmarshal(raw, &all) != nil {
		return c, errors.New("it must be an object")
	}
	for name, into := range map[string]*map[string]json.RawMessage{
		"elicitation": &c.elicitation, "sampling": &c.sampling, "roots": &c.roots, "extensions": &c.extensions,
	} {
		if one, declared := all[name]; declared && (!isObject(one) || json.Unmarshal(one, into) != nil) {
			return c, errors.New(name + " must be an object")
		}
	}
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
