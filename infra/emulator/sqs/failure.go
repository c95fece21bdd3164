package sqs

import (
	"errors"
	"fmt"
	"net/http"
)

// code is an error code in its two spellings, the JSON protocol's and the
// older query protocol's, by which SDKs still report it.
type code struct {
	shape  string
	query  string
	status int
}

const (
	modeled   = "com.amazonaws.sqs#"
	unmodeled = "com.amazon.coral.service#"
	legacy    = "AWS.SimpleQueueService."
)

// The codes that SQS's own model names, with the statuses that it gives them.
var (
	batchEntryIDsNotDistinct = code{modeled + "BatchEntryIdsNotDistinct", legacy + "BatchEntryIdsNotDistinct", 400}
	batchRequestTooLong      = code{modeled + "BatchRequestTooLong", legacy + "BatchRequestTooLong", 400}
	emptyBatchRequest        = code{modeled + "EmptyBatchRequest", legacy + "EmptyBatchRequest", 400}
	invalidAddress           = code{modeled + "InvalidAddress", "InvalidAddress", 404}
	invalidAttributeName     = code{modeled + "InvalidAttributeName", "InvalidAttributeName", 400}
	invalidAttributeValue    = code{modeled + "InvalidAttributeValue", "InvalidAttributeValue", 400}
	invalidBatchEntryID      = code{modeled + "InvalidBatchEntryId", legacy + "InvalidBatchEntryId", 400}
	invalidMessageContents   = code{modeled + "InvalidMessageContents", "InvalidMessageContents", 400}
	messageNotInflight       = code{modeled + "MessageNotInflight", legacy + "MessageNotInflight", 400}
	overLimit                = code{modeled + "OverLimit", "OverLimit", 403}
	queueDoesNotExist        = code{modeled + "QueueDoesNotExist", legacy + "NonExistentQueue", 400}
	queueNameExists          = code{modeled + "QueueNameExists", "QueueAlreadyExists", 400}
	receiptHandleIsInvalid   = code{modeled + "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404}
	requestThrottled         = code{modeled + "RequestThrottled", "RequestThrottled", 403}
	tooManyEntries           = code{modeled + "TooManyEntriesInBatchRequest", legacy + "TooManyEntriesInBatchRequest", 400}
	unsupportedOperation     = code{modeled + "UnsupportedOperation", legacy + "UnsupportedOperation", 400}
)

// The codes common to AWS's services.
var (
	internalFailure       = code{unmodeled + "InternalFailure", "InternalFailure", 500}
	invalidParameterValue = code{unmodeled + "InvalidParameterValueException", "InvalidParameterValue", 400}
	missingParameter      = code{unmodeled + "MissingParameterException", "MissingParameter", 400}
	serializationError    = code{unmodeled + "SerializationException", "MalformedInput", 400}
	unknownOperation      = code{unmodeled + "UnknownOperationException", "InvalidAction", 400}
)

// failure is an error that is answered to the caller.
type failure struct {
	code
	message string
}

func (c code) errorf(format string, args ...any) error {
	return &failure{code: c, message: fmt.Sprintf(format, args...)}
}

func (f *failure) Error() string { return f.query + ": " + f.message }

// failureOf is err as it is answered; what is not a failure yet is an internal one.
func failureOf(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return &failure{internalFailure, err.Error()}
}

// sender reports whether the caller is at fault.
func (f *failure) sender() bool { return f.status < http.StatusInternalServerError }

func missing(parameter string) error {
	return missingParameter.errorf("The request must contain the parameter %s.", parameter)
}

// outOfRange is SQS's answer to a number outside its limits.
func outOfRange(parameter string, value, lowest, highest int) error {
	return invalidParameterValue.errorf("Value %d for parameter %s is invalid. Reason: Must be between %d and %d, if provided.",
		value, parameter, lowest, highest)
}
