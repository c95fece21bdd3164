package drivertest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// fate is what happens to a request on its way.
type fate uint8

const (
	throttled fate = iota
	lostRequest
	lostReply
)

// wire is a client's connection that can break. It breaks the operations that
// change something for Toolhost, and lets all others through.
type wire struct {
	base     http.RoundTripper
	breaks   []string // operations, as in X-Amz-Target
	throttle string   // the service's error

	mu   sync.Mutex
	fate fate
	left int
}

// meet makes the next n requests meet the fate.
func (w *wire) meet(f fate, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fate, w.left = f, n
}

func (w *wire) next(operation string) (fate, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.breaks {
		if b == operation && w.left > 0 {
			w.left--
			return w.fate, true
		}
	}
	return 0, false
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	f, broken := w.next(operation)
	if !broken {
		return w.base.RoundTrip(r)
	}
	switch f {
	case throttled:
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		rec.WriteHeader(http.StatusBadRequest)
		io.WriteString(rec, `{"__type":"`+w.throttle+`","message":"injected"}`)
		resp := rec.Result()
		resp.Request = r
		return resp, nil
	case lostReply:
		resp, err := w.base.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

// impatient retries as the SDK does, but at once.
func impatient() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		o.RateLimiter = ratelimit.None
	})
}

// local is the configuration of a client of an emulator, which checks no signature.
func local(w *wire) aws.Config {
	return aws.Config{Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient: &http.Client{Transport: w}, Retryer: impatient}
}

// real is the configuration that the environment gives.
func real(t *testing.T, w *wire) aws.Config {
	t.Helper()
	c, err := config.LoadDefaultConfig(t.Context(), config.WithHTTPClient(&http.Client{Transport: w}), config.WithRetryer(impatient))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serve puts a handler on the loopback interface for the length of the test.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
