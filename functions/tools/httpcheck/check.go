package httpcheck

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// MaxRedirects is how many redirects are followed.
	MaxRedirects = 5
	// MaxURL is the longest URL, in bytes.
	MaxURL = 2048
	// maxHeader bounds a response's header, in bytes.
	maxHeader = 64 << 10
)

// Options say how to check.
type Options struct {
	Method  string        // HEAD if ""
	Timeout time.Duration // for one URL, redirects included; 10 s if 0
	// Private also allows addresses that are not public: for tests, and for
	// deployments that are there to check their own network.
	Private bool
	// RootCAs are the certificate authorities to trust; nil means the machine's.
	RootCAs *x509.CertPool
	// Now is the clock; nil means the machine's.
	Now func() time.Time
}

// Result is what one check found.
type Result struct {
	URL          string `json:"url" jsonschema:"the URL as given"`
	OK           bool   `json:"ok" jsonschema:"whether the last response had a status below 400"`
	Status       int    `json:"status,omitempty" jsonschema:"HTTP status of the last response; absent if there was none"`
	LatencyMS    int64  `json:"latencyMs" jsonschema:"milliseconds until the last response's header, or until the failure"`
	RedirectedTo string `json:"redirectedTo,omitempty" jsonschema:"where redirects led"`
	TLSDaysLeft  *int   `json:"tlsDaysLeft,omitempty" jsonschema:"whole days until the certificate of the host that answered last expires; negative once it has"`
	Error        string `json:"error,omitempty" jsonschema:"why there is no response"`
}

// Checker checks URLs. It keeps no connection open.
type Checker struct {
	o      Options
	client *http.Client
}

// New returns a Checker.
func New(o Options) *Checker {
	if o.Private {
		return newChecker(o, nil)
	}
	return newChecker(o, allowPublic)
}

// newChecker is New with what every connection is put before.
func newChecker(o Options, control func(network, address string, _ syscall.RawConn) error) *Checker {
	o.Method = cmp.Or(o.Method, http.MethodHead)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	dialer := &net.Dialer{Control: control}
	return &Checker{o, &http.Client{
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			DisableKeepAlives:      true,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: maxHeader,
			TLSClientConfig:        &tls.Config{RootCAs: o.RootCAs, Time: o.Now},
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > MaxRedirects {
				return fmt.Errorf("more than %d redirects", MaxRedirects)
			}
			return allowURL(next.URL)
		},
	}}
}

// All checks the URLs, so many at a time, and returns their results in the same
// order. done, if set, is called after each with how many are finished, never
// twice at once. When ctx ends, All returns its error as soon as the requests
// that are under way have been given up.
func (c *Checker) All(ctx context.Context, urls []string, concurrency int, done func(finished int)) ([]Result, error) {
	results := make([]Result, len(urls))
	var mu sync.Mutex
	finished := 0
	var group errgroup.Group
	group.SetLimit(max(1, concurrency))
	for i, u := range urls {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			results[i] = c.Check(ctx, u)
			mu.Lock()
			defer mu.Unlock()
			if finished++; done != nil && ctx.Err() == nil {
				done(finished)
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return results, nil
}

// Check checks one URL. What goes wrong is in the result.
func (c *Checker) Check(ctx context.Context, rawURL string) Result {
	r := Result{URL: rawURL}
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	u, err := parseURL(rawURL)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	request := (&http.Request{
		Method: c.o.Method,
		URL:    u,
		Header: http.Header{"User-Agent": {"toolhost-http-check"}},
	}).WithContext(ctx)

	began := c.o.Now()
	response, err := c.client.Do(request)
	r.LatencyMS = c.o.Now().Sub(began).Milliseconds()
	if err != nil {
		r.Error = c.explain(err)
		var bad *tls.CertificateVerificationError
		if errors.As(err, &bad) {
			r.TLSDaysLeft = c.daysLeft(bad.UnverifiedCertificates)
		}
		return r
	}
	_ = response.Body.Close() // unread; the connection goes with it
	r.Status = response.StatusCode
	r.OK = r.Status < 400
	if final := response.Request.URL.String(); final != u.String() {
		r.RedirectedTo = final
	}
	if response.TLS != nil {
		r.TLSDaysLeft = c.daysLeft(response.TLS.PeerCertificates)
	}
	return r
}

func (c *Checker) daysLeft(chain []*x509.Certificate) *int {
	if len(chain) == 0 {
		return nil
	}
	left := chain[0].NotAfter.Sub(c.o.Now())
	days := int(left / (24 * time.Hour))
	if left < 0 {
		days--
	}
	return &days
}

func parseURL(raw string) (*url.URL, error) {
	if len(raw) > MaxURL {
		return nil, fmt.Errorf("refused: the URL is longer than %d bytes", MaxURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("this is not a URL")
	}
	return u, allowURL(u)
}

func allowURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("refused: only http and https URLs are checked")
	case u.Hostname() == "":
		return errors.New("this URL names no host")
	case u.User != nil:
		return errors.New("refused: the URL holds credentials")
	default:
		return nil
	}
}

// explain says what went wrong without naming addresses or name servers.
func (c *Checker) explain(err error) string {
	var lookup *net.DNSError
	var operation *net.OpError
	var request *url.Error
	switch {
	case errors.Is(err, errNotPublic):
		return errNotPublic.Error()
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no response within %d ms", c.o.Timeout.Milliseconds())
	case errors.As(err, &lookup):
		if lookup.IsNotFound {
			return "host not found"
		}
		return "the host's name can't be looked up now"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &operation):
		return operation.Err.Error()
	case errors.As(err, &request):
		return request.Err.Error()
	default:
		return err.Error()
	}
}
