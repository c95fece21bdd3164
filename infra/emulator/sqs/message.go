package sqs

import (
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// message is a message in a queue. The exported fields are kept in the journal.
type message struct {
	Sequence   uint64               `json:"sequence"` // unique in the server; a duplicate has its own
	ID         uuid.UUID            `json:"id"`
	Body       string               `json:"body"`
	Attributes map[string]attribute `json:"attributes,omitempty"`
	Group      string               `json:"group,omitempty"`
	Trace      string               `json:"trace,omitempty"`  // AWSTraceHeader
	Source     string               `json:"source,omitempty"` // ARN of the queue that gave it up
	Sent       time.Time            `json:"sent"`
	First      time.Time            `json:"first,omitzero"`    // first receive
	Received   time.Time            `json:"received,omitzero"` // last receive
	Receives   int                  `json:"receives"`          // in all queues
	Elsewhere  int                  `json:"elsewhere"`         // receives in earlier queues
	VisibleAt  time.Time            `json:"visibleAt"`

	in       *index
	rank     uint64
	position [slots]int
}

// receivedHere is how often the message was received in its present queue.
func (m *message) receivedHere() int { return m.Receives - m.Elsewhere }

// attribute is a message attribute, on the wire and in the journal.
type attribute struct {
	DataType    string  `json:"DataType"`
	StringValue *string `json:"StringValue,omitempty"`
	BinaryValue []byte  `json:"BinaryValue,omitempty"`
}

// value is the attribute's value as bytes, and whether they are a text.
func (a attribute) value() (value []byte, text bool) {
	if a.StringValue != nil {
		return []byte(*a.StringValue), true
	}
	return a.BinaryValue, false
}

// system returns the message's system attributes.
func (m *message) system(account string) map[string]string {
	all := map[string]string{
		"SenderId":                account,
		"SentTimestamp":           millis(m.Sent),
		"ApproximateReceiveCount": strconv.Itoa(m.Receives),
	}
	if !m.First.IsZero() {
		all["ApproximateFirstReceiveTimestamp"] = millis(m.First)
	}
	for name, value := range map[string]string{
		"MessageGroupId": m.Group, traceHeader: m.Trace, "DeadLetterQueueSourceArn": m.Source,
	} {
		if value != "" {
			all[name] = value
		}
	}
	return all
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// selected returns the attributes that a receive asked for: names, "All" or
// ".*", or a prefix followed by ".*".
func selected(attributes map[string]attribute, patterns []string) map[string]attribute {
	chosen := map[string]attribute{}
	for name, a := range attributes {
		for _, pattern := range patterns {
			prefix, wild := strings.CutSuffix(pattern, ".*")
			if pattern == "All" || pattern == name || wild && strings.HasPrefix(name, prefix) {
				chosen[name] = a
			}
		}
	}
	return chosen
}

// sum is the MD5 of a body, in hexadecimal.
func sum(body string) string {
	digest := md5.Sum([]byte(body))
	return hex.EncodeToString(digest[:])
}

// attributesSum is the MD5 of attributes as SQS defines it: in order of their
// names, each name, type and value with its length, or "" if there are none.
func attributesSum(attributes map[string]attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	var all []byte
	add := func(part []byte) {
		all = binary.BigEndian.AppendUint32(all, uint32(len(part)))
		all = append(all, part...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		value, text := a.value()
		add([]byte(name))
		add([]byte(a.DataType))
		kind := byte(2)
		if text {
			kind = 1
		}
		all = append(all, kind)
		add(value)
	}
	digest := md5.Sum(all)
	return hex.EncodeToString(digest[:])
}
