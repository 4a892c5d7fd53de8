// Package robots answers "may I, and how fast?" from robots.txt: RFC 9309 with the matcher semantics of
// Google, and a cache of what is known of each origin.
//
// Rules is one robots.txt compiled for one product token. Cache is a state machine without I/O: it says
// what must be fetched next, and it is told what came of it. It never fetches by itself, since each
// contact with a host, each hop of a redirect included, is granted by the frontier alone.
//
// # States of an origin
//
//	unknown --Lookup: Fetch--> (contact) --2xx, 4xx--> known --24 h--> unknown
//	                              |  ^
//	                              |  +--3xx: Fetch or Elsewhere, at most five hops
//	                              +--5xx, 429, no answer--> failing --Until--> unknown
//
// # Invariants
//
//   - A verdict never comes from a copy older than 24 hours (RFC 9309 §2.4).
//   - An origin whose robots.txt cannot be had (5xx, 429, network) is never allowed: its host rests, with
//     growing back-off. Only the answer of a server, 2xx or 4xx, opens it.
//   - At most five redirects are followed, across hosts and schemes; a sixth, or a loop, means
//     "unavailable", which allows (RFC 9309 §2.3.1.2; Google treats it as 404).
//   - Where RFC 9309 §2.2.2 and Google's matcher read an escaped path differently, both readings are
//     tested and the stricter one holds.
//   - Crawl-delay is never clipped.
//   - Bytes from the network never panic and cost time linear in rules times length of the path.
//
// Rules are immutable. A Cache is safe for concurrent use and bounded in entries and bytes.
//
// Not here: the contacts themselves, pacing, the decision to give up on a host (the count of errors and
// their start are in each Answer), meta robots and X-Robots-Tag.
package robots

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// MaxBytes is what is read of a robots.txt: the minimum RFC 9309 §2.5 asks for, and Google's maximum.
const MaxBytes = 500 << 10

// Path is the request target of every robots.txt.
const Path = "/robots.txt"

// Rules is one robots.txt, compiled for one product token. Immutable, safe for concurrent use.
type Rules struct {
	wire     *index // paths compared as Google does: escapes as written
	meaning  *index // paths compared as RFC 9309 §2.2.2 says: needless escapes decoded
	sitemaps []string
	delay    time.Duration
	hasDelay bool
	denyAll  bool
	text     string // the body; patterns are parts of it
	hash     uint64
	version  string
}

// Verdict is what robots.txt says about one target.
type Verdict struct {
	Allowed bool
	Rule    string // the line that decided, without its comment; "" when none did
	Line    int    // its number, from 1; 0 when none did
}

// AllowAll returns the rules of a host without robots.txt (RFC 9309 §2.3.1.3).
func AllowAll() *Rules { return fixed("allow-all", false) }

// DenyAll returns rules that allow nothing but robots.txt itself.
func DenyAll() *Rules { return fixed("deny-all", true) }

func fixed(version string, deny bool) *Rules {
	empty := newIndex(nil)
	return &Rules{
		wire: empty, meaning: empty, denyAll: deny,
		hash: digest([]byte(version)), version: version,
	}
}

// Check tells whether target may be fetched: path and query as weburl's RequestTarget gives them. The
// longest rule that matches decides, Allow wins a tie, and without a match all is allowed.
func (r *Rules) Check(target string) Verdict {
	if target == Path {
		return Verdict{Allowed: true} // RFC 9309 §2.2.2: implicitly allowed
	}
	if r.denyAll {
		return Verdict{}
	}
	wire := wireTarget.apply(target)
	v := r.wire.check(wire)
	if !v.Allowed {
		return v
	}
	meaning := meaningTarget.apply(wire)
	if r.meaning == r.wire && meaning == wire {
		return v
	}
	if strict := r.meaning.check(meaning); !strict.Allowed {
		return strict
	}
	return v
}

// Delay returns the Crawl-delay of the group that applies, the largest if it has several, and whether
// there is one.
func (r *Rules) Delay() (time.Duration, bool) { return r.delay, r.hasDelay }

// Sitemaps returns the values of all Sitemap lines of the file, in order and without repeats. They belong
// to no group, and may be relative.
func (r *Rules) Sitemaps() []string { return r.sitemaps }

// Hash returns a digest of the body.
func (r *Rules) Hash() uint64 { return r.hash }

// Version names the rules in records: 16 hex digits of the body's digest, "allow-all" or "deny-all".
func (r *Rules) Version() string { return r.version }

// digest is the head of the SHA-256, so that a server cannot pass one file off as another in an audit.
func digest(body []byte) uint64 {
	sum := sha256.Sum256(body)
	return binary.BigEndian.Uint64(sum[:8])
}

func versionOf(hash uint64) string { return fmt.Sprintf("%016x", hash) }

// cost estimates the bytes the rules keep alive: the text, which patterns are part of, and the rules.
func (r *Rules) cost() int64 {
	const perRule = 96 // a rule and its share of a node
	n := len(r.text)
	for _, x := range []*index{r.wire, r.meaning} {
		for i := range x.nodes {
			n += perRule * (1 + len(x.nodes[i].rules))
		}
	}
	return int64(n)
}
