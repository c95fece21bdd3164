package httpmcp

import (
	"bytes"
	"net/http"
	"sync"
)

// stream answers with server-sent events. It begins with the first message, so a
// call that sends none is answered with plain JSON.
type stream struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	begun bool
}

func (s *stream) open() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// send writes one message as an event, at once. Messages to a client that went
// away are lost; its request's context has ended.
func (s *stream) send(message []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		h := s.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // proxies must not collect events (R-L7)
		s.w.WriteHeader(http.StatusOK)
		s.begun = true
	}
	var event bytes.Buffer
	event.WriteString("event: message\n")
	for line := range bytes.Lines(message) {
		event.WriteString("data: ")
		event.Write(bytes.TrimRight(line, "\r\n"))
		event.WriteByte('\n')
	}
	event.WriteByte('\n')
	if _, err := s.w.Write(event.Bytes()); err == nil {
		_ = http.NewResponseController(s.w).Flush() // a writer that can't flush sends at the end
	}
}
