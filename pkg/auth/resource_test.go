package auth_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"toolhost/pkg/auth"
)

func TestResource(t *testing.T) { // R-V2, R-V5, case 27
	r := auth.Resource{URL: "https://tools.example/v1/mcp", Base: "https://tools.example/v1", Issuer: "https://issuer.example",
		Scopes: []string{"mcp"}, Supported: []string{"mcp", "deploy"}}
	t.Run("the_challenge_points_to_the_description_and_names_all_scopes", func(t *testing.T) {
		for want, got := range map[string]string{
			`Bearer resource_metadata="https://tools.example/v1/.well-known/oauth-protected-resource/mcp", scope="mcp"`: r.Challenge("", "", nil),
			`Bearer resource_metadata="https://tools.example/v1/.well-known/oauth-protected-resource/mcp", error="insufficient_scope", ` +
				`error_description="it \"needs\" more", scope="mcp deploy"`: r.Challenge(auth.InsufficientScope, `it "needs" more`, []string{"mcp", "deploy"}),
		} {
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		}
	})
	t.Run("the_description", func(t *testing.T) {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodGet, auth.MetadataPath, nil))
		want := `{"resource":"https://tools.example/v1/mcp","authorization_servers":["https://issuer.example"],"scopes_supported":["mcp","deploy"],"bearer_methods_supported":["header"]}`
		if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
		}
	})
	t.Run("a_page_may_ask_first", func(t *testing.T) {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodOptions, auth.MetadataPath, nil))
		if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Methods") != "GET" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	})
	t.Run("it_is_only_read", func(t *testing.T) {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequest(http.MethodPost, auth.MetadataPath, strings.NewReader("{}")))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%d", w.Code)
		}
	})
}

func TestLacks(t *testing.T) {
	p := auth.Principal{Scopes: []string{"a", "c"}}
	if got := p.Lacks([]string{"a", "b", "c", "d"}); !slices.Equal(got, []string{"b", "d"}) {
		t.Error(got)
	}
	if got := p.Lacks(nil); len(got) != 0 {
		t.Error(got)
	}
}
