package sqs

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

const traceHeader = "AWSTraceHeader"

const maxAttributes = 10

var (
	attributeName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,256}$`)
	dataType      = regexp.MustCompile(`^(String|Number|Binary)(\..+)?$`)
	number        = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$`)
	groupID       = regexp.MustCompile(`^[!-~]{1,128}$`)
	traceRoot     = regexp.MustCompile(`(^|;)\s*Root=1-[0-9a-fA-F]{8}-[0-9a-fA-F]{24}(;|$)`)
)

// size is what counts towards a message's limit: the body and the attributes'
// names, types and values.
func (o *outgoing) size() int {
	total := len(o.MessageBody)
	for name, a := range o.MessageAttributes {
		value, _ := a.value()
		total += len(name) + len(a.DataType) + len(value)
	}
	return total
}

// check applies SQS's rules for what may be sent to a queue.
func (o *outgoing) check(q *queue) error {
	if o.MessageBody == "" {
		return missing("MessageBody")
	}
	if !allowed(o.MessageBody) {
		return invalidMessageContents.errorf("Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF.")
	}
	if o.DelaySeconds != nil && (*o.DelaySeconds < 0 || *o.DelaySeconds > maxDelay) {
		return outOfRange(delaySeconds, *o.DelaySeconds, 0, maxDelay)
	}
	if o.MessageGroupID != "" && !groupID.MatchString(o.MessageGroupID) {
		return invalidParameterValue.errorf("MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length.")
	}
	if len(o.MessageAttributes) > maxAttributes {
		return invalidParameterValue.errorf("Number of message attributes [%d] exceeds the allowed maximum [%d].", len(o.MessageAttributes), maxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(o.MessageAttributes)) {
		if err := o.MessageAttributes[name].check(name); err != nil {
			return err
		}
	}
	for name, a := range o.MessageSystemAttributes {
		if name != traceHeader {
			return invalidParameterValue.errorf("Message system attribute name '%s' is invalid: only %s may be sent.", name, traceHeader)
		}
		if a.DataType != "String" || a.StringValue == nil || !traceRoot.MatchString(*a.StringValue) {
			return invalidParameterValue.errorf("Message system attribute '%s' must be a String that is an X-Ray trace header.", name)
		}
	}
	if limit := q.attributes.number(maximumMessageSize); o.size() > limit {
		return invalidParameterValue.errorf("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", limit+1)
	}
	return nil
}

// check applies SQS's rules for a message attribute of a name.
func (a attribute) check(name string) error {
	lower := strings.ToLower(name)
	if !attributeName.MatchString(name) || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || strings.Contains(name, "..") ||
		strings.HasPrefix(lower, "aws.") || strings.HasPrefix(lower, "amazon.") {
		return invalidParameterValue.errorf("Message (user) attribute name '%s' is invalid.", name)
	}
	if !dataType.MatchString(a.DataType) || len(a.DataType) > 256 {
		return invalidParameterValue.errorf("The type of message (user) attribute '%s' is invalid. You must use only the following supported type prefixes: Binary, Number, String.", name)
	}
	value, text := a.value()
	binary := strings.HasPrefix(a.DataType, "Binary")
	switch {
	case len(value) == 0:
		return invalidParameterValue.errorf("Message (user) attribute '%s' must contain a non-empty value of type '%s'.", name, a.DataType)
	case text == binary || text && a.BinaryValue != nil:
		return invalidParameterValue.errorf("The message attribute '%s' with type '%s' must use field '%s'.", name, a.DataType, map[bool]string{true: "Binary", false: "String"}[binary])
	case text && !allowed(*a.StringValue):
		return invalidMessageContents.errorf("Invalid characters found in message attribute '%s'.", name)
	case strings.HasPrefix(a.DataType, "Number") && !number.MatchString(*a.StringValue):
		return invalidParameterValue.errorf("Can't cast the value of message (user) attribute '%s' to a number.", name)
	}
	return nil
}

// allowed reports whether every character may stand in a message.
func allowed(text string) bool {
	for _, r := range text {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return false
		}
	}
	return true
}
