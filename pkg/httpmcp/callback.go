package httpmcp

import (
	"net/http"

	"toolhost/pkg/server"
)

// Callbacks takes what outside jobs post, as a handler to be mounted at
// callback.Path+"{token}". It asks neither for a caller, since the token is the
// right to answer, nor for a media type; errors are JSON objects.
func Callbacks(s *server.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			write(w, http.StatusMethodNotAllowed, []byte(`{"error":"send the answer by POST"}`))
			return
		}
		respond(w, s.Callback(r.Context(), r.PathValue("token"), r.Body))
	})
}
