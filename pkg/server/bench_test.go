package server_test

import "testing"

// BenchmarkCall is one trivial synchronous call, without HTTP.
func BenchmarkCall(b *testing.B) {
	s, r := alone(b, fixtures(), brokenStore{}, nil), request("tools/call", `"name":"greet","arguments":{"name":"Luca"},`)
	b.ReportAllocs()
	for b.Loop() {
		if got := s.Handle(b.Context(), r, nil); got.Status != 200 {
			b.Fatal(got.Status)
		}
	}
}
