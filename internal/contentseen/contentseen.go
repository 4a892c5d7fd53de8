// Package contentseen recognises bodies that were fetched before at another URL: exactly, by SHA-256, and
// nearly, by 64-bit SimHash within a host.
package contentseen

import (
	"time"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

// Digest is the SHA-256 of a decoded body.
type Digest [32]byte

// Ref is the first page with a body: what a WARC revisit record refers to.
type Ref struct {
	URL      string
	Date     time.Time
	RecordID string
	FP       weburl.Fingerprint
}

// Mode says what a near-duplicate means.
type Mode uint8

const (
	Record Mode = iota // near-duplicates are recorded
	Skip               // recorded, and their links are not followed
	Off                // not looked for
)

// Options says where the set lives.
type Options struct {
	DB           *store.DB
	Partitions   int  // partitions of the crawl; default 64
	NearDistance int  // differing bits of 64 that still count as near; default 3, at most 3
	Near         Mode // what a near-duplicate means; default Record
}

// Set is the set of contents seen.
type Set struct{}

// Open opens the set.
func Open(Options) (*Set, error) { return &Set{}, nil }

// Claim says whether the body was seen at another URL: the first Ref and true; otherwise ref becomes the
// first, in memory until Record and Applied.
func (s *Set) Claim(d Digest, ref Ref) (Ref, bool, error) { return Ref{}, false, nil }

// Abandon takes back a Claim that returned false: the visit will not be committed.
func (s *Set) Abandon(d Digest) {}

// Record writes a claim to the batch that commits the visit.
func (s *Set) Record(b *store.Batch, d Digest, ref Ref) {}

// Applied says that the batch of all Records so far was committed.
func (s *Set) Applied() {}

// Page is a page of which near-duplicates are looked for, within its host (the first half of FP).
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
	Distance int // differing bits of 64
}

// Near returns an earlier page of the same host whose SimHash is near; otherwise the page itself is
// remembered as the first of its kind, in memory until RecordNear and Applied. Texts of fewer words than MinWords
// are neither found nor remembered.
func (s *Set) Near(p Page, sim uint64, words int) (Match, bool, error) { return Match{}, false, nil }

// AbandonNear takes back what Near remembered: the visit will not be committed.
func (s *Set) AbandonNear(p Page, sim uint64) {}

// RecordNear writes what Near remembered, if it did, to the batch that commits the visit.
func (s *Set) RecordNear(b *store.Batch, p Page, sim uint64) {}

// SimHasher makes the SimHash of a text. One per worker.
type SimHasher struct{}

// NewSimHasher returns an empty hasher.
func NewSimHasher() *SimHasher { return &SimHasher{} }

// Add adds text.
func (h *SimHasher) Add(text []byte) {}

// AddString adds text.
func (h *SimHasher) AddString(text string) {}

// Sum returns the SimHash and the number of words.
func (h *SimHasher) Sum() (sim uint64, words int) { return 0, 0 }

// Reset empties the hasher.
func (h *SimHasher) Reset() {}
