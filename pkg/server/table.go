package server

import (
	"context"
	"encoding/json"

	"toolhost/pkg/auth"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
	"toolhost/pkg/task"
)

// method is a row of the table: all that the server knows of one method.
type method struct {
	// named is the param that Mcp-Name mirrors, "" if none (R-H1).
	named string
	// needsTasks says whether the call needs the Tasks extension (R-N5); nil: never.
	needsTasks func(*call) bool
	// modern answers a request that carries its own version and capabilities,
	// legacy one of a client that began with initialize; nil: the method does not
	// exist there.
	modern, legacy handler
	// since is the first legacy revision that has the method; "": all have it.
	since string
}

// handler answers a call. Its result is encoded as it is, or is a json.RawMessage.
type handler func(*Server, context.Context, *call) (any, error)

// methods is the table. A method that is not in it does not exist (R-N9).
var methods = map[string]method{
	protocol.MethodDiscover:   {modern: (*Server).discover},
	protocol.MethodInitialize: {legacy: (*Server).initialize},
	protocol.MethodPing:       {legacy: (*Server).ping},
	protocol.MethodToolsList:  {modern: (*Server).listTools, legacy: (*Server).listLegacyTools},
	protocol.MethodToolsCall:  {named: "name", modern: (*Server).callTool, legacy: (*Server).callLegacyTool},
	protocol.MethodTasksGet: {named: "taskId", needsTasks: always, modern: (*Server).getTask,
		legacy: (*Server).getLegacyTask, since: protocol.Revision20251125},
	protocol.MethodTasksResult: {legacy: (*Server).taskResult, since: protocol.Revision20251125},
	protocol.MethodTasksUpdate: {named: "taskId", needsTasks: always, modern: (*Server).updateTask},
	protocol.MethodTasksCancel: {named: "taskId", needsTasks: always, modern: (*Server).cancelTask,
		legacy: (*Server).cancelLegacyTask, since: protocol.Revision20251125},
	protocol.MethodListen: {needsTasks: watchesTasks, modern: (*Server).listen},
}

func always(*call) bool { return true }

// call is one request on its way through the server.
type call struct {
	headers  protocol.Headers
	message  jsonrpc.Message
	params   map[string]json.RawMessage
	meta     protocol.RequestMeta
	client   protocol.Capabilities
	revision string
	caller   auth.Principal
	owner    task.Owner
	live     bool
	notify   Notify
	// legacy says that the client began with initialize (R-N11), batched that the
	// message is one of several in a request.
	legacy, batched bool
	// task is there if a legacy client asks the call to be a task.
	task *taskParam
	// dispatched is set when the request has passed the checks that come before
	// its handler: -32602 has another status from then on.
	dispatched bool
}

// text is a param that must be a string.
func (c *call) text(name string) (string, error) {
	var s string
	raw := c.params[name]
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params.%s must be a string", name)
	}
	return s, nil
}

// answer takes a request through the checks, in their order (R-N12), to its
// handler.
func (s *Server) answer(ctx context.Context, c *call, body []byte) (any, error) {
	var bad *jsonrpc.Error
	if c.message, bad = jsonrpc.Parse(body); bad != nil {
		return nil, bad
	}
	if c.message.Params != nil {
		if err := json.Unmarshal(c.message.Params, &c.params); err != nil {
			return nil, jsonrpc.Errorf(jsonrpc.CodeParse, "not JSON")
		}
	}
	c.meta, c.caller = protocol.ReadMeta(c.params["_meta"]), auth.From(ctx)
	c.owner = c.caller.Owner()
	legacy := !c.meta.IsModern() && !protocol.ClaimsModern(c.headers.Version.Value)
	switch {
	case !legacy && c.batched:
		return nil, errNotInBatch
	case legacy:
		m, err := s.admitLegacy(c)
		if err != nil || c.message.ID == nil {
			return nil, err
		}
		return m.legacy(s, ctx, c)
	case c.message.ID == nil:
		return nil, nil // no notification of a client has an effect here (R-X5)
	}
	m, err := s.admit(c)
	if err != nil {
		return nil, err
	}
	return m.modern(s, ctx, c)
}

// admit checks a modern request up to its params.
func (s *Server) admit(c *call) (method, error) {
	var none method
	h := c.headers
	if c.meta.Version == "" {
		return none, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params._meta must have %s, a string", protocol.MetaProtocolVersion)
	}
	c.revision = c.meta.Version
	if !h.Version.Present || h.Version.Value != c.revision {
		return none, protocol.Mismatch(protocol.HeaderVersion, h.Version)
	}
	if !protocol.IsModern(c.revision) {
		return none, unsupported(protocol.CodeUnsupportedVersion, c.revision)
	}
	var err error
	if c.client, err = protocol.ParseCapabilities(c.meta.All[protocol.MetaClientCapabilities]); err != nil {
		return none, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params._meta must have %s: %v", protocol.MetaClientCapabilities, err)
	}
	if !h.Method.Present || h.Method.Value != c.message.Method {
		return none, protocol.Mismatch(protocol.HeaderMethod, h.Method)
	}
	m, known := methods[c.message.Method]
	if name, err := c.text(m.named); m.named != "" && err == nil {
		if value, ok := h.Name.Decoded(); !h.Name.Present || !ok || value != name {
			return none, protocol.Mismatch(protocol.HeaderName, h.Name)
		}
	}
	if !known || m.modern == nil {
		return none, noMethod(c.message.Method)
	}
	if m.needsTasks != nil && m.needsTasks(c) && !c.client.HasTasks() {
		return none, protocol.MissingCapability(protocol.NeedsTasks)
	}
	c.dispatched = true
	return m, nil
}
