package httpmcp

import (
	"bytes"
	"net/http"
	"sync"

	"toolhost/pkg/clock"
	"toolhost/pkg/limits"
)

// stream answers with server-sent events. It begins with the first message, so a
// call that sends none is answered with plain JSON. From then on until its end a
// comment now and then keeps the connection alive (R-L5).
type stream struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	clock clock.Clock
	lost  func() // ends the call of a client that went away (R-H10)
	begun bool

	ended   chan struct{}
	keeping sync.WaitGroup
}

func (s *stream) open() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// send writes one message as an event, at once. Messages to a client that went
// away are lost.
func (s *stream) send(message []byte) {
	var event bytes.Buffer
	event.WriteString("event: message\n")
	for line := range bytes.Lines(message) {
		event.WriteString("data: ")
		event.Write(bytes.TrimRight(line, "\r\n"))
		event.WriteByte('\n')
	}
	event.WriteByte('\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begin()
	}
	s.write(event.Bytes())
}

func (s *stream) begin() {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies must not collect events (R-L7)
	s.w.WriteHeader(http.StatusOK)
	s.begun, s.ended = true, make(chan struct{})
	s.keeping.Go(s.keepAlive)
}

// write needs the lock.
func (s *stream) write(b []byte) {
	if _, err := s.w.Write(b); err != nil {
		s.lost()
		return
	}
	_ = http.NewResponseController(s.w).Flush() // a writer that can't flush sends at the end
}

func (s *stream) keepAlive() {
	for {
		tick, stop := s.clock.After(limits.KeepAlive)
		select {
		case <-tick:
			s.mu.Lock()
			s.write([]byte(": still here\n\n"))
			s.mu.Unlock()
		case <-s.ended:
			stop()
			return
		}
	}
}

// end must follow the last message.
func (s *stream) end() {
	if s.open() {
		close(s.ended)
		s.keeping.Wait()
	}
}

// flushes reports whether w can send what was written before its handler returns.
func flushes(w http.ResponseWriter) bool {
	for {
		switch t := w.(type) {
		case http.Flusher, interface{ FlushError() error }:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}
