package server

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"toolhost/pkg/fault"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
	"toolhost/pkg/queue"
	"toolhost/pkg/quota"
	"toolhost/pkg/task"
)

const (
	idPurpose         = "toolhost idempotent id v1"
	maxIdempotencyKey = 256
)

// idMaker makes the task ids of idempotent calls, by a MAC under a key that
// does not rotate; nil makes none.
type idMaker []byte

func newIDMaker(secret []byte) (idMaker, error) {
	const op = "server.New"
	if secret == nil {
		return nil, nil
	}
	if len(secret) < leastKey {
		return nil, fault.New(fault.Invalid, op, "a key has at least %d bytes", leastKey)
	}
	key, err := hkdf.Key(sha256.New, secret, nil, idPurpose, 32)
	return key, fault.Wrap(fault.Internal, op, err)
}

// id is 128 bits of a MAC over caller and key, in hex (R-C3).
func (m idMaker) id(o task.Owner, key string) string {
	mac := hmac.New(sha256.New, m)
	mac.Write(jsonrpc.Encode([]string{o.Issuer, o.Subject, o.Tenant, o.Client, key}))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// identity tells a call's task from all others.
type identity struct {
	id string
	// fingerprint is of tool and arguments; "" without an idempotency key.
	fingerprint string
}

// identify gives a call's task its id: a random one, or the caller's own for the
// idempotency key.
func (s *Server) identify(c *call, name string, arguments json.RawMessage) (identity, error) {
	raw, given := c.meta.All[protocol.MetaIdempotencyKey]
	if !given {
		id, err := uuid.NewRandom() // 122 bits from crypto/rand (R-C3)
		return identity{id: id.String()}, fault.Wrap(fault.Internal, "server.identify", err)
	}
	var key string
	switch {
	case raw[0] != '"' || json.Unmarshal(raw, &key) != nil || key == "" || len(key) > maxIdempotencyKey:
		return identity{}, badKey("must be a string of 1 to %d bytes", maxIdempotencyKey)
	case c.owner == task.Owner{}:
		return identity{}, badKey("needs an authenticated caller: all anonymous callers are one, and would get each other's tasks")
	case s.ids == nil:
		return identity{}, badKey("is not accepted by this server, which has no key for it")
	}
	sum := sha256.Sum256(append(jsonrpc.Encode(name), digest(arguments)...))
	return identity{s.ids.id(c.owner, key), base64.RawStdEncoding.EncodeToString(sum[:])}, nil
}

func badKey(format string, args ...any) error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "params._meta."+protocol.MetaIdempotencyKey+" "+format, args...)
}

// digest is of a call's arguments. The order of properties and the white space
// between them mean nothing.
func digest(arguments json.RawMessage) []byte {
	canonical, err := jsontext.AppendFormat(nil, arguments, jsontext.ReorderRawObjects(true))
	if err != nil {
		canonical = arguments
	}
	sum := sha256.Sum256(canonical)
	return sum[:]
}

// made is the answer to a call that has become a task before; nil if it has not.
func (s *Server) made(ctx context.Context, c *call, who identity) (any, error) {
	if who.fingerprint == "" {
		return nil, nil
	}
	t, err := s.store.Load(ctx, who.id)
	switch {
	case fault.Is(err, fault.NotFound), err == nil && t.Expired(s.clock.Now()):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return s.again(ctx, c, who, t)
}

// again answers a call with the task t that has its id. One that was never
// claimed gets another wake-up: the call that made it may have died before it
// sent one (invariant 1).
func (s *Server) again(ctx context.Context, c *call, who identity, t task.Task) (any, error) {
	switch {
	case quota.Fenced(t): // this call's own creation took too long, or one of the same key was just given up
		return nil, fault.New(fault.Busy, "server.again", "the creation was given up")
	case who.fingerprint == "", t.Owner != c.owner:
		return nil, fault.Wrap(fault.Internal, "server.again", errors.New("a new task id is taken"))
	case t.Fingerprint != who.fingerprint:
		return nil, badKey("was used before, for another tool or other arguments")
	}
	if t.Status == task.Working && t.Claims == 0 {
		if err := s.wake(ctx, t, queue.Created); err != nil {
			return nil, err
		}
	}
	return s.created(ctx, c, t)
}
