package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
)

var errNotInBatch = jsonrpc.Errorf(jsonrpc.CodeInvalidRequest,
	"a batch holds messages of %s alone, and no %s", protocol.Revision20250326, protocol.MethodInitialize)

// batch answers the messages of a batch one after the other, notifications with
// nothing (R-H4). All answers together are bounded as one result is.
func (s *Server) batch(ctx context.Context, r Request, messages []json.RawMessage, notify Notify) Response {
	if n := len(messages); n == 0 || n > limits.MaxBatch {
		return s.refuse(ctx, &call{}, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a batch has 1 to %d messages, not %d", limits.MaxBatch, n))
	}
	var answers [][]byte
	size := 0
	for _, message := range messages {
		answer := s.handle(ctx, &call{headers: r.Headers, notify: notify, batched: true}, message)
		if answer.Body == nil {
			continue
		}
		answers = append(answers, answer.Body)
		if size += protocol.WireSize(answer.Body); size > s.limits.MaxResult {
			return s.refuse(ctx, &call{}, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest,
				"the answers to the batch have more than %d bytes: send its requests one by one", s.limits.MaxResult))
		}
	}
	if answers == nil {
		return Response{Status: http.StatusAccepted}
	}
	return Response{Status: http.StatusOK, Body: append(append([]byte{'['}, bytes.Join(answers, []byte(","))...), ']')}
}
