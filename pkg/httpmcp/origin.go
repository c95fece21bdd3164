package httpmcp

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"toolhost/pkg/protocol"
)

func (h *handler) allowsHost(host string) bool {
	return h.options.AllowedHosts == nil || slices.ContainsFunc(h.options.AllowedHosts, func(allowed string) bool {
		return strings.EqualFold(allowed, hostname(host))
	})
}

func (h *handler) allowsOrigin(origin, host string) bool {
	if slices.Contains(h.options.AllowedOrigins, "*") || slices.Contains(h.options.AllowedOrigins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && isLoopback(u.Hostname()) && isLoopback(hostname(host))
}

// hostname is a Host header without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

func isLoopback(name string) bool {
	addr, err := netip.ParseAddr(name)
	return strings.EqualFold(name, "localhost") || err == nil && addr.IsLoopback()
}

// share lets a page of an allowed origin send our headers and read the answer.
// Of those that it asks to send, the headers that mirror arguments (R-H2) are
// ours too.
func share(h http.Header, origin string, asked []string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", http.MethodPost)
	allowed := []string{"Authorization", "Content-Type", "Accept", protocol.HeaderVersion, protocol.HeaderMethod, protocol.HeaderName}
	for name := range strings.SplitSeq(strings.Join(asked, ","), ",") {
		name = http.CanonicalHeaderKey(strings.TrimSpace(name))
		if strings.HasPrefix(name, protocol.HeaderParamPrefix) {
			allowed = append(allowed, name)
		}
	}
	h.Set("Access-Control-Allow-Headers", strings.Join(allowed, ", "))
	h.Set("Access-Control-Max-Age", "7200") // as long as browsers keep it
	h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
}
