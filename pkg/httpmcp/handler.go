package httpmcp

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"toolhost/pkg/clock"
	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/limits"
	"toolhost/pkg/protocol"
	"toolhost/pkg/server"
)

// Options are the limits of the transport. The zero value is right for a server
// that no browser talks to.
type Options struct {
	// MaxBody is the largest request body in bytes; 0 means limits.MaxBody.
	MaxBody int
	// AllowedOrigins are the browser origins that may call, such as
	// "https://app.example"; "*" allows all. A page on this machine may always
	// call a server that is addressed as this machine.
	AllowedOrigins []string
	// AllowedHosts are the names under which the server may be addressed, without
	// a port; nil allows all. It stops pages that rebind their own name.
	AllowedHosts []string
	// Challenge is the WWW-Authenticate header of an answer to a caller that lacks
	// some of the scopes; nil for none.
	Challenge func(scopes []string) string
	// Clock is the time; nil means the machine's.
	Clock clock.Clock
}

// New makes the handler of s.
func New(s *server.Server, o Options) http.Handler {
	if o.MaxBody == 0 {
		o.MaxBody = limits.MaxBody
	}
	if o.Clock == nil {
		o.Clock = clock.System
	}
	return &handler{server: s, options: o}
}

type handler struct {
	server  *server.Server
	options Options
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.admits(w, r) {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(h.options.MaxBody)))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			refuse(w, http.StatusRequestEntityTooLarge, "the request body is larger than %d bytes", large.Limit)
			return
		}
		refuse(w, http.StatusBadRequest, "the request body could not be read")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	events := &stream{w: w, clock: h.options.Clock, lost: cancel}
	defer events.end()
	var notify server.Notify
	if accepts(r, "text/event-stream") {
		notify = events.send
	}
	response := h.server.Handle(ctx, server.Request{Headers: protocol.ReadHeaders(r.Header), Body: body, Live: flushes(w)}, notify)
	if events.open() {
		events.send(response.Body)
		return
	}
	if h.options.Challenge != nil && response.Scopes != nil {
		w.Header().Set("WWW-Authenticate", h.options.Challenge(response.Scopes))
	}
	respond(w, response)
}

// admits checks what belongs to HTTP alone, and answers what it refuses (R-H4,
// R-H5).
func (h *handler) admits(w http.ResponseWriter, r *http.Request) bool {
	if !h.allowsHost(r.Host) {
		refuse(w, http.StatusForbidden, "this server is not addressed by that host name")
		return false
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if !h.allowsOrigin(origin, r.Host) {
			refuse(w, http.StatusForbidden, "pages of that origin may not call this server")
			return false
		}
		share(w.Header(), origin, r.Header.Values("Access-Control-Request-Headers"))
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			w.WriteHeader(http.StatusNoContent)
			return false
		}
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "send one JSON-RPC message by POST")
		return false
	}
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset := parameters["charset"]; err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		refuse(w, http.StatusUnsupportedMediaType, "the Content-Type must be application/json, in UTF-8")
		return false
	}
	if coding := strings.Join(r.Header.Values("Content-Encoding"), ","); coding != "" && !strings.EqualFold(coding, "identity") {
		refuse(w, http.StatusUnsupportedMediaType, "the body must not be packed: send it without a Content-Encoding")
		return false
	}
	return true
}

// accepts reports whether the client takes the media type: a client that does
// not say takes all.
func accepts(r *http.Request, media string) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(accept) == "" {
		return true
	}
	kind, _, _ := strings.Cut(media, "/")
	for one := range strings.SplitSeq(accept, ",") {
		t, params, err := mime.ParseMediaType(one)
		if err == nil && params["q"] != "0" && (t == media || t == "*/*" || t == kind+"/*") {
			return true
		}
	}
	return false
}

// refuse answers a request that never was a message: an error without an id.
func refuse(w http.ResponseWriter, status int, format string, args ...any) {
	write(w, status, jsonrpc.Failure(nil, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, format, args...)))
}

func respond(w http.ResponseWriter, r server.Response) {
	if r.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((r.RetryAfter+time.Second-1)/time.Second)))
	}
	write(w, r.Status, r.Body)
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Cache-Control", "no-store")
	if body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	if status != http.StatusNoContent { // which has no length (RFC 9110)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away learns nothing
}
