package dns

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPolicyAddresses(t *testing.T) {
	refused := map[string]string{ // the ends of each block, and a word of the reason
		"this network":     "0.0.0.0 0.255.255.255",
		"private":          "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255 fc00:: fdff::1 ::ffff:10.0.0.1",
		"carrier":          "100.64.0.0 100.127.255.255",
		"loopback":         "127.0.0.0 127.255.255.255 ::1 ::ffff:127.0.0.1",
		"link-local":       "169.254.0.0 169.254.255.255 fe80:: febf::1",
		"protocol":         "192.0.0.0 192.0.0.255 2001:1:: 2001:2::1 2001:10:: 2001:20:: 2001:1ff:ffff::1",
		"documentation":    "192.0.2.0 192.0.2.255 198.51.100.0 203.0.113.255 2001:db8:: 2001:db8:ffff::1 3fff:: 3fff:fff::1",
		"relay":            "192.88.99.1",
		"benchmark":        "198.18.0.0 198.19.255.255",
		"multicast":        "224.0.0.0 239.255.255.255 ff02::1",
		"reserved":         "240.0.0.0 255.255.255.254",
		"broadcast":        "255.255.255.255",
		"unspecified":      "::",
		"metadata":         "169.254.169.254 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 ::ffff:169.254.169.254",
		"site-local":       "fec0:: feff::1",
		"IPv4-compatible":  "::2 ::8.8.8.8",
		"NAT64":            "64:ff9b:1::8.8.8.8",
		"discard":          "100::1",
		"segment routing":  "5f00::1",
		"not global":       "4000::1 8000::1 0:0:1:: 64:ff9b:0:0:1::",
		"network inter":    "2600::1%eth0 fe80::1%eth0",
		"leads to":         "64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 2002:7f00:1:: 2002:a00:1::1 2001:0:a00:1:: 2001:0:808:808:0:0:80ff:fffe",
		"to: address 10.0": "64:ff9b::10.0.0.1 2002:a00:1::1",
	}
	p := NewPolicy(PolicyOptions{})
	for reason, list := range refused {
		for addr := range strings.FieldsSeq(list) {
			err := p.CheckAddr(netip.MustParseAddr(addr))
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: want %q, got %v", addr, reason, err)
			}
			if err != nil && !strings.Contains(addr, "%") && !strings.Contains(err.Error(), "--allow-net ") {
				t.Errorf("%s: the error names no flag: %v", addr, err)
			}
		}
	}
	public := "1.0.0.0 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 128.0.0.0 172.15.255.255 172.32.0.0 " +
		"192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 ::ffff:8.8.8.8 " +
		"2000::1 2001:200::1 2001:4860:4860::8888 2003::1 2600:: 3ffe::1 64:ff9b::8.8.8.8 2002:808:808::1 " +
		"2001:0:808:808:0:0:f7f7:f7f7"
	for addr := range strings.FieldsSeq(public) {
		if err := p.CheckAddr(netip.MustParseAddr(addr)); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if p.CheckAddr(netip.Addr{}) == nil {
		t.Error("the zero address is allowed")
	}
}

func TestPolicyAllows(t *testing.T) {
	p := NewPolicy(PolicyOptions{
		AllowNets:  []netip.Prefix{netip.MustParsePrefix("10.1.2.3/16"), netip.MustParsePrefix("::ffff:192.168.5.0/120"), netip.MustParsePrefix("fd00::/8")},
		AllowAddrs: []netip.Addr{netip.MustParseAddr("127.0.0.5"), netip.MustParseAddr("::ffff:127.0.0.6")},
		AllowPorts: []uint16{8080},
	})
	for addr, want := range map[string]bool{
		"10.1.0.0": true, "10.1.255.255": true, "10.2.0.0": false, "::ffff:10.1.1.1": true, "64:ff9b::10.1.1.1": true,
		"192.168.5.9": true, "192.168.6.9": false, "fd12::1": true, "fc00::1": false,
		"127.0.0.5": true, "127.0.0.6": true, "127.0.0.7": false, "8.8.8.8": true,
	} {
		if err := p.CheckAddr(netip.MustParseAddr(addr)); (err == nil) != want {
			t.Errorf("%s: %v", addr, err)
		}
	}
	for port, want := range map[uint16]bool{80: true, 443: true, 8080: true, 0: false, 22: false, 8081: false} {
		err := p.CheckPort(port)
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "--allow-port") {
			t.Errorf("port %d: %v", port, err)
		}
	}
}

// TestNilPolicy: forgetting the policy must not open anything.
func TestNilPolicy(t *testing.T) {
	var p *Policy
	if p.CheckAddr(netip.MustParseAddr("127.0.0.1")) == nil || p.CheckPort(8080) == nil || p.CheckPort(443) != nil {
		t.Error("a nil policy is not that of the zero options")
	}
}

func TestIsLocal(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.9": true, "::1": true, "10.0.0.1": true, "192.168.1.1": true, "fd00::1": true, "::ffff:172.16.0.1": true,
		"8.8.8.8": false, "169.254.1.1": false, "100.64.0.1": false, "2600::1": false, "0.0.0.0": false,
	} {
		if got := NewPolicy(PolicyOptions{}).IsLocal(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}

// TestPolicyAgainstNetip: what the standard library knows as not global is never allowed, in any of the
// forms that carry an IPv4 address.
func TestPolicyAgainstNetip(t *testing.T) {
	p := NewPolicy(PolicyOptions{})
	rapid.Check(t, func(t *rapid.T) {
		b := [4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address"))
		four := netip.AddrFrom4(b)
		allowed := p.CheckAddr(four) == nil
		if allowed && (!four.IsGlobalUnicast() || four.IsPrivate()) {
			t.Fatalf("%v is allowed", four)
		}
		mapped := netip.AddrFrom16(four.As16())
		nat64 := netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: b[0], b[1], b[2], b[3]})
		sixToFour := netip.AddrFrom16([16]byte{0x20, 0x02, b[0], b[1], b[2], b[3], 15: 1})
		teredo := netip.AddrFrom16([16]byte{0x20, 0x01, 4: 8, 8, 8, 8, 12: ^b[0], ^b[1], ^b[2], ^b[3]})
		for _, a := range []netip.Addr{mapped, nat64, sixToFour, teredo} {
			if (p.CheckAddr(a) == nil) != allowed {
				t.Fatalf("%v and %v differ", a, four)
			}
		}
	})
}

func BenchmarkCheckAddr(b *testing.B) {
	p, a := NewPolicy(PolicyOptions{}), netip.MustParseAddr("8.8.8.8")
	b.ReportAllocs()
	for b.Loop() {
		if p.CheckAddr(a) != nil {
			b.Fatal("refused")
		}
	}
}
