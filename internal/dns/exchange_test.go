package dns

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"decorum/internal/outcome"
)

func TestNextServer(t *testing.T) {
	bad := map[string]func(a asked) [][]byte{
		"SERVFAIL": func(a asked) [][]byte { return [][]byte{a.message(dnsmessage.RCodeServerFailure, nil)} },
		"REFUSED":  func(a asked) [][]byte { return [][]byte{a.message(dnsmessage.RCodeRefused, nil)} },
		"silence":  func(a asked) [][]byte { return nil },
		"rubbish":  func(a asked) [][]byte { return [][]byte{a.message(0, nil)[:14], []byte("x")} },
		"referral": func(a asked) [][]byte {
			return [][]byte{a.message(0, nil, func(m *dnsmessage.Message) {
				m.RecursionAvailable, m.Authorities = false, []dnsmessage.Resource{record("test 9 NS ns.test")}
			})}
		},
	}
	for name, respond := range bad {
		synctest.Test(t, func(t *testing.T) {
			good := zone("a.test 60 A 8.8.8.8", "b.test 60 A 8.8.8.8")
			f := &fake{respond: func(a asked) [][]byte {
				if a.server == server1.String() {
					return respond(a)
				}
				return good(a)
			}}
			r := open(t, f, Options{Servers: []netip.AddrPort{server1, server2}})
			start := time.Now()
			a, addrs := look(t, r, "a.test")
			if addrs != "8.8.8.8" || a.Raw.Server != server2 {
				t.Errorf("%s: %+v", name, a)
			}
			if took := time.Since(start); took > 3*time.Second || a.RTT != took {
				t.Errorf("%s: took %v, RTT %v", name, took, a.RTT)
			}
			before := f.count("")
			look(t, r, "b.test")
			if f.count("")-before != 2 {
				t.Errorf("%s: the server that does not work is asked first again", name)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: func(asked) [][]byte { return nil }}
		r := open(t, f, Options{Servers: []netip.AddrPort{server1, server2}, Timeout: time.Second, Attempts: 2})
		start := time.Now()
		a, _ := look(t, r, "a.test")
		if a.Outcome != outcome.DNSFailure || time.Since(start) != 4*time.Second || f.count("") != 8 {
			t.Errorf("%+v after %v, %d queries", a, time.Since(start), f.count(""))
		}
	})
}

func TestRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: zone()}
		r := open(t, f, Options{Servers: []netip.AddrPort{server1, server2}, Rotate: true})
		for i := range 10 {
			look(t, r, fmt.Sprintf("h%d.test", i))
		}
		to := map[string]int{}
		for _, a := range f.asked {
			to[a.server]++
		}
		if to[server1.String()] != 10 || to[server2.String()] != 10 {
			t.Errorf("questions per server: %v", to)
		}
	})
}

func TestTruncatedGoesToTCP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		for i := range 60 {
			lines = append(lines, fmt.Sprintf("a.test 60 A 8.8.8.%d", i))
		}
		full := zone(lines...)
		f := &fake{respond: func(a asked) [][]byte {
			if a.network == "tcp" {
				return full(a)
			}
			return [][]byte{a.message(0, nil, func(m *dnsmessage.Message) { m.Truncated = true })}
		}}
		a, _ := look(t, open(t, f, Options{}), "a.test")
		if len(a.Addrs) != maxAddrs || f.count("") != 4 {
			t.Errorf("%d addresses, %d queries", len(a.Addrs), f.count(""))
		}
		f.respond = func(a asked) [][]byte {
			return [][]byte{a.message(0, nil, func(m *dnsmessage.Message) { m.Truncated = true })}
		}
		if a, _ := look(t, open(t, f, Options{}), "b.test"); a.Outcome != outcome.DNSFailure {
			t.Errorf("truncated over TCP too: %+v", a)
		}
	})
}

func TestNoEDNS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := zone("a.test 60 A 8.8.8.8")
		f := &fake{respond: func(a asked) [][]byte {
			if a.edns {
				return [][]byte{a.message(dnsmessage.RCodeFormatError, nil, func(m *dnsmessage.Message) { m.Questions = nil })}
			}
			return good(a)
		}}
		if _, addrs := look(t, open(t, f, Options{}), "a.test"); addrs != "8.8.8.8" {
			t.Errorf("addresses %q", addrs)
		}
	})
}

// TestForgedReplies: what does not answer the question is read past; the true reply behind it counts.
func TestForgedReplies(t *testing.T) {
	forged := []dnsmessage.Resource{record("a.test 60 A 6.6.6.6")}
	for name, change := range map[string]func(*dnsmessage.Message){
		"id":         func(m *dnsmessage.Message) { m.ID++ },
		"no reply":   func(m *dnsmessage.Message) { m.Response = false },
		"name":       func(m *dnsmessage.Message) { m.Questions[0].Name = dnsmessage.MustNewName("b.test.") },
		"type":       func(m *dnsmessage.Message) { m.Questions[0].Type = dnsmessage.TypeMX },
		"two":        func(m *dnsmessage.Message) { m.Questions = append(m.Questions, m.Questions[0]) },
		"letters":    func(m *dnsmessage.Message) { m.Questions[0].Name = swapCase(m.Questions[0].Name) },
		"no section": func(m *dnsmessage.Message) { m.Questions = nil },
	} {
		synctest.Test(t, func(t *testing.T) {
			good := zone("a.test 60 A 8.8.8.8")
			f := &fake{respond: func(a asked) [][]byte {
				lie := a.message(0, forged, func(m *dnsmessage.Message) {
					m.Questions = append([]dnsmessage.Question(nil), m.Questions...)
					change(m)
				})
				return append([][]byte{lie, {0}, lie}, good(a)...)
			}}
			if _, addrs := look(t, open(t, f, Options{RandomCase: true}), "a.test"); addrs != "8.8.8.8" {
				t.Errorf("%s: believed %q", name, addrs)
			}
		})
	}
}

func swapCase(n dnsmessage.Name) dnsmessage.Name {
	for i, c := range n.Data[:n.Length] {
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			n.Data[i] ^= 0x20
		}
	}
	return n
}

// TestForgedFlood: a flood of wrong replies ends the attempt.
func TestForgedFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{respond: func(a asked) [][]byte {
			lie := a.message(0, nil, func(m *dnsmessage.Message) { m.ID++ })
			return [][]byte(bytes.Split(bytes.Repeat(append(lie, "|||"...), 2*maxForeign), []byte("|||")))
		}}
		start := time.Now()
		if a, _ := look(t, open(t, f, Options{}), "a.test"); a.Outcome != outcome.DNSFailure || time.Since(start) != 0 {
			t.Errorf("%+v after %v", a, time.Since(start))
		}
	})
}
