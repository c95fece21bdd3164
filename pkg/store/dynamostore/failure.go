package dynamostore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"toolhost/pkg/fault"
)

var throttles = retry.IsErrorThrottles(retry.DefaultThrottles)

// explain gives an error of the SDK its kind. The caller's own end of patience
// passes through as it is.
func explain(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if throttles.IsErrorThrottle(err) == aws.TrueTernary {
		return &fault.Error{Kind: fault.Busy, Op: op, Message: "the database is busy", Err: err}
	}
	return fault.Wrap(fault.Internal, op, err)
}

func notFound(op string) error { return fault.New(fault.NotFound, op, "no such task") }
