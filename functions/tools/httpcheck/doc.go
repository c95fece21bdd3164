// Package httpcheck asks URLs how they are, without letting whoever names the
// URLs reach what only this machine can reach.
//
// Every connection is checked by the address that it is really made to, after
// name resolution and again for each redirect: a name that resolves to a private
// address, or to another address the second time, gets nowhere. Proxies from the
// environment are not used, bodies are never read, headers are bounded, URLs
// with credentials are refused, and no result tells an address or a name server.
//
// What it does not do: it limits neither ports nor how often a host is asked.
//
//	c := httpcheck.New(httpcheck.Options{Timeout: 10 * time.Second})
//	results, err := c.All(ctx, urls, 8, nil)
package httpcheck
