// Package store is the embedded key-value store that holds the crawl's state: typed keys, batches,
// iteration. It is the only importer of Pebble.
//
// # Keys
//
// A key is partition (2 bytes, big-endian), space (1 byte), then bytes that the owner of the space
// defines. Every key starts with its partition, so that a partition can be exported, dropped or
// adopted as a key range. Facts of the whole crawl live in partition Global, behind all others.
//
// # Guarantees
//
//   - A Batch is applied entirely or not at all, also across a crash.
//   - When Commit(true) returns nil, the batch survives loss of power.
//   - After any failed write the store is poisoned: every later Commit returns the first failure,
//     because nobody knows what reached the disk. Reopening recovers.
//   - Reads see whole batches. DB is safe for concurrent use; a Batch belongs to one goroutine.
//
// The format is versioned: FormatVersion is stored at creation and compared on open.
package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// FormatVersion is the version of everything kept in the store. Version 1 is the first.
const FormatVersion = 1

// Global is the partition of facts about the whole crawl.
const Global Partition = 0xFFFF

// Partition is a slice of the crawl: hash(partition key) mod P.
type Partition uint16

// Space is a table: it says who owns a key and how to read it. Values are on disk and never change.
type Space byte

const (
	Meta    Space = 'm' // name -> value: counters, offsets, options
	Host    Space = 'h' // host name -> frontier host state
	Front   Space = 'f' // level, sequence -> chunk of waiting URLs
	Ready   Space = 'b' // host name, sequence -> ready URL (back queues)
	Intake  Space = 'i' // position -> batch of links not yet known to be new
	Page    Space = 'p' // URL fingerprint -> what happened to the URL
	Seen    Space = 's' // sequence -> fingerprints: the recent part of the seen-set
	Content Space = 'c' // digest -> first URL with this body
	Near    Space = 'n' // host, SimHash block -> SimHash, page
	Robots  Space = 'o' // origin -> robots.txt and when it was fetched
	Skip    Space = 'k' // URL fingerprint -> why the URL was skipped
)

// Key is a typed key.
type Key struct {
	Partition Partition
	Space     Space
	ID        []byte
}

const prefixLen = 3

// append writes the encoded key to dst.
func (k Key) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(k.Partition))
	dst = append(dst, byte(k.Space))
	return append(dst, k.ID...)
}

// Errors of the store. Test with errors.Is.
var (
	ErrNewer   = errors.New("written by a newer version")
	ErrCorrupt = errors.New("damaged") // a checksum is wrong, or a file is missing or makes no sense
)

// damaged is an error of the engine that says what is on disk is not what was written. The engine names files by number.
type damaged struct {
	dir   string
	cause error
}

func (d *damaged) Error() string {
	what, _, _ := strings.Cut(d.cause.Error(), "\n") // further lines are for its developers
	return fmt.Sprintf("%v: %s: %s", ErrCorrupt, d.dir, strings.TrimPrefix(what, "pebble: "))
}

// Unwrap makes it match ErrCorrupt and its cause.
func (d *damaged) Unwrap() []error { return []error{ErrCorrupt, d.cause} }

func (d *DB) damage(err error) error {
	if pebble.IsCorruptionError(err) && !errors.Is(err, ErrCorrupt) {
		return &damaged{d.dir, err}
	}
	return err
}

// Options says where the store is and how much memory it may take.
type Options struct {
	Dir       string // folder of the store; created if absent
	FS        FS     // file layer; nil means the operating system's
	CacheSize int64  // bytes of block cache; default 64 MiB
	MemTable  uint64 // bytes of one memtable, of which two may exist; default 16 MiB
	ReadOnly  bool
	Logf      func(format string, args ...any) // the engine's own log; nil drops it
}

// EnsureDefaults fills zero fields.
func (o *Options) EnsureDefaults() {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.CacheSize == 0 {
		o.CacheSize = 64 << 20
	}
	if o.MemTable == 0 {
		o.MemTable = 16 << 20
	}
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
}

// Validate reports the first option that cannot work.
func (o *Options) Validate() error {
	if o.Dir == "" {
		return errors.New("store: no folder given")
	}
	return nil
}

// DB is an open store.
type DB struct {
	dir   string
	db    *pebble.DB
	cache *pebble.Cache

	mu     sync.Mutex
	failed error // the first failed write; guarded by mu
}

// Open opens or creates the store. It fails with ErrNewer when a newer version wrote it.
func Open(o Options) (*DB, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	d := &DB{dir: o.Dir, cache: pebble.NewCache(o.CacheSize)}
	db, err := pebble.Open(o.Dir, d.engineOptions(o))
	if err != nil {
		d.cache.Unref()
		return nil, fmt.Errorf("open state %s: %w", o.Dir, cmp.Or(d.failure(), d.damage(err)))
	}
	d.db = db
	if err := cmp.Or(d.failure(), d.checkVersion(o.ReadOnly)); err != nil {
		return nil, errors.Join(fmt.Errorf("open state %s: %w", o.Dir, err), d.Close())
	}
	return d, nil
}

func (d *DB) engineOptions(o Options) *pebble.Options {
	po := &pebble.Options{
		FS:                    &guard{FS: o.FS, dir: filepath.Clean(o.Dir), fail: d.fail},
		Cache:                 d.cache,
		MemTableSize:          o.MemTable,
		FormatMajorVersion:    pebble.FormatNewest,
		L0CompactionThreshold: 4,
		MaxOpenFiles:          500,
		ReadOnly:              o.ReadOnly,
		Logger:                logger{o.Logf, d},
		EventListener: &pebble.EventListener{
			// A flush or compaction that cannot read would be tried again for ever.
			BackgroundError: func(err error) { d.fail(d.damage(err)) },
			DataCorruption: func(i pebble.DataCorruptionInfo) {
				d.fail(&damaged{i.Path, i.Details})
			},
		},
	}
	// Compactions run one at a time, so the end of one is the only moment to grant the next. The default scheduler
	// looks ten times a second as well, idle or not, and its goroutine outlives an Open that fails.
	po.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	for i := range po.Levels {
		// Point reads of digests and pages are mostly misses: 10 bits per key make a miss cost no I/O.
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	po.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionFastest })
	return po
}

func (d *DB) checkVersion(readOnly bool) error {
	key := Key{Global, Meta, []byte("format")}
	v, ok, err := d.Get(key)
	if err != nil {
		return err
	}
	if ok {
		if n, w := binary.Uvarint(v); w <= 0 || n > FormatVersion {
			return fmt.Errorf("%w: state format %d, this program knows %d; use the newer program", ErrNewer, n, FormatVersion)
		}
		return nil
	}
	if readOnly {
		return nil
	}
	b := d.NewBatch()
	b.Set(key, binary.AppendUvarint(nil, FormatVersion))
	return b.Commit(true)
}

// Close closes the store. Batches and iterators must be done.
func (d *DB) Close() error {
	err := d.db.Close()
	d.cache.Unref()
	return err
}

// Get returns a copy of the value, and whether the key exists.
func (d *DB) Get(k Key) ([]byte, bool, error) { return d.GetInto(nil, k) }

// GetInto is Get appending to dst.
func (d *DB) GetInto(dst []byte, k Key) ([]byte, bool, error) {
	var buf [64]byte
	v, closer, err := d.db.Get(k.append(buf[:0]))
	if errors.Is(err, pebble.ErrNotFound) {
		return dst, false, nil
	}
	if err != nil {
		return dst, false, fmt.Errorf("state: read %c/%x: %w", k.Space, k.ID, d.damage(err))
	}
	dst = append(dst, v...)
	return dst, true, closer.Close()
}

// Has reports whether the key exists.
func (d *DB) Has(k Key) (bool, error) {
	var buf [64]byte
	_, closer, err := d.db.Get(k.append(buf[:0]))
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("state: read %c/%x: %w", k.Space, k.ID, d.damage(err))
	}
	return true, closer.Close()
}

// Range is the keys of one partition and space whose ID is >= Lower and < Upper; a nil bound is open.
type Range struct {
	Partition    Partition
	Space        Space
	Lower, Upper []byte
}

func (r Range) bounds() (lower, upper []byte) {
	lower = Key{r.Partition, r.Space, r.Lower}.append(nil)
	if r.Upper != nil {
		return lower, Key{r.Partition, r.Space, r.Upper}.append(nil)
	}
	return lower, Key{r.Partition, r.Space + 1, nil}.append(nil)
}

// Scan calls yield for each key of the range in order until yield returns false. The slices are valid during
// the call only.
func (d *DB) Scan(r Range, yield func(id, value []byte) bool) error {
	lower, upper := r.bounds()
	it, err := d.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return fmt.Errorf("state: scan %c: %w", r.Space, d.damage(err))
	}
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(fmt.Errorf("state: scan %c: %w", r.Space, d.damage(err)), it.Close())
		}
		if !yield(it.Key()[prefixLen:], v) {
			break
		}
	}
	if err := it.Close(); err != nil {
		return fmt.Errorf("state: scan %c: %w", r.Space, d.damage(err))
	}
	return nil
}

// Checkpoint writes a consistent copy of the store to dir, which must not exist, hard-linking what it can.
func (d *DB) Checkpoint(dir string) (err error) {
	defer func() {
		if p := recover(); p != nil { // the engine's answer to a folder that cannot be synced; it has tidied up
			err = fmt.Errorf("state: checkpoint to %s: %v", dir, p)
		}
	}()
	if err := d.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("state: checkpoint to %s: %w", dir, err)
	}
	return nil
}

// Size returns the bytes the store takes on disk.
func (d *DB) Size() uint64 { return d.db.Metrics().DiskSpaceUsage() }

func (d *DB) fail(err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed == nil {
		d.failed = err
	}
	return d.failed
}

func (d *DB) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// Batch collects writes that are applied together. Its methods do not fail; Commit reports.
type Batch struct {
	d   *DB
	b   *pebble.Batch
	key []byte
	err error
}

// NewBatch returns an empty batch. Commit or Discard ends it.
func (d *DB) NewBatch() *Batch { return &Batch{d: d, b: d.db.NewBatch()} }

// Set writes a value.
func (b *Batch) Set(k Key, value []byte) {
	b.key = k.append(b.key[:0])
	b.note(b.b.Set(b.key, value, nil))
}

// Delete removes a key; removing an absent key is no error.
func (b *Batch) Delete(k Key) {
	b.key = k.append(b.key[:0])
	b.note(b.b.Delete(b.key, nil))
}

// DeleteRange removes all keys of the range.
func (b *Batch) DeleteRange(r Range) {
	lower, upper := r.bounds()
	b.note(b.b.DeleteRange(lower, upper, nil))
}

// Len returns the number of bytes collected.
func (b *Batch) Len() int { return b.b.Len() }

// Empty reports whether nothing was written.
func (b *Batch) Empty() bool { return b.b.Empty() }

func (b *Batch) note(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Commit applies the batch and ends it. With sync it returns after the batch is on disk.
func (b *Batch) Commit(sync bool) error {
	defer b.Discard()
	if err := b.d.failure(); err != nil {
		return fmt.Errorf("state: an earlier write failed: %w", err)
	}
	if b.err != nil {
		return fmt.Errorf("state: batch: %w", b.err)
	}
	o := pebble.NoSync
	if sync {
		o = pebble.Sync
	}
	if err := b.b.Commit(o); err != nil {
		return fmt.Errorf("state: commit: %w", b.d.fail(err))
	}
	return b.d.failure()
}

// Discard drops a batch that was not committed; after Commit it does nothing.
func (b *Batch) Discard() {
	if b.b != nil {
		_ = b.b.Close() // nothing to report: the batch is memory only
		b.b = nil
	}
}

// logger passes the engine's log on and turns its fatal errors into a poisoned store: a library must
// not end the process.
type logger struct {
	logf func(string, ...any)
	d    *DB
}

func (l logger) Infof(format string, args ...any)  { l.logf(format, args...) }
func (l logger) Errorf(format string, args ...any) { l.logf(format, args...) }
func (l logger) Fatalf(format string, args ...any) {
	l.d.fail(fmt.Errorf(format, args...))
	l.logf(format, args...)
}

var _ io.Closer = (*DB)(nil)
