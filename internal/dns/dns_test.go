package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"decorum/internal/outcome"
)

// look returns the answer, with its addresses in one string.
func look(t testing.TB, r *Resolver, host string) (Answer, string) {
	t.Helper()
	a, err := r.Lookup(context.Background(), host)
	if err != nil {
		t.Fatalf("%s: %v", host, err)
	}
	if (a.Outcome == outcome.None) != (len(a.Addrs) > 0) || (a.Outcome != outcome.None) != (a.Detail != "") {
		t.Fatalf("%s: outcome, detail and addresses contradict each other: %+v", host, a)
	}
	return a, strings.Trim(fmt.Sprint(a.Addrs), "[]")
}

func TestBothFamiliesInOneOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, order := range [][]string{{"8.0.0.1", "8.0.0.9"}, {"8.0.0.9", "8.0.0.1"}} {
			f := &fake{respond: zone("a.test 60 AAAA 2600::1", "a.test 300 A "+order[0], "a.test 300 A "+order[1], "a.test 300 A "+order[0])}
			a, addrs := look(t, open(t, f, Options{}), "a.test")
			if addrs != "8.0.0.1 8.0.0.9 2600::1" || a.TTL != time.Minute || a.Cached || a.CNAME != "" {
				t.Errorf("%+v", a)
			}
			if f.count("") != 2 || !f.asked[0].edns || !f.asked[0].header.RecursionDesired {
				t.Errorf("asked %+v", f.asked)
			}
		}
	})
}

func TestTTL(t *testing.T) {
	for ttl, want := range map[string]time.Duration{
		"0": 30 * time.Second, "45": 45 * time.Second, "172800": 24 * time.Hour, "4294967295": 30 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{respond: zone("a.test " + ttl + " A 8.8.8.8")}
			r := open(t, f, Options{})
			look(t, r, "a.test")
			time.Sleep(want - time.Nanosecond)
			if a, _ := look(t, r, "A.Test."); !a.Cached || a.TTL != time.Nanosecond || f.count("") != 2 {
				t.Errorf("TTL %s: before the end: %+v, %d queries", ttl, a, f.count(""))
			}
			time.Sleep(time.Nanosecond)
			if a, _ := look(t, r, "a.test"); a.Cached || f.count("") != 4 {
				t.Errorf("TTL %s: after the end: %+v, %d queries", ttl, a, f.count(""))
			}
			if s := r.Stats(); s.Lookups != 3 || s.Hits != 1 || s.Queries != 4 || s.Entries != 1 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

func TestNegativeTTL(t *testing.T) {
	for soa, want := range map[string]time.Duration{
		"": 30 * time.Second, "test 3600 SOA 200": 200 * time.Second, "test 100 SOA 200": 100 * time.Second,
		"test 1 SOA 200": 30 * time.Second,
	} {
		for _, name := range []string{"gone.test", "empty.test"} {
			synctest.Test(t, func(t *testing.T) {
				lines := []string{"empty.test 5 NS ns.test"}
				if soa != "" {
					lines = append(lines, soa)
				}
				f := &fake{respond: zone(lines...)}
				r := open(t, f, Options{})
				a, _ := look(t, r, name)
				if a.Outcome != outcome.DNSNotFound || a.TTL != want {
					t.Errorf("%s, SOA %q: %+v", name, soa, a)
				}
				time.Sleep(want - 1)
				look(t, r, name)
				if f.count("") != 2 {
					t.Errorf("%s: asked again before %v", name, want)
				}
				time.Sleep(time.Nanosecond)
				look(t, r, name)
				if f.count("") != 4 {
					t.Errorf("%s: not asked again after %v", name, want)
				}
			})
		}
	}
}

func TestNegativeTTLClamped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := open(t, &fake{respond: zone("test 3600 SOA 250")}, Options{NegativeTTL: time.Minute})
		if a, _ := look(t, r, "gone.test"); a.TTL != time.Minute {
			t.Errorf("%+v", a)
		}
	})
}

// TestFailuresRest: a server without an answer is not asked again at once, and ever less often.
func TestFailuresRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: func(a asked) [][]byte { return [][]byte{a.message(dnsmessage.RCodeServerFailure, nil)} }}
		r := open(t, f, Options{Attempts: 1})
		for i, rest := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
			a, _ := look(t, r, "a.test")
			if a.Outcome != outcome.DNSFailure || a.Cached || a.TTL != rest*time.Second || f.count("") != 2*(i+1) {
				t.Fatalf("failure %d: %+v, %d queries", i+1, a, f.count(""))
			}
			time.Sleep(a.TTL - 1)
			if a, _ := look(t, r, "a.test"); !a.Cached || a.Outcome != outcome.DNSFailure {
				t.Fatalf("failure %d is forgotten early: %+v", i+1, a)
			}
			time.Sleep(time.Nanosecond)
		}
		f.respond = zone("a.test 60 A 8.8.8.8")
		look(t, r, "a.test")
		time.Sleep(time.Minute)
		f.respond = func(asked) [][]byte { return nil }
		if a, _ := look(t, r, "a.test"); a.TTL != 5*time.Second {
			t.Errorf("a success does not end the row of failures: %+v", a)
		}
	})
}

func TestAliases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: zone("www.a.test 300 CNAME Cdn.test", "cdn.test 40 CNAME edge.test", "edge.test 60 A 8.8.8.8",
			"edge.test 60 AAAA 2600::1", "dead.test 60 CNAME gone.test")}
		a, addrs := look(t, open(t, f, Options{}), "www.a.test")
		if addrs != "8.8.8.8 2600::1" || a.CNAME != "edge.test" || a.TTL != 40*time.Second {
			t.Errorf("%+v", a)
		}
		want := "20000101000000\nwww.a.test. 300 IN CNAME Cdn.test.\ncdn.test. 40 IN CNAME edge.test.\n" +
			"edge.test. 60 IN A 8.8.8.8\nedge.test. 60 IN AAAA 2600::1\n"
		if got := a.Raw.Text(); got != want {
			t.Errorf("record\n%swant\n%s", got, want)
		}
		if a, _ := look(t, open(t, f, Options{}), "dead.test"); a.Outcome != outcome.DNSNotFound {
			t.Errorf("%+v", a)
		}
	})
}

// TestAliasLeftOpen: a server that does not follow aliases is asked for their end.
func TestAliasLeftOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: func(a asked) [][]byte {
			if a.name == "a.test" {
				return [][]byte{a.message(0, []dnsmessage.Resource{record("a.test 60 CNAME b.test")})}
			}
			return zone("b.test 90 A 8.8.8.8")(a)
		}}
		if a, addrs := look(t, open(t, f, Options{}), "a.test"); addrs != "8.8.8.8" || a.CNAME != "b.test" || a.TTL != time.Minute {
			t.Errorf("%+v", a)
		}
	})
}

func TestAliasesWithoutEnd(t *testing.T) {
	endless := func(a asked) [][]byte {
		return [][]byte{a.message(0, []dnsmessage.Resource{record(a.name + " 60 CNAME x" + a.name)})}
	}
	for name, respond := range map[string]func(asked) [][]byte{
		"loop in a reply": zone("a.test 60 CNAME b.test", "b.test 60 CNAME a.test"),
		"loop over replies": func(a asked) [][]byte {
			return [][]byte{a.message(0, []dnsmessage.Resource{record(a.name + " 60 CNAME " + map[string]string{"a.test": "b.test"}[a.name] + "a.test")})}
		},
		"itself":    zone("a.test 60 CNAME a.test"),
		"new names": endless,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{respond: respond}
			if a, _ := look(t, open(t, f, Options{}), "a.test"); a.Outcome != outcome.DNSFailure || f.count("") > 2*maxAliases {
				t.Errorf("%s: %+v, %d queries", name, a, f.count(""))
			}
		})
	}
}

// TestUnrelatedRecords: a reply cannot plant addresses for other names, nor for the one asked for by
// records beside its chain.
func TestUnrelatedRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: func(a asked) [][]byte {
			return [][]byte{a.message(0, []dnsmessage.Resource{
				record("victim.test 60 A 6.6.6.6"), record("a.test 60 CNAME b.test"), record("a.test 60 A 6.6.6.6"),
				record("b.test 60 A 8.8.8.8"),
			})}
		}}
		r := open(t, f, Options{})
		if a, addrs := look(t, r, "a.test"); addrs != "8.8.8.8" || strings.Contains(a.Raw.Text(), "victim") {
			t.Errorf("%+v: %s", a, a.Raw.Text())
		}
		look(t, r, "victim.test")
		if f.count("victim.test") == 0 {
			t.Error("the name was planted in the cache")
		}
	})
}

// TestHalfAnswer: one family serves when the other fails, but not for long.
func TestHalfAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := zone("a.test 3600 A 8.8.8.8")
		f := &fake{respond: func(a asked) [][]byte {
			if a.kind == dnsmessage.TypeAAAA {
				return [][]byte{a.message(dnsmessage.RCodeServerFailure, nil)}
			}
			return good(a)
		}}
		if a, addrs := look(t, open(t, f, Options{}), "a.test"); addrs != "8.8.8.8" || a.TTL != 30*time.Second {
			t.Errorf("%+v", a)
		}
	})
}

func TestSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := zone("a.test 60 A 8.8.8.8")
		f := &fake{respond: func(a asked) [][]byte { time.Sleep(time.Second); return good(a) }}
		r := open(t, f, Options{})
		for i := range 50 {
			go func() {
				if a, err := r.Lookup(t.Context(), "a.test"); err != nil || len(a.Addrs) != 1 {
					t.Errorf("%d: %+v, %v", i, a, err)
				}
			}()
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := r.Lookup(impatient, "a.test"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		time.Sleep(2 * time.Second)
		if f.count("") != 2 {
			t.Errorf("%d queries for one name", f.count(""))
		}
	})
}

// TestNobodyWaits: when the last who waits leaves, the question ends, and nothing is kept of it.
func TestNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: func(asked) [][]byte { return nil }}
		r := open(t, f, Options{Timeout: time.Hour, MaxConcurrent: 1})
		for _, name := range []string{"a.test", "b.test"} { // b waits for the slot that a must give back
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := r.Lookup(ctx, name); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
			cancel()
		}
		synctest.Wait()
		if f.count("b.test") != 2 || r.Stats().Entries != 0 || len(r.flights) != 0 {
			t.Errorf("asked %d times, %+v, %d flights", f.count("b.test"), r.Stats(), len(r.flights))
		}
	})
}

func TestMaxConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := zone()
		f := &fake{respond: func(a asked) [][]byte { time.Sleep(time.Second); return good(a) }}
		r := open(t, f, Options{MaxConcurrent: 3})
		for i := range 9 {
			go func() { _, _ = r.Lookup(t.Context(), fmt.Sprintf("h%d.test", i)) }()
		}
		for second := range 3 {
			time.Sleep(time.Second - time.Millisecond)
			if f.count("") != 6*(second+1) {
				t.Errorf("after %d s: %d queries", second, f.count(""))
			}
			time.Sleep(time.Millisecond)
		}
		synctest.Wait()
	})
}

func TestBoundedCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: zone()}
		r := open(t, f, Options{MaxEntries: 4})
		for i := range 10 {
			look(t, r, fmt.Sprintf("h%d.test", i))
			look(t, r, "h0.test") // used, so it stays
		}
		if r.Stats().Entries != 4 || f.count("h0.test") != 2 {
			t.Errorf("%+v, h0 asked %d times", r.Stats(), f.count("h0.test"))
		}
	})
}

// TestRebinding: a public name that turns private is refused, and what is public among private stays.
func TestRebinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: zone("a.test 60 A 8.8.8.8")}
		r := open(t, f, Options{})
		look(t, r, "a.test")
		time.Sleep(time.Minute)
		f.respond = zone("a.test 60 A 127.0.0.1", "a.test 60 AAAA ::ffff:10.0.0.1")
		for range 2 {
			a, _ := look(t, r, "a.test")
			if a.Outcome != outcome.AddressRefused || !strings.Contains(a.Detail, "--allow-net") {
				t.Errorf("%+v", a)
			}
		}
		time.Sleep(time.Minute)
		f.respond = zone("a.test 60 A 127.0.0.1", "a.test 60 A 8.8.4.4", "a.test 60 AAAA fd00::1")
		if _, addrs := look(t, r, "a.test"); addrs != "8.8.4.4" {
			t.Errorf("addresses %q", addrs)
		}
	})
}

func TestNotAsked(t *testing.T) {
	hosts := filepath.Join(t.TempDir(), "hosts")
	text := "8.8.4.4 Printer.lan printer # comment\n2600::5\tprinter.lan\nrubbish\n127.0.0.1 me.lan\n8.8.8.8 fixed.test\n"
	if err := os.WriteFile(hosts, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fake{respond: zone()}
	r := open(t, f, Options{HostsFile: hosts, Static: map[string][]netip.Addr{
		"Fixed.test":       {netip.MustParseAddr("8.1.1.1")},
		"*.example.test":   {netip.MustParseAddr("8.2.2.2")},
		"*.b.example.test": {netip.MustParseAddr("8.3.3.3")},
		"inside.test":      {netip.MustParseAddr("10.9.9.9")},
	}})
	for host, want := range map[string]string{
		"8.8.8.8": "8.8.8.8", "[2600::1]": "2600::1", "[::ffff:8.8.8.8]": "8.8.8.8", "2600::a": "2600::a",
		"127.0.0.1": "address", "[::1]": "address", "[::ffff:127.0.0.1]": "address",
		"localhost": "address", "x.localhost": "address", "me.lan": "address", "inside.test": "address",
		"printer": "8.8.4.4", "printer.lan.": "8.8.4.4 2600::5", "fixed.test": "8.1.1.1",
		"a.example.test": "8.2.2.2", "x.a.example.test": "8.2.2.2", "a.b.example.test": "8.3.3.3",
		"": "dns_not_found", "a..b": "dns_not_found", strings.Repeat("a", 64) + ".test": "dns_not_found",
		strings.Repeat("a.", 130): "dns_not_found", "x.onion": "dns_not_found",
	} {
		a, addrs := look(t, r, host)
		if a.Outcome != outcome.None {
			addrs = a.Outcome.String()
		}
		if addrs != want || !a.Cached || a.Raw != nil {
			t.Errorf("%q: %s, want %s: %+v", host, addrs, want, a)
		}
	}
	if f.count("") != 0 {
		t.Errorf("asked %+v", f.asked)
	}
}

func TestApexOfWildcardIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: zone()}
		r := open(t, f, Options{Static: map[string][]netip.Addr{"*.example.test": {netip.MustParseAddr("8.2.2.2")}}})
		if a, _ := look(t, r, "example.test"); a.Outcome != outcome.DNSNotFound || f.count("") != 2 {
			t.Errorf("%+v", a)
		}
	})
}

func TestAllowedNet(t *testing.T) {
	policy := NewPolicy(PolicyOptions{AllowNets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	r := open(t, &fake{}, Options{Policy: policy})
	if _, addrs := look(t, r, "localhost"); addrs != "127.0.0.1" {
		t.Errorf("addresses %q", addrs)
	}
}

func TestResolvConf(t *testing.T) {
	s := parseResolvConf("# x\nsearch a b\nnameserver 10.1.1.1\nnameserver fe80::1%eth0 ; y\nnameserver bad\n" +
		"nameserver\nnameserver 10.1.1.3\nnameserver 10.1.1.4\noptions rotate timeout:99 attempts:0 ndots:3\noptions attempts:4")
	if fmt.Sprint(s.servers) != "[10.1.1.1:53 [fe80::1%eth0]:53 10.1.1.3:53]" {
		t.Errorf("servers %v", s.servers)
	}
	if !s.rotate || s.timeout != 30*time.Second || s.attempts != 4 {
		t.Errorf("options %+v", s)
	}
	s, err := readResolvConf(filepath.Join(t.TempDir(), "absent"))
	if err != nil || fmt.Sprint(s.servers) != "[127.0.0.1:53 [::1]:53]" {
		t.Errorf("without a file: %v, %v", s.servers, err)
	}
}

func TestOptionsValidate(t *testing.T) {
	for _, o := range []Options{
		{Timeout: -1}, {MinTTL: 2, MaxTTL: 1}, {FailureTTL: 2, FailureTTLMax: 1}, {MaxEntries: -1},
		{Servers: []netip.AddrPort{{}}}, {Static: map[string][]netip.Addr{"a": nil}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is valid", o)
		}
	}
}

func BenchmarkLookupCached(b *testing.B) {
	r := open(b, &fake{respond: zone("www.example.test 86400 A 8.8.8.8")}, Options{})
	ctx := context.Background()
	if _, err := r.Lookup(ctx, "www.example.test"); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Lookup(ctx, "www.example.test"); err != nil {
			b.Fatal(err)
		}
	}
}

// TestRemote: where a proxy resolves, no name server is asked, and what is known here counts as ever.
func TestRemote(t *testing.T) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		t.Error("a name server is asked")
		return nil, errors.New("no network")
	}
	r, err := New(Options{Remote: true, HostsFile: "-", Dial: dial, Static: map[string][]netip.Addr{"known.test": {netip.MustParseAddr("192.88.98.1")},
		"inside.test": {netip.MustParseAddr("10.0.0.1")}}})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]Answer{
		"www.test":    {Remote: true},
		"known.test":  {Addrs: []netip.Addr{netip.MustParseAddr("192.88.98.1")}},
		"inside.test": {Outcome: outcome.AddressRefused},
		"127.0.0.1":   {Outcome: outcome.AddressRefused},
		"[::1]":       {Outcome: outcome.AddressRefused},
		"a..test":     {Outcome: outcome.DNSNotFound},
	} {
		a, err := r.Lookup(t.Context(), host)
		if err != nil || a.Remote != want.Remote || a.Outcome != want.Outcome || !slices.Equal(a.Addrs, want.Addrs) {
			t.Errorf("%s: %+v %v", host, a, err)
		}
	}
}
