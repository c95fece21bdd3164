package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A token goes to the endpoint alone, and never in clear over a network.
func TestToken(t *testing.T) { // R-V5
	t.Setenv("TOOLHOST_TOKEN", "a.b.c")
	var got []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked with %q", r.URL, r.Header.Get("Authorization"))
	}))
	t.Cleanup(elsewhere.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(s.Close)
	c, err := (&cli{URL: s.URL}).client(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tools(t.Context()); err == nil {
		t.Error("a redirect is no answer")
	}
	if len(got) == 0 || got[0] != "Bearer a.b.c" {
		t.Errorf("sent %q", got)
	}
	if _, err := (&cli{URL: "http://tools.example/mcp"}).client(nil); err == nil || !strings.Contains(err.Error(), "https") || strings.Contains(err.Error(), "a.b.c") {
		t.Errorf("got %v", err)
	}
}
