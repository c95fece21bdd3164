package server

import (
	"encoding/json"
	"sync"

	"toolhost/pkg/jsonrpc"
	"toolhost/pkg/protocol"
	"toolhost/pkg/tool"
)

// progress sends a synchronous run's progress to a client that gave a token:
// only rising values, and none after the result (R-L8).
type progress struct {
	mu     sync.Mutex
	token  json.RawMessage
	notify Notify
	sent   bool
	last   float64
}

func newProgress(c *call) *progress {
	p := &progress{token: c.meta.ProgressToken, notify: c.notify}
	if p.token == nil {
		p.notify = nil
	}
	return p
}

func (p *progress) report(now tool.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.notify == nil || p.sent && now.Done <= p.last {
		return
	}
	p.sent, p.last = true, now.Done
	p.notify(jsonrpc.Notification(protocol.NotificationProgress, jsonrpc.Encode(struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total,omitempty"`
		Message  string          `json:"message,omitempty"`
	}{p.token, now.Done, now.Total, now.Message})))
}

// end makes every later report silent.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notify = nil
}
