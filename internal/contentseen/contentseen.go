// Package contentseen recognises bodies that were seen before at another URL.
//
// Exactly: by the SHA-256 of the decoded body, in the whole crawl. A duplicate becomes a WARC revisit record that
// refers to the first page with the body (Ref), and its links are not followed. Nearly: by a 64-bit SimHash over word
// shingles, within a host (Charikar 2002; Manku, Jain, Das Sarma 2007). Near-duplicates are recorded, and optionally
// not followed.
//
// # Life of a claim
//
// A worker claims a body when it has it: Claim answers with the first Ref, or makes the caller's the first, in
// memory. The step side then writes it with the batch that commits the visit (Record), and it leaves memory when
// that batch was committed (Applied); or the visit fails and takes it back (Abandon). Near, RecordNear, Applied and
// AbandonNear are the same for SimHashes.
//
// # Invariants
//
//   - A digest has at most one first page at any time, in memory or in the store, except beyond Options.Pending.
//   - A URL is never a duplicate of itself.
//   - A page that is near another is not remembered itself: each cluster is the pages near its first, and does not
//     drift away from it page by page.
//   - What the store holds is a function of committed batches; claims in memory die with the process.
//
// An answer may name a page that is itself not committed yet (Ref.Pending). It is a duplicate all the same, but no
// record may refer to it: a crash takes it back.
//
// # Concurrency
//
// Claim, Abandon, Near and AbandonNear are safe for concurrent use. Record, RecordNear and Applied belong to
// one goroutine, the step side. A SimHasher belongs to one worker.
//
// # What it does not do
//
// It does not extract text (parse), does not hash bodies, does not decide what happens to duplicates, and
// does not compare across hosts nearly: templates of hosting platforms would match.
package contentseen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

// Digest is the SHA-256 of a decoded body.
type Digest [32]byte

// Ref is the first page with a body: what a WARC revisit record refers to (WARC 1.1 §6.7).
type Ref struct {
	URL      string
	Date     time.Time // WARC-Date, kept to the nanosecond in UTC
	RecordID string    // WARC-Record-ID
	Payload  string    // WARC-Payload-Digest: a revisit repeats it to the letter
	FP       weburl.Fingerprint

	// Pending is set by Claim when the page is not committed yet: a crash may take its record back, so no record
	// may refer to it.
	Pending bool
}

// Mode says what a near-duplicate means. The values are the names of --near-duplicates.
type Mode uint8

const (
	Record Mode = iota // near-duplicates are recorded
	Skip               // recorded, and their links are not followed
	Off                // not looked for
)

var modeNames = [...]string{Record: "record", Skip: "skip", Off: "off"}

// String returns the mode's name in lower case.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// ParseMode reads a mode's name, in any case.
func ParseMode(s string) (Mode, error) {
	for m, name := range modeNames {
		if strings.EqualFold(s, name) {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("near-duplicates %q; known are %s", s, strings.Join(modeNames[:], ", "))
}

// ErrCorrupt says that a value in the store is not what was written.
var ErrCorrupt = errors.New("damaged")

// Options says where the set is and what is near.
type Options struct {
	DB           *store.DB
	Partitions   int  // partitions of the crawl; default 64
	NearDistance int  // most bits of 64 in which near-duplicates differ, 1 to 3; default 3 (Manku et al. 2007 §3)
	Near         Mode // what a near-duplicate means; default Record
	Pending      int  // most claims of each kind in memory; default 65536, about 20 MB. Beyond, bodies count as new
}

// EnsureDefaults fills zero fields.
func (o *Options) EnsureDefaults() {
	if o.Partitions == 0 {
		o.Partitions = 64
	}
	if o.NearDistance == 0 {
		o.NearDistance = maxDistance
	}
	if o.Pending == 0 {
		o.Pending = 1 << 16
	}
}

// Validate reports the first option that cannot work.
func (o *Options) Validate() error {
	switch {
	case o.DB == nil:
		return errors.New("contentseen: no store given")
	case o.Partitions < 1 || o.Partitions > int(store.Global):
		return fmt.Errorf("contentseen: %d partitions; 1 to %d are possible", o.Partitions, store.Global)
	case o.NearDistance < 1 || o.NearDistance > maxDistance:
		return fmt.Errorf("contentseen: near distance %d; 1 to %d are possible", o.NearDistance, maxDistance)
	case int(o.Near) >= len(modeNames):
		return fmt.Errorf("contentseen: %v is not a mode", o.Near)
	case o.Pending < 1:
		return fmt.Errorf("contentseen: %d pending claims; at least 1 is needed", o.Pending)
	}
	return nil
}

// shards keeps workers from waiting for each other; a power of two.
const shards = 64

// Set is the set of contents seen.
type Set struct {
	o      Options
	claims [shards]claimShard
	nears  [shards]nearShard

	pendingClaims atomic.Int64
	pendingNears  atomic.Int64

	recorded     []Digest // of the step side: claims in a batch not yet applied
	recordedNear []nearClaim
}

// claimShard holds the claims of some digests.
type claimShard struct {
	mu     sync.Mutex
	claims map[Digest]Ref // guarded by mu
}

// Open opens the set in a store.
func Open(o Options) (*Set, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Set{o: o}
	for i := range shards {
		s.claims[i].claims = map[Digest]Ref{}
		s.nears[i].pages = map[hostKey][]nearClaim{}
	}
	return s, nil
}

// Mode says what near-duplicates mean in this set.
func (s *Set) Mode() Mode { return s.o.Near }

// Claim says whether the body was seen at another URL: it returns the first Ref and true. Otherwise ref becomes the first,
// in memory until Record and Applied, and Claim returns false; also when the body was seen at this same URL. An
// empty body says nothing about a page: the caller does not claim it.
func (s *Set) Claim(d Digest, ref Ref) (Ref, bool, error) {
	c := &s.claims[d[31]%shards]
	c.mu.Lock()
	defer c.mu.Unlock()
	first, ok := c.claims[d]
	first.Pending = ok
	if !ok {
		var err error
		if first, ok, err = s.stored(d); err != nil {
			return Ref{}, false, err
		}
	}
	if ok {
		if first.FP == ref.FP {
			return Ref{}, false, nil
		}
		return first, true, nil
	}
	if s.pendingClaims.Add(1) > int64(s.o.Pending) {
		s.pendingClaims.Add(-1)
		return Ref{}, false, nil
	}
	c.claims[d] = ref
	return Ref{}, false, nil
}

// Abandon takes back a Claim that returned false: the visit will not be committed. Calling it after a Claim that returned
// true is a mistake: the claim is another visit's.
func (s *Set) Abandon(d Digest) {
	c := &s.claims[d[31]%shards]
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.claims[d]; ok {
		delete(c.claims, d)
		s.pendingClaims.Add(-1)
	}
}

// Record writes a claim to the batch that commits its visit. Applied follows when the batch was committed.
func (s *Set) Record(b *store.Batch, d Digest, ref Ref) {
	b.Set(s.key(d), ref.append(nil))
	s.recorded = append(s.recorded, d)
}

// Applied says that the batch of all Records and RecordNears since the last Applied was committed: their claims leave memory.
func (s *Set) Applied() {
	for _, d := range s.recorded {
		s.Abandon(d)
	}
	for _, n := range s.recordedNear {
		s.forget(n)
	}
	s.recorded, s.recordedNear = s.recorded[:0], s.recordedNear[:0]
}

// key is digest -> Ref, in the partition that the digest falls into: duplicates do not respect host ownership.
func (s *Set) key(d Digest) store.Key {
	p := binary.BigEndian.Uint16(d[:]) % uint16(s.o.Partitions)
	return store.Key{Partition: store.Partition(p), Space: store.Content, ID: d[:]}
}

func (s *Set) stored(d Digest) (Ref, bool, error) {
	v, ok, err := s.o.DB.Get(s.key(d))
	if err != nil || !ok {
		return Ref{}, false, err
	}
	ref, err := parseRef(v)
	if err != nil {
		return Ref{}, false, fmt.Errorf("content %x: %w", d, err)
	}
	return ref, true, nil
}

// refVersion is the first byte of a Ref in the store:
//
//	version (1), fingerprint (16), date: varint seconds and uvarint nanoseconds since 1970,
//	URL and record id (uvarint length, bytes), payload digest
const refVersion = 1

func (r Ref) append(dst []byte) []byte {
	dst = append(dst, refVersion)
	dst = append(dst, r.FP[:]...)
	dst = binary.AppendVarint(dst, r.Date.Unix())
	dst = binary.AppendUvarint(dst, uint64(r.Date.Nanosecond()))
	for _, text := range []string{r.URL, r.RecordID} {
		dst = binary.AppendUvarint(dst, uint64(len(text)))
		dst = append(dst, text...)
	}
	return append(dst, r.Payload...)
}

func parseRef(b []byte) (r Ref, err error) {
	if len(b) < 1+len(r.FP) {
		return Ref{}, ErrCorrupt
	}
	if b[0] != refVersion {
		return Ref{}, fmt.Errorf("%w: version %d of a reference, this program knows %d", store.ErrNewer, b[0], refVersion)
	}
	r.FP = weburl.Fingerprint(b[1:])
	b = b[1+len(r.FP):]
	sec, n := binary.Varint(b)
	if n <= 0 {
		return Ref{}, ErrCorrupt
	}
	b = b[n:]
	nsec, n := binary.Uvarint(b)
	if n <= 0 || nsec >= uint64(time.Second) {
		return Ref{}, ErrCorrupt
	}
	b = b[n:]
	for _, text := range []*string{&r.URL, &r.RecordID} {
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return Ref{}, ErrCorrupt
		}
		*text, b = string(b[n:n+int(length)]), b[n+int(length):]
	}
	r.Date, r.Payload = time.Unix(sec, int64(nsec)).UTC(), string(b)
	return r, nil
}
