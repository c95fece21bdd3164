package task

import (
	"time"
	"unicode/utf8"

	"toolhost/pkg/limits"
)

// Spec is what a task is made from. Zero durations and attempts mean the defaults.
type Spec struct {
	ID           string
	Birth        string
	Owner        Owner
	Tool         string
	ToolVersion  string
	Arguments    Payload
	Prepared     Payload
	Capabilities []byte
	Protocol     string
	Trace        string
	Fingerprint  string

	TTL             time.Duration
	Retention       time.Duration
	PollInterval    time.Duration
	MaxPollInterval time.Duration
	MaxAttempts     int
}

// Create makes a working task that is about to be queued.
func Create(s Spec, now time.Time) Task {
	now = now.UTC().Truncate(time.Millisecond)
	return Task{
		ID: s.ID, Birth: s.Birth, Status: Working, Owner: s.Owner,
		Tool: s.Tool, ToolVersion: s.ToolVersion, Arguments: s.Arguments, Prepared: s.Prepared,
		Capabilities: s.Capabilities, Protocol: s.Protocol, Trace: s.Trace, Fingerprint: s.Fingerprint,
		MaxAttempts: or(s.MaxAttempts, limits.Attempts), DispatchedAt: now, CreatedAt: now, UpdatedAt: now,
		TTL: or(s.TTL, limits.TTL), Retention: or(s.Retention, limits.Retention),
		PollInterval:    or(s.PollInterval, limits.PollInterval),
		MaxPollInterval: max(or(s.MaxPollInterval, limits.MaxPollInterval), or(s.PollInterval, limits.PollInterval)),
	}
}

func or[T int | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// clip cuts a status message to its limit, between characters.
func clip(message string) string {
	if len(message) <= limits.MaxStatusMessage {
		return message
	}
	const mark = "…"
	cut := limits.MaxStatusMessage - len(mark)
	for cut > 0 && !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + mark
}
