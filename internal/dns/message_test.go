package dns

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"decorum/internal/outcome"
)

// bombs are replies with the header and question of a message, and answers that lead nowhere.
func bombs(header []byte) map[string][]byte {
	count := func(n uint16) []byte {
		b := append([]byte(nil), header...)
		b[6], b[7] = byte(n>>8), byte(n)
		return b
	}
	at := len(header)
	pointer := func(to int) []byte { return []byte{0xc0 | byte(to>>8), byte(to)} }
	fixed := []byte{0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 8, 8, 8, 8}
	chain := count(200)
	for i := range 200 { // each name is one label and a pointer to the name before
		name := append([]byte{1, 'x'}, pointer(max(12, at+18*(i-1)))...)
		chain = append(append(chain, name...), fixed...)
	}
	return map[string][]byte{
		"pointer to itself":    append(append(count(1), pointer(at)...), fixed...),
		"pointers in a circle": append(append(append(count(1), pointer(at+2)...), pointer(at)...), fixed...),
		"names on names":       chain,
		"65535 promised":       append(append(count(65535), pointer(12)...), fixed...),
		"too many records":     append(count(2000), []byte(strings.Repeat(string(append(pointer(12), fixed...)), 200))...),
		"length beyond end":    append(append(count(1), pointer(12)...), 0, 1, 0, 1, 0, 0, 0, 60, 255, 255, 8),
		"A of two bytes":       append(append(count(1), pointer(12)...), 0, 1, 0, 1, 0, 0, 0, 60, 0, 2, 8, 8),
	}
}

// TestBombs: a reply that makes no sense is a failure, at once.
func TestBombs(t *testing.T) {
	a := asked{question: dnsmessage.Question{Name: dnsmessage.MustNewName("a.test."), Type: dnsmessage.TypeA, Class: 1}}
	for name := range bombs(a.message(0, nil)) {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{respond: func(a asked) [][]byte {
				bomb := bombs(a.message(0, nil))[name]
				if len(bomb) > udpBuffer {
					bomb = bomb[:udpBuffer]
				}
				return [][]byte{bomb}
			}}
			start := time.Now()
			got, _ := look(t, open(t, f, Options{}), "a.test")
			if got.Outcome != outcome.DNSFailure || time.Since(start) != 0 {
				t.Errorf("%s: %+v after %v", name, got, time.Since(start))
			}
		})
	}
}

func TestPresentation(t *testing.T) {
	n := dnsmessage.MustNewName("a\nb c\"d;e\\f\x00\xff.test.")
	if got := presentation(n); got != `a\010b\032c\"d\;e\\f\000\255.test.` {
		t.Errorf("got %s", got)
	}
}

func TestManyRecords(t *testing.T) {
	q, err := newQuery("a.test", dnsmessage.TypeA, false)
	if err != nil {
		t.Fatal(err)
	}
	a := asked{header: dnsmessage.Header{ID: q.id}, question: dnsmessage.Question{Name: q.name, Type: q.kind, Class: 1}}
	var many []dnsmessage.Resource
	for i := range maxRecords {
		many = append(many, record(fmt.Sprintf("a.test 60 A 8.8.0.%d", i%256)))
	}
	if _, err := q.parse(a.message(0, many)); !errors.Is(err, errMalformed) {
		t.Errorf("%d records: %v", len(many), err)
	}
	rep, err := q.parse(a.message(0, many[1:]))
	if err != nil || len(rep.addrs) != maxAddrs {
		t.Errorf("%d records: %d addresses, %v", len(many)-1, len(rep.addrs), err)
	}
}

// FuzzReply: whatever comes back for a question, reading it does not panic, and stays within the limits.
func FuzzReply(f *testing.F) {
	q := query{id: 7, name: dnsmessage.MustNewName("a.test."), kind: dnsmessage.TypeA}
	a := asked{header: dnsmessage.Header{ID: q.id}, question: dnsmessage.Question{Name: q.name, Type: q.kind, Class: 1}}
	f.Add(a.message(0, nil))
	f.Add(a.message(0, []dnsmessage.Resource{record("a.test 60 CNAME b.test"), record("b.test 5 A 8.8.8.8")}))
	f.Add(a.message(dnsmessage.RCodeNameError, nil, func(m *dnsmessage.Message) {
		m.Authorities = []dnsmessage.Resource{record("test 60 SOA 9"), record("test 60 NS ns.test")}
	}))
	for _, bomb := range bombs(a.message(0, nil)) {
		f.Add(bomb)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		rep, err := q.parse(msg)
		if err != nil {
			return
		}
		if len(rep.addrs) > maxAddrs || rep.ttl < 0 || rep.absence < 0 {
			t.Errorf("%+v", rep)
		}
		if strings.ContainsAny(strings.Join(rep.lines, ""), "\r\n") {
			t.Errorf("a record of more than one line: %q", rep.lines)
		}
	})
}

func FuzzSystemFiles(f *testing.F) {
	f.Add("nameserver 10.1.1.1\noptions timeout:1 rotate")
	f.Add("127.0.0.1 a b # c")
	f.Fuzz(func(t *testing.T, text string) {
		if s := parseResolvConf(text); len(s.servers) > maxServers || s.timeout < 0 || s.attempts < 0 {
			t.Errorf("%+v", s)
		}
		for name, addrs := range parseHosts(text) {
			if name != strings.ToLower(name) || len(addrs) == 0 {
				t.Errorf("%q: %v", name, addrs)
			}
		}
	})
}
