package sqs

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	visibilityTimeout  = "VisibilityTimeout"
	delaySeconds       = "DelaySeconds"
	retentionPeriod    = "MessageRetentionPeriod"
	maximumMessageSize = "MaximumMessageSize"
	waitTimeSeconds    = "ReceiveMessageWaitTimeSeconds"
	redrivePolicy      = "RedrivePolicy"
	redriveAllowPolicy = "RedriveAllowPolicy"
)

const (
	maxVisibility = 12 * 60 * 60 // seconds
	maxDelay      = 15 * 60      // seconds
	maxWait       = 20           // seconds
	maxBytes      = 1 << 20      // of a message, and of a batch
	maxSources    = 10           // of a RedriveAllowPolicy
)

// numbers are the attributes that are numbers: what SQS allows, and its default.
var numbers = map[string]struct{ lowest, highest, normal int }{
	visibilityTimeout:  {0, maxVisibility, 30},
	delaySeconds:       {0, maxDelay, 0},
	retentionPeriod:    {60, 14 * 24 * 60 * 60, 4 * 24 * 60 * 60},
	maximumMessageSize: {1024, maxBytes, maxBytes},
	waitTimeSeconds:    {0, maxWait, 0},
}

// attributes are a queue's settings by name, valid and in one spelling.
type attributes map[string]string

func (a attributes) number(name string) int {
	if n, err := strconv.Atoi(a[name]); err == nil {
		return n
	}
	return numbers[name].normal
}

// value is an attribute's value, SQS's default if it was not set.
func (a attributes) value(name string) string {
	if _, numeric := numbers[name]; numeric {
		return strconv.Itoa(a.number(name))
	}
	return a[name]
}

func (a attributes) duration(name string) time.Duration {
	return time.Duration(a.number(name)) * time.Second
}

// redrive is a RedrivePolicy: where a message goes that was received too often.
type redrive struct {
	Target      string      `json:"deadLetterTargetArn"`
	MaxReceives json.Number `json:"maxReceiveCount"`
}

// redrive returns the queue's policy, and how many receives it allows.
func (a attributes) redrive() (target string, maxReceives int, ok bool) {
	var r redrive
	if a[redrivePolicy] == "" || json.Unmarshal([]byte(a[redrivePolicy]), &r) != nil {
		return "", 0, false
	}
	maxReceives, err := strconv.Atoi(r.MaxReceives.String())
	return r.Target, maxReceives, err == nil
}

// permission is a RedriveAllowPolicy: who may name a queue as its dead-letter queue.
type permission struct {
	Redrive string   `json:"redrivePermission"`
	Sources []string `json:"sourceQueueArns,omitempty"`
}

// allows reports whether the queue may be the dead-letter queue of source.
func (a attributes) allows(source string) bool {
	var p permission
	if a[redriveAllowPolicy] == "" || json.Unmarshal([]byte(a[redriveAllowPolicy]), &p) != nil {
		return true
	}
	return p.Redrive == "allowAll" || p.Redrive == "byQueue" && slices.Contains(p.Sources, source)
}

// changed returns the attributes of the queue of that name with changes made,
// all or none. An empty policy takes the policy away.
func (s *Server) changed(name string, a attributes, changes map[string]string) (attributes, error) {
	a = maps.Clone(a)
	for _, attribute := range slices.Sorted(maps.Keys(changes)) {
		value := changes[attribute]
		var err error
		switch {
		case value == "" && (attribute == redrivePolicy || attribute == redriveAllowPolicy):
			delete(a, attribute)
			continue
		case attribute == redrivePolicy:
			value, err = s.checkRedrive(name, value)
		case attribute == redriveAllowPolicy:
			value, err = checkPermission(value)
		default:
			value, err = checkNumber(attribute, value)
		}
		if err != nil {
			return nil, err
		}
		a[attribute] = value
	}
	return a, nil
}

func checkNumber(attribute, value string) (string, error) {
	limits, known := numbers[attribute]
	if !known {
		return "", invalidAttributeName.errorf("Unknown Attribute %s: the emulator does not have it.", attribute)
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < limits.lowest || n > limits.highest {
		return "", invalidAttributeValue.errorf("Invalid value for the parameter %s: %d to %d.", attribute, limits.lowest, limits.highest)
	}
	return strconv.Itoa(n), nil
}

func (s *Server) checkRedrive(name, value string) (string, error) {
	invalid := func(reason string) (string, error) {
		return "", invalidParameterValue.errorf("Value %s for parameter RedrivePolicy is invalid. Reason: %s.", value, reason)
	}
	var r redrive
	if err := strictly(value, &r); err != nil {
		return invalid(err.Error())
	}
	if n, err := strconv.Atoi(r.MaxReceives.String()); err != nil || n < 1 || n > 1000 {
		return invalid("Invalid value for maxReceiveCount, must be from 1 to 1000")
	}
	target := s.queues[lastSegment(r.Target, ":")]
	if target == nil || r.Target != s.arn(target.name) {
		return invalid("Dead letter target does not exist")
	}
	if !target.attributes.allows(s.arn(name)) {
		return invalid("The dead letter target's RedriveAllowPolicy does not allow this queue")
	}
	return spelled(struct {
		Target      string          `json:"deadLetterTargetArn"`
		MaxReceives json.RawMessage `json:"maxReceiveCount"`
	}{r.Target, json.RawMessage(r.MaxReceives)}), nil
}

func checkPermission(value string) (string, error) {
	invalid := func(reason string) (string, error) {
		return "", invalidParameterValue.errorf("Value %s for parameter RedriveAllowPolicy is invalid. Reason: %s.", value, reason)
	}
	var p permission
	if err := strictly(value, &p); err != nil {
		return invalid(err.Error())
	}
	switch p.Redrive {
	case "allowAll", "denyAll":
		if len(p.Sources) > 0 {
			return invalid("sourceQueueArns goes with byQueue only")
		}
	case "byQueue":
		if len(p.Sources) == 0 || len(p.Sources) > maxSources {
			return invalid("byQueue needs 1 to 10 sourceQueueArns")
		}
	default:
		return invalid("redrivePermission must be allowAll, denyAll or byQueue")
	}
	return spelled(p), nil
}

// strictly decodes a policy and refuses what it does not know.
func strictly(value string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(value))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// spelled is a policy in the one spelling that is kept and compared.
func spelled(policy any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(policy) // strings and numbers can't fail
	return strings.TrimSpace(b.String())
}

// report returns the attributes that were asked for by name, or by "All". The
// counts are those of the queue as it was settled.
func (s *Server) report(q *queue, names []string) (map[string]string, error) {
	all := map[string]string{
		"QueueArn":                              s.arn(q.name),
		"CreatedTimestamp":                      strconv.FormatInt(q.created.Unix(), 10),
		"LastModifiedTimestamp":                 strconv.FormatInt(q.modified.Unix(), 10),
		"ApproximateNumberOfMessages":           strconv.Itoa(q.ready.Len()),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(q.delayed.Len()),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(q.inflight.Len()),
	}
	for name := range numbers {
		all[name] = strconv.Itoa(q.attributes.number(name))
	}
	for _, policy := range []string{redrivePolicy, redriveAllowPolicy} {
		if value, set := q.attributes[policy]; set {
			all[policy] = value
		}
	}
	if slices.Contains(names, "All") {
		return all, nil
	}
	chosen := map[string]string{}
	for _, name := range names {
		value, known := all[name]
		if !known && name != redrivePolicy && name != redriveAllowPolicy {
			return nil, invalidAttributeName.errorf("Unknown Attribute %s: the emulator does not have it.", name)
		}
		if known {
			chosen[name] = value
		}
	}
	return chosen, nil
}

var queueName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)

// checkName applies SQS's rules for the name of a standard queue.
func checkName(name string) error {
	switch {
	case name == "":
		return missing("QueueName")
	case strings.HasSuffix(name, ".fifo"):
		return unsupportedOperation.errorf("The emulator does not have FIFO queues: %s.", name)
	case !queueName.MatchString(name):
		return invalidParameterValue.errorf("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.")
	}
	return nil
}

// lastSegment is what follows the last separator.
func lastSegment(s, separator string) string { return s[strings.LastIndex(s, separator)+1:] }
