package contentseen

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

const (
	// MinWords is the least number of words a text must have to be compared. Shorter texts are mostly what all pages
	// of a site share: a menu and a footer, "please enable JavaScript", a login form. They are equal or nearly so
	// though the pages are not.
	MinWords = 64

	// tables is the number of blocks a SimHash is cut into. Two hashes that differ in up to tables-1 bits agree
	// in one block at least (Manku et al. 2007 §3).
	tables      = 4
	maxDistance = tables - 1

	// maxBucket is how many pages of a host that agree in a block are compared, so that a host with a million pages
	// of one template cannot slow its crawl: 65536 buckets hold 16 million unlike pages at this size.
	maxBucket = 256

	// maxHostPending is how many pages of a host may be remembered in memory; a host has one connection, so a group
	// commit sees a handful.
	maxHostPending = 1024
)

// Page is a page whose near-duplicates are looked for, within its host: the first half of FP.
type Page struct {
	Partition store.Partition
	FP        weburl.Fingerprint
	URL       string
}

// Match is an earlier page of the host with nearly the same text.
type Match struct {
	URL      string
	FP       weburl.Fingerprint
	Sim      uint64
	Distance int // bits of 64 in which the SimHashes differ
}

type hostKey struct {
	partition store.Partition
	hash      uint64
}

func (p Page) host() hostKey { return hostKey{p.Partition, binary.BigEndian.Uint64(p.FP[:8])} }

// nearClaim is a page remembered in memory.
type nearClaim struct {
	Page
	sim uint64
}

// nearShard holds the pages in memory of some hosts.
type nearShard struct {
	mu    sync.Mutex
	pages map[hostKey][]nearClaim // guarded by mu
}

func (s *Set) nearShard(h hostKey) *nearShard { return &s.nears[h.hash%shards] }

// Near returns the earlier page of the same host whose SimHash is nearest, if one is near. Otherwise the page
// itself is remembered, in memory until RecordNear and Applied. Texts shorter than MinWords are neither found
// nor remembered, and nothing is in mode Off.
func (s *Set) Near(p Page, sim uint64, words int) (Match, bool, error) {
	if s.o.Near == Off || words < MinWords {
		return Match{}, false, nil
	}
	h := p.host()
	sh := s.nearShard(h)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	best := Match{Distance: s.o.NearDistance + 1}
	for _, c := range sh.pages[h] {
		best.improve(p, Match{URL: c.URL, FP: c.FP, Sim: c.sim}, sim)
	}
	if err := s.search(p, sim, &best); err != nil {
		return Match{}, false, fmt.Errorf("near-duplicates of %s: %w", p.URL, err)
	}
	if best.Distance <= s.o.NearDistance {
		return best, true, nil
	}
	s.remember(sh, h, nearClaim{p, sim})
	return Match{}, false, nil
}

// improve replaces m by a nearer candidate, unless that is the page itself.
func (m *Match) improve(p Page, c Match, sim uint64) {
	if c.Distance = bits.OnesCount64(c.Sim ^ sim); c.Distance < m.Distance && c.FP != p.FP {
		*m = c
	}
}

func (s *Set) remember(sh *nearShard, h hostKey, c nearClaim) {
	if len(sh.pages[h]) >= maxHostPending || s.pendingNears.Load() >= int64(s.o.Pending) {
		return
	}
	for _, o := range sh.pages[h] {
		if o.FP == c.FP && o.sim == c.sim {
			return
		}
	}
	sh.pages[h] = append(sh.pages[h], c)
	s.pendingNears.Add(1)
}

// search compares the pages in the store that agree with sim in a block.
func (s *Set) search(p Page, sim uint64, best *Match) error {
	for t := range tables {
		r, bad, n := bucket(p, t, sim), false, 0
		found := best.FP
		err := s.o.DB.Scan(r, func(id, _ []byte) bool {
			if bad = len(id) != nearIDLen; bad {
				return false
			}
			c := Match{Sim: binary.BigEndian.Uint64(id[11:]), FP: weburl.Fingerprint(id[19:])}
			best.improve(p, c, sim)
			n++
			return best.Distance > 0 && n < maxBucket
		})
		if err != nil {
			return err
		}
		if bad {
			return ErrCorrupt
		}
		if best.FP != found {
			url, _, err := s.o.DB.Get(nearKey(Page{Partition: p.Partition, FP: best.FP}, 0, best.Sim))
			if err != nil {
				return err
			}
			best.URL = string(url)
		}
		if best.Distance == 0 {
			return nil
		}
	}
	return nil
}

// RecordNear writes the page to the batch that commits its visit, if Near remembered it.
func (s *Set) RecordNear(b *store.Batch, p Page, sim uint64) {
	c := nearClaim{p, sim}
	if !s.remembered(c) {
		return
	}
	b.Set(nearKey(p, 0, sim), []byte(p.URL))
	for t := 1; t < tables; t++ {
		b.Set(nearKey(p, t, sim), nil)
	}
	s.recordedNear = append(s.recordedNear, c)
}

func (s *Set) remembered(c nearClaim) bool {
	h := c.host()
	sh := s.nearShard(h)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, o := range sh.pages[h] {
		if o.FP == c.FP && o.sim == c.sim {
			return true
		}
	}
	return false
}

// AbandonNear takes back what Near remembered of the page, if it did: the visit will not be committed.
func (s *Set) AbandonNear(p Page, sim uint64) { s.forget(nearClaim{p, sim}) }

func (s *Set) forget(c nearClaim) {
	h := c.host()
	sh := s.nearShard(h)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	pages := sh.pages[h]
	for i, o := range pages {
		if o.FP == c.FP && o.sim == c.sim {
			pages[i] = pages[len(pages)-1]
			pages[len(pages)-1] = nearClaim{}
			sh.pages[h] = pages[:len(pages)-1]
			s.pendingNears.Add(-1)
			break
		}
	}
	if len(sh.pages[h]) == 0 {
		delete(sh.pages, h)
	}
}

// A page is in the store once per table, under partition/Near/
//
//	host hash (8), table (1), block (2), SimHash (8), fingerprint (16), all big-endian
//
// where the block is 16 bits of the SimHash, the lowest in table 0. The value is the URL in table 0, empty in others.
const nearIDLen = 8 + 1 + 2 + 8 + 16

func nearKey(p Page, table int, sim uint64) store.Key {
	id := bucketID(p, table, block(sim, table))
	id = binary.BigEndian.AppendUint64(id, sim)
	return store.Key{Partition: p.Partition, Space: store.Near, ID: append(id, p.FP[:]...)}
}

func block(sim uint64, table int) uint32 { return uint32(sim >> (16 * table) & 0xFFFF) }

// bucket is the range of the pages of p's host that agree with sim in the block of a table.
func bucket(p Page, table int, sim uint64) store.Range {
	b := block(sim, table)
	return store.Range{
		Partition: p.Partition, Space: store.Near,
		Lower: bucketID(p, table, b), Upper: bucketID(p, table, b+1),
	}
}

// bucketID is the beginning of a key; block 0x10000 is the one after the last of a table.
func bucketID(p Page, table int, block uint32) []byte {
	id := append(make([]byte, 0, nearIDLen), p.FP[:8]...)
	prefix := uint32(table)<<16 + block
	return append(id, byte(prefix>>16), byte(prefix>>8), byte(prefix))
}
