package client

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
)

// Which revision a server speaks is found out by speaking: the first request goes
// out in the one that Options name, and what the server says to it decides on
// another. That holds for all later requests, until the server refuses it.

// spoken is the revision that requests are made in.
func (c *Client) spoken() string { return c.revision.Load().(string) }

// isOlder reports a server that is spoken to in a session.
func (c *Client) isOlder() bool { return protocol.IsLegacy(c.spoken()) }

// turn is the revision to make a refused request in instead; "" if there is
// none. What it turns on says that the request was not begun.
func (c *Client) turn(spoken string, err error) string {
	var (
		refused     *Error
		unreachable *UnreachableError
		older       = protocol.Legacy[0]
	)
	switch {
	case errors.As(err, &refused):
		if supported, is := refused.supported(); is {
			for _, r := range protocol.Modern {
				if r != spoken && slices.Contains(supported, r) {
					return r
				}
			}
			if protocol.IsLegacy(spoken) || !slices.ContainsFunc(supported, protocol.IsLegacy) {
				return ""
			}
			return older
		}
		if protocol.IsLegacy(spoken) || c.known.Load() || refused.isModern(spoken) {
			return ""
		}
		if turnsAway(refused.Status) || refused.Status < 300 && (refused.Code == jsonrpc.CodeMethodNotFound || refused.Code == jsonrpc.CodeInvalidRequest) {
			return older
		}
	case errors.As(err, &unreachable): // words that are no MCP
		if !protocol.IsLegacy(spoken) && !c.known.Load() && turnsAway(unreachable.Status) {
			return older
		}
	}
	return ""
}

// turnsAway reports the statuses of servers that don't know modern requests.
func turnsAway(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed
}

// supported are the versions that an unsupported-version error of either name of
// the revision lists; false if it is none.
func (e *Error) supported() ([]string, bool) {
	if e.Code != protocol.CodeUnsupportedVersion && e.Code != protocol.Code(protocol.Revision20260630, protocol.CodeUnsupportedVersion) {
		return nil, false
	}
	var data struct {
		Supported []string `json:"supported"`
	}
	return data.Supported, json.Unmarshal(e.Data, &data) == nil && len(data.Supported) > 0
}

// isModern reports an error that only a server of the newer revisions answers.
func (e *Error) isModern(spoken string) bool {
	return e.Code == protocol.Code(spoken, protocol.CodeHeaderMismatch) || e.Code == protocol.Code(spoken, protocol.CodeMissingCapability)
}
