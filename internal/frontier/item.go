package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"decorum/internal/weburl"
)

// Kind says what a URL is fetched for.
type Kind uint8

const (
	Page    Kind = iota
	Robots       // a hop of a robots.txt redirect on this host
	Sitemap      // a sitemap or an index of sitemaps
	kinds        // how many there are
)

// String returns the name of the kind.
func (k Kind) String() string {
	if k < kinds {
		return [...]string{"page", "robots", "sitemap"}[k]
	}
	return "unknown"
}

// MaxHops is the length at which Item.Hops stops growing.
const MaxHops = 64

// Item is a URL on its way through the frontier, with what must be known of it when its turn comes.
type Item struct {
	URL       weburl.URL
	FP        weburl.Fingerprint
	Kind      Kind
	Level     uint8     // 1 (best) to F; 0 lets the prioritizer decide
	Head      bool      // goes to the head of its host's back queue, not through the front queues
	Embed     bool      // part of a page (image, style sheet), not a link to follow
	Depth     uint16    // links from the seed
	Hops      string    // the path from the seed in letters: L link, R redirect, E embed, S sitemap; at most MaxHops
	Attempt   uint8     // attempts made
	Redirects uint8     // redirects in a row that led here
	Seed      uint32    // number of the seed
	Parent    string    // URL of the page where it was found
	Anchor    string    // text of the link
	NotBefore time.Time // a retry waits until then; zero for no wait
	Origin    string    // Kind Robots only: the origin whose robots.txt this hop answers
}

// Items are stored as
//
//	version (1 byte), then per item:
//	flags (1 byte): kind (bits 0-1), head, embed, same parent as the item before, has retry fields, has origin
//	length of the prefix shared with the URL before, rest of the URL (both with uvarint lengths)
//	fingerprint (16 bytes), level (1 byte), depth, seed (uvarints), redirects (1 byte)
//	hops, anchor, parent unless the same (uvarint length, bytes)
//	retry fields: attempt (1 byte), not-before (Unix nanoseconds, varint; 0 for none)
//	origin (uvarint length, bytes)
//
// Items of one page share most of their bytes with the item before: that is what makes a chunk small.
const itemsVersion = 1

const (
	flagKind       = 0b0000_0011
	flagHead       = 0b0000_0100
	flagEmbed      = 0b0000_1000
	flagSameParent = 0b0001_0000
	flagRetry      = 0b0010_0000
	flagOrigin     = 0b0100_0000
)

// errItems says that bytes are not what EncodeItems writes.
var errItems = errors.New("malformed items")

// EncodeItems appends the stored form of items to dst. Concatenated forms are not a form.
func EncodeItems(dst []byte, items []Item) []byte {
	e := encoder{buf: dst}
	for i := range items {
		e.add(&items[i])
	}
	return e.bytes()
}

// DecodeItems reads back what EncodeItems wrote. It returns an error, and never panics, on anything else.
func DecodeItems(b []byte) ([]Item, error) {
	d := decoder{b: b}
	if v := d.byte(); v != itemsVersion {
		return nil, fmt.Errorf("%w: version %d, want %d", errItems, v, itemsVersion)
	}
	var items []Item
	for len(d.b) > 0 && !d.bad {
		it, err := d.item()
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	if d.bad {
		return nil, errItems
	}
	return items, nil
}

// encoder writes items one by one. The zero encoder is ready.
type encoder struct {
	buf         []byte
	begun       bool
	url, parent string // of the item before
}

func (e *encoder) bytes() []byte {
	if !e.begun {
		e.buf, e.begun = append(e.buf, itemsVersion), true
	}
	return e.buf
}

// reset forgets the items but keeps the memory.
func (e *encoder) reset() { *e = encoder{buf: e.buf[:0]} }

func (e *encoder) add(it *Item) {
	b, url := e.bytes(), it.URL.String()
	flags := byte(it.Kind) & flagKind
	set := func(when bool, flag byte) {
		if when {
			flags |= flag
		}
	}
	set(it.Head, flagHead)
	set(it.Embed, flagEmbed)
	set(it.Parent == e.parent, flagSameParent)
	set(it.Attempt > 0 || !it.NotBefore.IsZero(), flagRetry)
	set(it.Origin != "", flagOrigin)

	shared := sharedPrefix(e.url, url)
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(shared))
	b = appendString(b, url[shared:])
	b = append(b, it.FP[:]...)
	b = append(b, it.Level)
	b = binary.AppendUvarint(b, uint64(it.Depth))
	b = binary.AppendUvarint(b, uint64(it.Seed))
	b = append(b, it.Redirects)
	b = appendString(b, it.Hops[:min(len(it.Hops), MaxHops)])
	b = appendString(b, it.Anchor)
	if flags&flagSameParent == 0 {
		b = appendString(b, it.Parent)
	}
	if flags&flagRetry != 0 {
		b = append(b, it.Attempt)
		b = binary.AppendVarint(b, unixNano(it.NotBefore))
	}
	if flags&flagOrigin != 0 {
		b = appendString(b, it.Origin)
	}
	e.buf, e.url, e.parent = b, url, it.Parent
}

func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// unixNano is t in Unix nanoseconds, with 0 for the zero time.
func unixNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// fromUnixNano is the inverse of unixNano.
func fromUnixNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}

// decoder reads fields off the front of b. After the first malformed field it is bad and returns zeros.
type decoder struct {
	b   []byte
	bad bool

	url, parent, hops string // of the item before
}

func (d *decoder) item() (Item, error) {
	flags := d.byte()
	it := Item{Kind: Kind(flags & flagKind), Head: flags&flagHead != 0, Embed: flags&flagEmbed != 0}
	shared := d.uvarint(uint64(len(d.url)))
	rest := d.take(d.uvarint(weburl.MaxLength - shared))
	url := d.url[:shared] + string(rest)
	copy(it.FP[:], d.take(uint64(len(it.FP))))
	it.Level = d.byte()
	it.Depth = uint16(d.uvarint(1<<16 - 1))
	it.Seed = uint32(d.uvarint(1<<32 - 1))
	it.Redirects = d.byte()
	if hops := d.take(d.uvarint(MaxHops)); string(hops) == d.hops {
		it.Hops = d.hops // most items of a chunk are equally deep
	} else {
		it.Hops = string(hops)
	}
	it.Anchor = d.string()
	it.Parent = d.parent
	if flags&flagSameParent == 0 {
		it.Parent = d.string()
	}
	if flags&flagRetry != 0 {
		it.Attempt = d.byte()
		it.NotBefore = fromUnixNano(d.varint())
	}
	if flags&flagOrigin != 0 {
		it.Origin = d.string()
	}
	if d.bad || it.Kind >= kinds {
		return Item{}, errItems
	}
	u, err := weburl.Reparse(url)
	if err != nil {
		return Item{}, fmt.Errorf("%w: %w", errItems, err)
	}
	it.URL, d.url, d.parent, d.hops = u, u.String(), it.Parent, it.Hops
	return it, nil
}

func (d *decoder) byte() byte {
	if p := d.take(1); p != nil {
		return p[0]
	}
	return 0
}

// uvarint reads a number of at most limit.
func (d *decoder) uvarint(limit uint64) uint64 {
	n, w := binary.Uvarint(d.b)
	if w <= 0 || n > limit {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[w:]
	return n
}

func (d *decoder) varint() int64 {
	n, w := binary.Varint(d.b)
	if w <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[w:]
	return n
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) string() string { return string(d.take(d.uvarint(uint64(len(d.b))))) }
