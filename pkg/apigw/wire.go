package apigw

import (
	"net/http"
	"strings"

	"toolhost/pkg/jsonrpc"
)

// split sorts headers into those with one value, those with several, and cookies.
func split(h http.Header) (one map[string]string, several map[string][]string, cookies []string) {
	one, several = map[string]string{}, map[string][]string{}
	for k, v := range h {
		switch {
		case k == "Set-Cookie":
			cookies = v
		case len(v) == 1:
			one[k] = v[0]
		case len(v) > 1:
			several[k] = v
		}
	}
	return one, several, cookies
}

// joined is split for payload 2.0, which has no multi-value headers.
func joined(h http.Header) (map[string]string, []string) {
	one, several, cookies := split(h)
	for k, v := range several {
		one[k] = strings.Join(v, ",")
	}
	return one, cookies
}

// prelude is the head of a streaming answer.
func prelude(status int, h http.Header, v2 bool) []byte {
	var p struct {
		StatusCode        int                 `json:"statusCode"`
		Headers           map[string]string   `json:"headers"`
		MultiValueHeaders map[string][]string `json:"multiValueHeaders,omitempty"`
		Cookies           []string            `json:"cookies,omitempty"`
	}
	p.StatusCode = status
	if v2 {
		p.Headers, p.Cookies = joined(h)
	} else {
		p.Headers, p.MultiValueHeaders, p.Cookies = split(h)
	}
	return append(jsonrpc.Encode(p), make([]byte, 8)...)
}
