package dynamodb

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
)

// handler carries out one operation on a request's JSON.
type handler func(s *Server, body []byte, b *bill) (reply any, err error)

// handle makes a handler of a function that takes the request's own type.
// Members that the type does not have are refused by name.
func handle[Request any](operation string, serve func(*Server, *Request, *bill) (any, error)) handler {
	return func(s *Server, body []byte, b *bill) (any, error) {
		r := new(Request)
		if err := decode(operation, body, r); err != nil {
			return nil, err
		}
		return serve(s, r, b)
	}
}

func decode(operation string, body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if member, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return unsupported("the member %s of a %s request", strings.Trim(member, `"`), operation)
		}
		return serialization(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return serialization(errors.New("text behind the request"))
	}
	return nil
}

// oneOf checks an enumeration; absent is fine.
func oneOf(member, value string, allowed ...string) error {
	if value != "" && !slices.Contains(allowed, value) {
		return unconstrained(member, value, "Member must satisfy enum value set: [%s]", strings.Join(allowed, ", "))
	}
	return nil
}

// atLeastOne checks a Limit; absent is fine.
func atLeastOne(member string, limit *int) error {
	if limit != nil && *limit < 1 {
		return unconstrained(member, *limit, "Member must have value greater than or equal to 1")
	}
	return nil
}

var tableNames = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

func checkTableName(name string) error {
	if !tableNames.MatchString(name) {
		return invalid("TableName must be at least 3 characters long and at most 255 characters long, of a-z, A-Z, 0-9, '_', '-' and '.': %q", name)
	}
	return nil
}

// table finds a table. The server's lock must be held, also while the table is used.
func (s *Server) table(name string) (*table, error) {
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	t, has := s.tables[name]
	if !has {
		return nil, unknownTable(name)
	}
	return t, nil
}
