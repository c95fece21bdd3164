package jsonrpc_test

import (
	"testing"

	"toolhost/pkg/jsonrpc"
)

// R-H4: what is no batch is left to Parse, which says why.
func TestBatch(t *testing.T) {
	for body, want := range map[string]int{
		`[]`:                     0,
		" \n[{\"id\":1}, 17 ]\n": 2,
		`[[{"id":1}]]`:           1,
		`{"id":1}`:               -1,
		`[{"id":1}`:              -1,
		`[{"id":1}] x`:           -1,
		`[{"id":1,"id":2}]`:      -1,
		``:                       -1,
	} {
		messages, ok := jsonrpc.Batch([]byte(body))
		if ok != (want >= 0) || ok && len(messages) != want {
			t.Errorf("%q: %s, %v", body, messages, ok)
		}
	}
}
