package httpcheck

import (
	"errors"
	"net/netip"
	"syscall"
)

// errNotPublic does not name the address: that would tell what private names
// resolve to.
var errNotPublic = errors.New("refused: the host's address is not a public one")

// notPublic are special ranges within what net/netip calls global unicast, from
// the IANA registries of special-purpose addresses.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4: carries an IPv4 address
	netip.MustParsePrefix("3fff::/20"),       // documentation
}

// global is the part of IPv6 that is handed out for the public. What lies
// outside can carry an IPv4 address (NAT64, mapped and compatible) or is local.
var global = netip.MustParsePrefix("2000::/3")

// isPublic reports whether anybody on the Internet could reach the address.
func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !global.Contains(a) {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// allowPublic is a net.Dialer's Control: it sees the address after resolution,
// just before the connection is made.
func allowPublic(_, address string, _ syscall.RawConn) error {
	if at, err := netip.ParseAddrPort(address); err != nil || !isPublic(at.Addr()) {
		return errNotPublic
	}
	return nil
}
