package dynamodb

import (
	"fmt"
	"net/http"
)

// failure is an error as DynamoDB answers it.
type failure struct {
	status  int
	kind    string // __type, whole
	message string
	item    item // the stored item, where a failed condition asked for it
}

func (f *failure) Error() string { return f.kind + ": " + f.message }

// The namespaces of __type; a client looks only at what follows.
const (
	ownErrors      = "com.amazonaws.dynamodb.v20120810#"
	serviceErrors  = "com.amazon.coral.service#"
	validateErrors = "com.amazon.coral.validate#"
)

func refuse(kind, format string, args ...any) error {
	return &failure{status: http.StatusBadRequest, kind: kind, message: fmt.Sprintf(format, args...)}
}

// invalid is DynamoDB's answer to a request that can never succeed.
func invalid(format string, args ...any) error {
	return refuse(validateErrors+"ValidationException", format, args...)
}

// invalidParameter is invalid in the words used for a bad attribute or key.
func invalidParameter(format string, args ...any) error {
	return invalid("One or more parameter values were invalid: "+format, args...)
}

// unconstrained is invalid in the words used for a member out of its bounds.
func unconstrained(member string, value any, constraint string, args ...any) error {
	return invalid("1 validation error detected: Value '%v' at '%s' failed to satisfy constraint: %s", value, member, fmt.Sprintf(constraint, args...))
}

// unsupported refuses what DynamoDB knows and the emulator does not.
func unsupported(format string, args ...any) error {
	return invalid("This emulator does not support "+format, args...)
}

func serialization(err error) error {
	return refuse(serviceErrors+"SerializationException", "The request could not be read: %v", err)
}

func unknownTable(name string) error {
	return refuse(ownErrors+"ResourceNotFoundException", "Requested resource not found: Table: %s not found", name)
}

func throttled() error {
	return refuse(ownErrors+"ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded (injected)")
}

func internal(message string) error {
	return &failure{status: http.StatusInternalServerError, kind: ownErrors + "InternalServerError", message: message}
}

func conditionFailed(stored item) error {
	return &failure{
		status: http.StatusBadRequest, kind: ownErrors + "ConditionalCheckFailedException",
		message: "The conditional request failed", item: stored,
	}
}
