package httpcheck

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// serve starts a server with a path for each behaviour that the tests need.
func serve(t *testing.T, start func(http.Handler) *httptest.Server) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/teapot", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", r.URL.RawQuery)
		w.WriteHeader(http.StatusFound)
	})
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.HandleFunc("/hang", func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/method", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
		}
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 64<<10)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X", strings.Repeat("x", 2*maxHeader))
	})
	s := start(mux)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(s.Close)
	return s
}

func TestCheck(t *testing.T) {
	s := serve(t, httptest.NewServer)
	gone := httptest.NewServer(nil)
	gone.Close()
	c := New(Options{Private: true})
	get := New(Options{Private: true, Method: http.MethodGet})
	for name, test := range map[string]struct {
		checker *Checker
		url     string
		want    Result
	}{
		"a status below 400 is ok":                   {c, s.URL + "/ok", Result{OK: true, Status: 200}},
		"a status of 400 and above is not":           {c, s.URL + "/teapot", Result{Status: 418}},
		"redirects are followed and named":           {c, s.URL + "/to?/ok", Result{OK: true, Status: 200, RedirectedTo: s.URL + "/ok"}},
		"HEAD is the default":                        {c, s.URL + "/method", Result{Status: 405}},
		"GET can be chosen":                          {get, s.URL + "/method", Result{OK: true, Status: 200}},
		"a body without end is not read":             {get, s.URL + "/endless", Result{OK: true, Status: 200}},
		"a header without end is given up":           {c, s.URL + "/header", Result{Error: "exceeded"}},
		"redirects in a circle end":                  {c, s.URL + "/loop", Result{Error: "redirect"}},
		"a refused connection says so":               {c, gone.URL, Result{Error: "connection refused"}},
		"a scheme that is not HTTP":                  {c, "file:///etc/passwd", Result{Error: "only http"}},
		"a redirect to a scheme that is not HTTP":    {c, s.URL + "/to?gopher://x/", Result{Error: "only http"}},
		"a redirect to a URL with credentials":       {c, s.URL + "/to?http://u:p@x/", Result{Error: "credentials"}},
		"credentials":                                {c, "http://user:secret@example.com/", Result{Error: "credentials"}},
		"no host":                                    {c, "http:///path", Result{Error: "no host"}},
		"no URL":                                     {c, "http://[::1", Result{Error: "not a URL"}},
		"nothing":                                    {c, "", Result{Error: "only http"}},
		"a very long URL":                            {c, "http://x/" + strings.Repeat("x", MaxURL), Result{Error: "longer"}},
		"a private address by default":               {New(Options{}), s.URL, Result{Error: errNotPublic.Error()}},
		"a name of a private address by default":     {New(Options{}), strings.Replace(s.URL, "127.0.0.1", "localhost", 1), Result{Error: errNotPublic.Error()}},
		"the metadata service by default":            {New(Options{}), "http://169.254.169.254/latest/meta-data/", Result{Error: errNotPublic.Error()}},
		"a private address written as one number":    {New(Options{Timeout: time.Second}), "http://2130706433/", Result{Error: "refused|host|no response"}},
		"a mapped private address by default":        {New(Options{}), "http://[::ffff:127.0.0.1]/", Result{Error: errNotPublic.Error()}},
		"a private address in an IPv6 zone, refused": {New(Options{}), "http://[fe80::1%25lo]/", Result{Error: errNotPublic.Error()}},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.checker.Check(t.Context(), test.url)
			if !sayOneOf(got.Error, test.want.Error) {
				t.Errorf("error is %q, want %q", got.Error, test.want.Error)
			}
			if strings.Contains(got.Error, "127.0.0") {
				t.Errorf("%q tells an address", got.Error)
			}
			if got.URL != test.url || got.OK != test.want.OK || got.Status != test.want.Status || got.RedirectedTo != test.want.RedirectedTo {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func sayOneOf(got, want string) bool {
	if want == "" {
		return got == ""
	}
	for one := range strings.SplitSeq(want, "|") {
		if strings.Contains(got, one) {
			return true
		}
	}
	return false
}

func TestCheck_each_connection_is_checked(t *testing.T) {
	front, inner := serve(t, httptest.NewServer), serve(t, httptest.NewServer)
	c := newChecker(Options{}, func(_, address string, _ syscall.RawConn) error {
		if address != front.Listener.Addr().String() {
			return errNotPublic
		}
		return nil
	})
	if r := c.Check(t.Context(), front.URL+"/ok"); !r.OK {
		t.Fatalf("got %+v", r)
	}
	if r := c.Check(t.Context(), front.URL+"/to?"+inner.URL+"/ok"); r.OK || r.Error != errNotPublic.Error() {
		t.Errorf("a redirect inward was followed: %+v", r)
	}
}

func TestCheck_TLS(t *testing.T) {
	s := serve(t, httptest.NewTLSServer)
	trusted := x509.NewCertPool()
	trusted.AddCert(s.Certificate())
	expires := s.Certificate().NotAfter
	for name, test := range map[string]struct {
		roots *x509.CertPool
		now   time.Time
		days  int
		error string
	}{
		"days are counted in full":              {trusted, expires.Add(-36 * time.Hour), 1, ""},
		"an expired certificate is below zero":  {trusted, expires.Add(time.Hour), -1, "expired"},
		"an unknown authority still tells days": {x509.NewCertPool(), expires.Add(-50 * time.Hour), 2, "unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Options{Private: true, RootCAs: test.roots, Now: func() time.Time { return test.now }})
			r := c.Check(t.Context(), s.URL+"/ok")
			if r.TLSDaysLeft == nil || *r.TLSDaysLeft != test.days || !sayOneOf(r.Error, test.error) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestCheck_name_lookup(t *testing.T) {
	c := New(Options{})
	for want, err := range map[string]error{
		"host not found":                         &net.DNSError{Err: "no such host", Name: "x", Server: "127.0.0.53:53", IsNotFound: true},
		"the host's name can't be looked up now": &net.DNSError{Err: "server misbehaving", Name: "x", Server: "127.0.0.53:53"},
	} {
		if got := c.explain(&net.OpError{Op: "dial", Err: err}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCheck_timeout(t *testing.T) {
	s := serve(t, httptest.NewServer)
	c := New(Options{Private: true, Timeout: 30 * time.Millisecond})
	if r := c.Check(t.Context(), s.URL+"/hang"); r.Error != "no response within 30 ms" {
		t.Errorf("got %+v", r)
	}
}

func TestAll(t *testing.T) {
	t.Run("results_keep_the_order_and_progress_counts", func(t *testing.T) {
		s := serve(t, httptest.NewServer)
		var urls []string
		for i := range 20 {
			urls = append(urls, fmt.Sprintf("%s/ok?%d", s.URL, i))
		}
		var seen []int
		results, err := New(Options{Private: true}).All(t.Context(), urls, 4, func(n int) { seen = append(seen, n) })
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if r.URL != urls[i] || !r.OK || seen[i] != i+1 {
				t.Errorf("%d: got %+v, progress %d", i, r, seen[i])
			}
		}
	})
	t.Run("never_more_at_once_than_asked", func(t *testing.T) {
		var now, most atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			now.Add(-1)
		}))
		defer s.Close()
		urls := make([]string, 30)
		for i := range urls {
			urls[i] = s.URL
		}
		if _, err := New(Options{Private: true}).All(t.Context(), urls, 3, nil); err != nil || most.Load() > 3 {
			t.Errorf("%d at once, %v", most.Load(), err)
		}
	})
	t.Run("a_cancel_ends_it_at_once_and_leaves_no_request", func(t *testing.T) {
		began, ended := make(chan struct{}, 100), make(chan struct{}, 100)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			began <- struct{}{}
			<-r.Context().Done()
			ended <- struct{}{}
		}))
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error)
		go func() {
			urls := make([]string, 50)
			for i := range urls {
				urls[i] = s.URL
			}
			_, err := New(Options{Private: true, Timeout: time.Hour}).All(ctx, urls, 2, func(int) { t.Error("progress after the cancel") })
			failed <- err
		}()
		<-began
		<-began
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		<-ended
		<-ended
		if len(began) > 0 {
			t.Error("another request was made after the cancel")
		}
	})
}

func TestIsPublic(t *testing.T) {
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1"} {
		if !isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is public", a)
		}
	}
	for _, a := range []string{
		"127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "169.254.170.2",
		"0.0.0.0", "0.1.2.3", "100.64.0.1", "192.0.0.170", "198.18.0.1", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:10.0.0.1", "::127.0.0.1",
		"64:ff9b::a00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001:0:4136::1", "2001:db8::1", "100::1",
	} {
		if isPublic(netip.MustParseAddr(a)) {
			t.Errorf("%s is not public", a)
		}
	}
	if err := allowPublic("tcp", "not an address", nil); !errors.Is(err, errNotPublic) {
		t.Errorf("got %v", err)
	}
}
