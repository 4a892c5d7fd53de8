package dns

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	udpSize     = 1232 // EDNS0 payload that passes every link unfragmented (DNS flag day 2020)
	udpBuffer   = 4096 // for servers that send more than they were told
	maxRecords  = 256  // looked at per section; the largest sets of addresses in use have some dozens
	maxAddrs    = 32   // kept per name and family
	maxAliases  = 16   // CNAMEs in a row; BIND follows as many
	wireNameMax = 255  // RFC 1035 §2.3.4
)

// Errors that mean "ask another server".
var (
	errForeign   = errors.New("not the reply to this question")
	errMalformed = errors.New("malformed reply")
	errTruncated = errors.New("truncated reply")
)

// query is one question, ready to be sent.
type query struct {
	id     uint16
	name   dnsmessage.Name // with the case of letters as sent
	kind   dnsmessage.Type
	strict bool // the reply must repeat the case
}

// newQuery asks for name. The id comes from the runtime's ChaCha8 generator, which cannot be guessed from
// earlier ids.
func newQuery(name string, kind dnsmessage.Type, randomCase bool) (query, error) {
	if randomCase {
		name = mixCase(name)
	}
	n, err := dnsmessage.NewName(name + ".")
	if err != nil {
		return query{}, fmt.Errorf("name %q: %w", name, err)
	}
	return query{id: uint16(rand.Uint32()), name: n, kind: kind, strict: randomCase}, nil
}

// mixCase draws the case of each letter: bits that a forger must guess too.
func mixCase(name string) string {
	b := []byte(name)
	for i, c := range b {
		if 'a' <= c && c <= 'z' && rand.Uint32()&1 == 0 {
			b[i] -= 'a' - 'A'
		}
	}
	return string(b)
}

// pack returns the message, after room for the two bytes of length that TCP wants.
func (q query) pack(edns bool) ([]byte, error) {
	b := dnsmessage.NewBuilder(make([]byte, 2, 64+wireNameMax), dnsmessage.Header{ID: q.id, RecursionDesired: true})
	err := errors.Join(
		b.StartQuestions(),
		b.Question(dnsmessage.Question{Name: q.name, Type: q.kind, Class: dnsmessage.ClassINET}))
	if edns {
		var h dnsmessage.ResourceHeader
		err = errors.Join(err,
			h.SetEDNS0(udpSize, dnsmessage.RCodeSuccess, false),
			b.StartAdditionals(),
			b.OPTResource(h, dnsmessage.OPTResource{}))
	}
	msg, finishErr := b.Finish()
	return msg, errors.Join(err, finishErr)
}

// reply is what one server said to one question.
type reply struct {
	code    dnsmessage.RCode
	lame    bool // the server neither knows nor asks others
	addrs   []netip.Addr
	name    string        // the end of the chain of aliases
	loop    bool          // the chain has no end
	ttl     time.Duration // the least of the chain and the addresses
	soa     bool          // the authority section vouches for an absence
	absence time.Duration // how long, RFC 2308 §5
	lines   []string      // the records used, as text
}

// parse reads msg if it is the reply to q: errForeign if it is for another question, errTruncated if it is
// to be asked for over TCP, errMalformed if it makes no sense.
func (q query) parse(msg []byte) (reply, error) {
	var p dnsmessage.Parser
	h, err := p.Start(msg)
	if err != nil || !h.Response || h.ID != q.id || h.OpCode != 0 {
		return reply{}, errForeign
	}
	if h.RCode == dnsmessage.RCodeFormatError {
		return reply{code: h.RCode}, nil // servers of old send no question with it
	}
	if err := q.checkQuestion(&p); err != nil {
		return reply{}, err
	}
	if h.Truncated {
		return reply{}, errTruncated
	}
	rep := reply{code: h.RCode}
	s, err := readAnswers(&p, q.kind)
	if err != nil {
		return reply{}, err
	}
	rep.chain(s, lower(q.name))
	referral, err := rep.readAuthority(&p)
	if err != nil {
		return reply{}, err
	}
	rep.lame = referral && !h.Authoritative && !h.RecursionAvailable && len(s.lines) == 0
	return rep, nil
}

func (q query) checkQuestion(p *dnsmessage.Parser) error {
	got, err := p.Question()
	if err != nil || got.Type != q.kind || got.Class != dnsmessage.ClassINET {
		return errForeign
	}
	if q.strict && got.Name.String() != q.name.String() || lower(got.Name) != lower(q.name) {
		return errForeign
	}
	if _, err := p.Question(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		return errForeign
	}
	return nil
}

// answers is the answer section: aliases and addresses by their owner.
type answers struct {
	aliases map[string]alias
	addrs   map[string][]address
	lines   []line
}

type alias struct {
	to  string
	ttl time.Duration
}

type address struct {
	addr netip.Addr
	ttl  time.Duration
}

// line is the text of a record, and whose it is.
type line struct{ owner, text string }

func readAnswers(p *dnsmessage.Parser, kind dnsmessage.Type) (answers, error) {
	s := answers{aliases: make(map[string]alias), addrs: make(map[string][]address)}
	for range maxRecords {
		h, err := p.AnswerHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return s, nil
		}
		if err != nil {
			return s, errMalformed
		}
		if err := s.read(p, h, kind); err != nil {
			return s, errMalformed
		}
	}
	return s, errMalformed
}

// read takes in one record, if it is an alias or of the kind.
func (s *answers) read(p *dnsmessage.Parser, h dnsmessage.ResourceHeader, kind dnsmessage.Type) error {
	owner, ttl := lower(h.Name), seconds(h.TTL)
	if h.Class != dnsmessage.ClassINET || h.Type != kind && h.Type != dnsmessage.TypeCNAME {
		return p.SkipAnswer()
	}
	switch h.Type {
	case dnsmessage.TypeCNAME:
		r, err := p.CNAMEResource()
		if err != nil {
			return err
		}
		if _, ok := s.aliases[owner]; !ok {
			s.aliases[owner] = alias{lower(r.CNAME), ttl}
			s.note(h, "CNAME", presentation(r.CNAME))
		}
	case dnsmessage.TypeA:
		r, err := p.AResource()
		if err != nil {
			return err
		}
		s.address(h, address{netip.AddrFrom4(r.A), ttl}, "A")
	case dnsmessage.TypeAAAA:
		r, err := p.AAAAResource()
		if err != nil {
			return err
		}
		s.address(h, address{netip.AddrFrom16(r.AAAA), ttl}, "AAAA")
	default:
		return p.SkipAnswer()
	}
	return nil
}

func (s *answers) address(h dnsmessage.ResourceHeader, a address, kind string) {
	owner := lower(h.Name)
	if len(s.addrs[owner]) < maxAddrs {
		s.addrs[owner] = append(s.addrs[owner], a)
		s.note(h, kind, a.addr.String())
	}
}

func (s *answers) note(h dnsmessage.ResourceHeader, kind, data string) {
	text := fmt.Sprintf("%s %d IN %s %s", presentation(h.Name), h.TTL, kind, data)
	s.lines = append(s.lines, line{lower(h.Name), text})
}

// chain follows the aliases from name to the addresses.
func (rep *reply) chain(s answers, name string) {
	rep.name, rep.ttl = name, seconds(maxTTL)
	var passed []string
	for {
		if slices.Contains(passed, rep.name) || len(passed) > maxAliases {
			rep.loop = true
			return
		}
		rep.addLines(s, rep.name)
		a, ok := s.aliases[rep.name]
		if !ok {
			break
		}
		passed = append(passed, rep.name)
		rep.name, rep.ttl = a.to, min(rep.ttl, a.ttl)
	}
	for _, a := range s.addrs[rep.name] {
		rep.addrs = append(rep.addrs, a.addr)
		rep.ttl = min(rep.ttl, a.ttl)
	}
}

func (rep *reply) addLines(s answers, owner string) {
	for _, l := range s.lines {
		if l.owner == owner {
			rep.lines = append(rep.lines, l.text)
		}
	}
}

// readAuthority finds the SOA that says how long an absence holds, and tells whether there are NS records,
// a referral to other servers.
func (rep *reply) readAuthority(p *dnsmessage.Parser) (referral bool, err error) {
	if err := p.SkipAllAnswers(); err != nil {
		return false, errMalformed
	}
	for range maxRecords {
		h, err := p.AuthorityHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return referral, nil
		}
		if err != nil {
			return false, errMalformed
		}
		referral = referral || h.Type == dnsmessage.TypeNS
		if h.Type != dnsmessage.TypeSOA {
			if p.SkipAuthority() != nil {
				return false, errMalformed
			}
			continue
		}
		r, err := p.SOAResource()
		if err != nil {
			return false, errMalformed
		}
		rep.soa, rep.absence = true, seconds(min(h.TTL, r.MinTTL))
	}
	return false, errMalformed
}

const maxTTL = 1<<31 - 1 // RFC 2181 §8

// seconds reads a TTL; one with the highest bit set counts as zero (RFC 2181 §8).
func seconds(ttl uint32) time.Duration {
	if ttl > maxTTL {
		return 0
	}
	return time.Duration(ttl) * time.Second
}

// lower is the name as a key: lower case, without the last dot.
func lower(n dnsmessage.Name) string {
	return strings.ToLower(strings.TrimSuffix(string(n.Data[:n.Length]), "."))
}

// presentation is the name as master files write it (RFC 1035 §5.1): what could break a line is escaped.
func presentation(n dnsmessage.Name) string {
	var b strings.Builder
	for _, c := range n.Data[:n.Length] {
		switch {
		case c <= ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03d", c)
		case strings.IndexByte(`"();@$\`, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
