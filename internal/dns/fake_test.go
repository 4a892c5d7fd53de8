package dns

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

var (
	server1 = netip.MustParseAddrPort("10.0.0.53:53")
	server2 = netip.MustParseAddrPort("10.0.0.54:53")
)

// fake is the name servers, in memory. respond returns the messages sent back; none is silence.
type fake struct {
	respond func(asked) [][]byte

	mu    sync.Mutex
	asked []asked
}

// asked is a question as it arrived.
type asked struct {
	network, server, name string
	kind                  dnsmessage.Type
	header                dnsmessage.Header
	question              dnsmessage.Question
	edns                  bool
}

func (f *fake) dial(_ context.Context, network, addr string) (net.Conn, error) {
	client, server := net.Pipe()
	go f.serve(server, network, addr)
	return client, nil
}

func (f *fake) serve(c net.Conn, network, addr string) {
	defer c.Close()
	buf := make([]byte, 2048)
	n, err := c.Read(buf)
	if err != nil {
		return
	}
	msg := buf[:n]
	if network == "tcp" {
		msg = msg[2:]
	}
	var m dnsmessage.Message
	if m.Unpack(msg) != nil || len(m.Questions) != 1 {
		return
	}
	a := asked{network, addr, lower(m.Questions[0].Name), m.Questions[0].Type, m.Header, m.Questions[0], len(m.Additionals) == 1}
	f.mu.Lock()
	f.asked = append(f.asked, a)
	f.mu.Unlock()
	for _, reply := range f.respond(a) {
		if network == "tcp" {
			reply = append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)
		}
		if _, err := c.Write(reply); err != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, c) // until the client hangs up
}

// count returns how many questions came for name, or for all names if name is "".
func (f *fake) count(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, a := range f.asked {
		if name == "" || a.name == name {
			n++
		}
	}
	return n
}

// message is a reply to the question, with changes.
func (a asked) message(code dnsmessage.RCode, answers []dnsmessage.Resource, change ...func(*dnsmessage.Message)) []byte {
	m := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID: a.header.ID, Response: true, RecursionDesired: true, RecursionAvailable: true, RCode: code,
		},
		Questions: []dnsmessage.Question{a.question},
		Answers:   answers,
	}
	for _, c := range change {
		c(&m)
	}
	m.Answers, m.Authorities = slices.Clone(m.Answers), slices.Clone(m.Authorities) // Pack writes to them
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

// record parses "name TTL TYPE data".
func record(line string) dnsmessage.Resource {
	f := strings.Fields(line)
	ttl := 0
	for _, d := range f[1] {
		ttl = 10*ttl + int(d-'0')
	}
	r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{
		Name: dnsmessage.MustNewName(f[0] + "."), Class: dnsmessage.ClassINET, TTL: uint32(ttl),
	}}
	switch f[2] {
	case "A":
		r.Body = &dnsmessage.AResource{A: netip.MustParseAddr(f[3]).As4()}
	case "AAAA":
		r.Body = &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr(f[3]).As16()}
	case "CNAME":
		r.Body = &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(f[3] + ".")}
	case "NS":
		r.Body = &dnsmessage.NSResource{NS: dnsmessage.MustNewName(f[3] + ".")}
	case "SOA": // the data is the minimum
		r.Body = &dnsmessage.SOAResource{
			NS: r.Header.Name, MBox: r.Header.Name, MinTTL: uint32(netip.MustParseAddr("0.0.0." + f[3]).As4()[3]),
		}
	}
	return r
}

// zone answers from records: those of the name and of the chain of its aliases. Names it has no record of
// do not exist, for as long as its SOA says.
func zone(lines ...string) func(asked) [][]byte {
	var soa []dnsmessage.Resource
	byName := make(map[string][]dnsmessage.Resource)
	for _, l := range lines {
		r := record(l)
		if _, ok := r.Body.(*dnsmessage.SOAResource); ok {
			soa = append(soa, r)
			continue
		}
		byName[lower(r.Header.Name)] = append(byName[lower(r.Header.Name)], r)
	}
	return func(a asked) [][]byte {
		var answers []dnsmessage.Resource
		name, code := a.name, dnsmessage.RCodeSuccess
		for range 20 {
			records := byName[name]
			if records == nil {
				code = dnsmessage.RCodeNameError
				break
			}
			next := ""
			for _, r := range records {
				switch body := r.Body.(type) {
				case *dnsmessage.CNAMEResource:
					next = lower(body.CNAME)
					answers = append(answers, r)
				case *dnsmessage.AResource:
					if a.kind == dnsmessage.TypeA {
						answers = append(answers, r)
					}
				case *dnsmessage.AAAAResource:
					if a.kind == dnsmessage.TypeAAAA {
						answers = append(answers, r)
					}
				}
			}
			if next == "" {
				break
			}
			name = next
		}
		return [][]byte{a.message(code, answers, func(m *dnsmessage.Message) { m.Authorities = soa })}
	}
}

// open returns a resolver that asks the fake.
func open(t testing.TB, f *fake, o Options) *Resolver {
	t.Helper()
	o.Dial = f.dial
	if o.Servers == nil {
		o.Servers = []netip.AddrPort{server1}
	}
	if o.HostsFile == "" {
		o.HostsFile = "-"
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
