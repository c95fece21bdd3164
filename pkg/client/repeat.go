package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"toolhost/pkg/jsonrpc"
)

const (
	// attemptTime is what one attempt may take of a request that can be repeated.
	attemptTime = 30 * time.Second
	// maxRetryAfter is the longest that a server's Retry-After is waited for.
	maxRetryAfter = time.Minute
)

// persist makes attempts until one succeeds, another would be unsafe or of no
// use, or all tries are used up.
func (c *Client) persist(ctx context.Context, x exchange, attempt func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	pause := backoff.NewExponentialBackOff()
	for try := uint(1); ; try++ {
		result, err := c.within(ctx, x, attempt)
		if err == nil {
			return result, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		passing, after := c.passing(err, x.call)
		if !passing || try >= c.opts.Tries || after > maxRetryAfter {
			return nil, err
		}
		if err := c.pause(ctx, max(pause.NextBackOff(), after)); err != nil {
			return nil, err
		}
	}
}

// within makes one attempt. A call may take as long as it takes.
func (c *Client) within(ctx context.Context, x exchange, attempt func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	if x.call {
		return attempt(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, attemptTime, fmt.Errorf("no answer within %v", attemptTime))
	defer cancel()
	return attempt(ctx)
}

// passing reports whether the same request may succeed later and may be sent
// again, and how long the server wants to be left alone. A call may be sent again
// only if it was turned away unread.
func (c *Client) passing(err error, call bool) (bool, time.Duration) {
	var (
		refused     *Error
		unreachable *UnreachableError
	)
	switch {
	case errors.As(err, &refused):
		if refused.Status == http.StatusTooManyRequests {
			// Too many open tasks, say, are not fewer in a moment, and there is no word of when.
			return !call || refused.retryAfter > 0, refused.retryAfter
		}
		return !call && (refused.Status >= 500 || refused.Code == jsonrpc.CodeInternal), refused.retryAfter
	case errors.As(err, &unreachable):
		if unreachable.Status == http.StatusTooManyRequests {
			return true, unreachable.retryAfter
		}
		return !call && (unreachable.Status >= 500 || unreachable.Status == 0 && c.answered.Load()), unreachable.retryAfter
	}
	return false, 0
}

// pause waits on the client's clock, or returns the context's error.
func (c *Client) pause(ctx context.Context, d time.Duration) error {
	over, stop := c.opts.Clock.After(d)
	defer stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-over:
		return nil
	}
}

// retryAfter reads a Retry-After header: seconds, or a date.
func (c *Client) retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if s, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(c.opts.Clock.Now()), 0)
	}
	return 0
}
