package dns

import (
	"fmt"
	"net/netip"
	"slices"
)

// PolicyOptions lifts parts of a policy. The zero value allows public addresses and ports 80 and 443.
type PolicyOptions struct {
	AllowNets  []netip.Prefix // networks allowed whatever they are: --allow-net
	AllowAddrs []netip.Addr   // single addresses: a private seed allows its own
	AllowPorts []uint16       // ports besides 80 and 443: --allow-port, and those of the seeds
}

// Policy says which addresses and ports may be contacted. It is immutable, and safe for concurrent use; a
// nil Policy is that of the zero options.
type Policy struct {
	nets  []netip.Prefix
	ports []uint16
}

// NewPolicy returns the policy of the options.
func NewPolicy(o PolicyOptions) *Policy {
	p := &Policy{ports: slices.Clone(o.AllowPorts)}
	for _, n := range o.AllowNets {
		p.nets = append(p.nets, unmapPrefix(n))
	}
	for _, a := range o.AllowAddrs {
		a = a.Unmap().WithZone("")
		p.nets = append(p.nets, netip.PrefixFrom(a, a.BitLen()))
	}
	return p
}

// unmapPrefix writes a network of IPv4-mapped addresses as the IPv4 network it is.
func unmapPrefix(n netip.Prefix) netip.Prefix {
	const mapped = 96 // bits before the IPv4 address, RFC 4291 §2.5.5.2
	if n.Addr().Is4In6() && n.Bits() >= mapped {
		n = netip.PrefixFrom(n.Addr().Unmap(), n.Bits()-mapped)
	}
	return n.Masked()
}

// CheckAddr returns nil if a may be contacted: a public unicast address, or one the options allow. An
// address that carries another inside (IPv4-mapped, NAT64, 6to4, Teredo) is as good as that one. The error
// names the address, the reason and the flag that would allow it.
func (p *Policy) CheckAddr(a netip.Addr) error {
	a = a.Unmap()
	if p.allows(a) {
		return nil
	}
	reason := special(a)
	if reason == "" {
		for _, inner := range embedded(a) {
			if err := p.CheckAddr(inner); err != nil {
				return fmt.Errorf("address %v leads to: %w", a, err)
			}
		}
		return nil
	}
	if !a.IsValid() || a.Zone() != "" {
		return fmt.Errorf("address %v is %s", a, reason)
	}
	return fmt.Errorf("address %v is %s; --allow-net %v/%d would allow it", a, reason, a, a.BitLen())
}

func (p *Policy) allows(a netip.Addr) bool {
	return p != nil && slices.ContainsFunc(p.nets, func(n netip.Prefix) bool { return n.Contains(a) })
}

// CheckPort returns nil if the port may be contacted: 80, 443, or one the options allow.
func (p *Policy) CheckPort(port uint16) error {
	if port == 80 || port == 443 || p != nil && slices.Contains(p.ports, port) {
		return nil
	}
	return fmt.Errorf("port %d is neither 80 nor 443; --allow-port %d would allow it", port, port)
}

// IsLocal reports whether a is a loopback or private address (RFC 1918, RFC 4193): there, an operator may
// do without a delay.
func (p *Policy) IsLocal(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsLoopback() || a.IsPrivate()
}

// network is an address block that is not for public contacts.
type network struct {
	prefix netip.Prefix
	reason string
}

// specialNets are the blocks of the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and
// later) that are no public destination, and the addresses where clouds keep their metadata, first so that
// these are named as what they are. In IPv6, all that is not in 2000::/3 is refused anyway.
var specialNets = []network{
	{netip.MustParsePrefix("169.254.169.254/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "a cloud metadata service"},

	{netip.MustParsePrefix("0.0.0.0/8"), "of this network (RFC 791)"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private (RFC 1918)"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared behind carrier NAT (RFC 6598)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback (RFC 1122)"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local (RFC 3927)"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private (RFC 1918)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "for protocol assignments (RFC 6890)"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay (RFC 7526)"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private (RFC 1918)"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks (RFC 2544)"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation (RFC 5737)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast (RFC 5771)"},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast (RFC 919)"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved (RFC 1112)"},

	{netip.MustParsePrefix("::/128"), "unspecified (RFC 4291)"},
	{netip.MustParsePrefix("::1/128"), "loopback (RFC 4291)"},
	{netip.MustParsePrefix("::/96"), "IPv4-compatible, which is deprecated (RFC 4291)"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "for local NAT64 (RFC 8215)"},
	{netip.MustParsePrefix("100::/64"), "for discarding (RFC 6666)"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation (RFC 3849)"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation (RFC 9637)"},
	{netip.MustParsePrefix("5f00::/16"), "for segment routing (RFC 9602)"},
	{netip.MustParsePrefix("fc00::/7"), "private (RFC 4193)"},
	{netip.MustParsePrefix("fe80::/10"), "link-local (RFC 4291)"},
	{netip.MustParsePrefix("fec0::/10"), "site-local, which is deprecated (RFC 3879)"},
	{netip.MustParsePrefix("ff00::/8"), "multicast (RFC 4291)"},
}

// Blocks of IPv6 that special and embedded treat by themselves.
var (
	globalUnicast = netip.MustParsePrefix("2000::/3") // RFC 4291, the only one allocated
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
	teredo        = netip.MustParsePrefix("2001::/32")
	protocols     = netip.MustParsePrefix("2001::/23") // RFC 2928: ORCHID, benchmarks, and Teredo
	sixToFour     = netip.MustParsePrefix("2002::/16")
)

// special says what keeps a from being a public unicast address, or "".
func special(a netip.Addr) string {
	if !a.IsValid() {
		return "no address"
	}
	if a.Zone() != "" {
		return "bound to a network interface"
	}
	for _, n := range specialNets {
		if n.prefix.Contains(a) {
			return n.reason
		}
	}
	switch {
	case a.Is4(), nat64.Contains(a), teredo.Contains(a):
		return ""
	case protocols.Contains(a):
		return "for protocol assignments (RFC 2928)"
	case !globalUnicast.Contains(a):
		return "not global unicast (RFC 4291)"
	}
	return ""
}

// embedded returns the IPv4 addresses that packets to a end up at.
func embedded(a netip.Addr) []netip.Addr {
	if a.Is4() {
		return nil
	}
	b := a.As16()
	switch {
	case nat64.Contains(a): // RFC 6052 §2.2
		return []netip.Addr{netip.AddrFrom4([4]byte(b[12:16]))}
	case sixToFour.Contains(a): // RFC 3056 §2
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case teredo.Contains(a): // RFC 4380 §4: the server, and the client with its bits inverted
		client := [4]byte{^b[12], ^b[13], ^b[14], ^b[15]}
		return []netip.Addr{netip.AddrFrom4([4]byte(b[4:8])), netip.AddrFrom4(client)}
	}
	return nil
}
