package urlseen

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a sieve on a store, both of which can be closed and opened again.
type bed struct {
	t    rapid.TB
	fs   store.FS
	opts Options
	db   *store.DB
	s    *Sieve
}

func newBed(t rapid.TB, o Options) *bed {
	b := &bed{t: t, fs: o.FS, opts: o}
	if b.fs == nil {
		b.fs = store.Memory()
	}
	b.open()
	return b
}

func (b *bed) open() {
	b.t.Helper()
	var err error
	if b.db, err = store.Open(store.Options{Dir: "state", FS: b.fs, MemTable: 1 << 20, CacheSize: 1 << 20}); err != nil {
		b.t.Fatal(err)
	}
	o := b.opts
	o.DB, o.FS, o.Dir = b.db, b.fs, "sieve"
	if b.s, err = Open(o); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) close() {
	b.t.Helper()
	if err := errors.Join(b.s.Close(), b.db.Close()); err != nil {
		b.t.Fatal(err)
	}
}

// step sifts keys and commits.
func (b *bed) step(keys ...Key) []int {
	b.t.Helper()
	batch := b.db.NewBatch()
	fresh, err := b.s.Step(batch, keys)
	if err == nil {
		err = batch.Commit(false)
	}
	if err == nil {
		err = b.s.Applied()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return fresh
}

// settle lets the background finish and installs what it made.
func (b *bed) settle() {
	b.t.Helper()
	for {
		if len(b.s.finished) == 0 && b.s.flushing == nil && b.s.merging == nil {
			return
		}
		for kind, c := range []*chan result{&b.s.flushing, &b.s.merging} {
			if err := b.s.take(c, kind, true); err != nil {
				b.t.Fatal(err)
			}
		}
		b.step()
	}
}

func key(p, host, url int) Key {
	var fp weburl.Fingerprint
	binary.BigEndian.PutUint64(fp[:8], uint64(host)*0x9E3779B97F4A7C15)
	binary.BigEndian.PutUint64(fp[8:], uint64(url)*0xD6E8FEB86659FD93)
	return Key{store.Partition(p), fp}
}

func randomKey(r *rand.Rand, parts int) (k Key) {
	binary.BigEndian.PutUint64(k.FP[:8], r.Uint64())
	binary.BigEndian.PutUint64(k.FP[8:], r.Uint64())
	k.Partition = store.Partition(int(k.FP[0]) % parts)
	return k
}

func TestFirstSeenOrder(t *testing.T) {
	b := newBed(t, Options{})
	defer b.close()
	one, two, three := key(1, 1, 1), key(2, 2, 2), key(1, 3, 3)
	if got := b.step(two, one, two, one); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("fresh = %v, want the first of each", got)
	}
	if got := b.step(one, three, two, three); !slices.Equal(got, []int{1}) {
		t.Errorf("fresh = %v, want only the new one", got)
	}
	if b.s.Known() != 3 {
		t.Errorf("Known = %d, want 3", b.s.Known())
	}
}

// The sieve is the same set as a map, whatever is flushed, merged, dropped, closed or lost in a crash.
func TestIsASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBed(t, Options{
			Partitions: 4,
			Memory:     1 << 20,
			RecentKeys: rapid.SampledFrom([]int{1, 5, 40}).Draw(t, "recent keys"),
			MaxRuns:    rapid.IntRange(2, 4).Draw(t, "max runs"),
		})
		defer func() { b.close() }()
		known := map[Key]bool{}
		var batch *store.Batch
		pending := map[Key]bool{}
		genKey := rapid.Custom(func(t *rapid.T) Key {
			host := rapid.IntRange(0, 12).Draw(t, "host")
			return key(host%4, host, rapid.IntRange(0, 40).Draw(t, "url"))
		})
		drop := func() {
			if batch != nil {
				batch.Discard()
			}
			batch, pending = nil, map[Key]bool{}
		}
		commit := func() {
			if batch == nil {
				return
			}
			if err := batch.Commit(false); err != nil {
				t.Fatal(err)
			}
			for k := range pending {
				known[k] = true
			}
			batch, pending = nil, map[Key]bool{}
		}
		t.Repeat(map[string]func(*rapid.T){
			"step": func(t *rapid.T) {
				keys := rapid.SliceOfN(genKey, 0, 60).Draw(t, "keys")
				if batch == nil {
					batch = b.db.NewBatch()
				}
				fresh, err := b.s.Step(batch, keys)
				if err != nil {
					t.Fatal(err)
				}
				var want []int
				for i, k := range keys {
					if !known[k] && !pending[k] {
						pending[k] = true
						want = append(want, i)
					}
				}
				if !slices.Equal(fresh, want) {
					t.Fatalf("fresh = %v, want %v", fresh, want)
				}
			},
			"commit": func(t *rapid.T) {
				if batch == nil {
					t.Skip("nothing to commit")
				}
				commit()
				if err := b.s.Applied(); err != nil {
					t.Fatal(err)
				}
			},
			"drop":   func(t *rapid.T) { drop() },
			"settle": func(t *rapid.T) { drop(); b.settle() },
			"crash before commit": func(t *rapid.T) {
				drop()
				b.close()
				b.open()
			},
			"crash between commit and Applied": func(t *rapid.T) {
				commit()
				b.close()
				b.open()
			},
			"": func(t *rapid.T) {
				if got := b.s.Known(); batch == nil && got != uint64(len(known)) {
					t.Fatalf("Known = %d, want %d", got, len(known))
				}
				k := genKey.Draw(t, "asked")
				if got, err := b.s.Contains(k); err != nil || got != known[k] {
					t.Fatalf("Contains(%v) = %v, %v, want %v", k, got, err, known[k])
				}
			},
		})
		drop()
		b.settle()
		if err := b.s.Verify(context.Background()); err != nil {
			t.Fatal(err)
		}
		all := map[Key]bool{}
		for p := range store.Partition(4) {
			err := b.s.Keys(p, func(fp weburl.Fingerprint) bool {
				all[Key{p, fp}] = true
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(all) != len(known) {
			t.Fatalf("Keys yields %d, want %d", len(all), len(known))
		}
	})
}

func TestFilesAreThoseOfTheManifest(t *testing.T) {
	b := newBed(t, Options{Memory: 1 << 20, RecentKeys: 100, MaxRuns: 2})
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		keys := make([]Key, 50)
		for i := range keys {
			keys[i] = randomKey(r, 64)
		}
		b.step(keys...)
	}
	b.settle()
	stray := b.fs.PathJoin("sieve", "00009999.run")
	f, err := b.fs.Create(stray, store.Category)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("half a ru"))
	f.Close()
	st := b.s.Stats()
	b.close()
	b.open()
	defer b.close()
	b.settle()
	names, err := b.fs.List("sieve")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != b.s.Stats().Runs || slices.Contains(names, "00009999.run") {
		t.Errorf("files %v, want the %d runs of the manifest", names, b.s.Stats().Runs)
	}
	if st.Merges == 0 || st.Flushes == 0 || st.Known != 2000 || b.s.Known() != 2000 {
		t.Errorf("%+v, Known %d: want flushes, merges and 2000 known", st, b.s.Known())
	}
	if st := b.s.Stats(); st.FilterBytes == 0 {
		t.Error("filters were not rebuilt after the start")
	}
}

func TestChunksLeaveTheStore(t *testing.T) {
	b := newBed(t, Options{Memory: 1 << 20, RecentKeys: 10})
	defer b.close()
	for i := range 10 {
		b.step(key(i%3, i, i))
	}
	b.settle()
	n := 0
	for p := range store.Partition(3) {
		if err := b.db.Scan(store.Range{Partition: p, Space: store.Seen}, func(_, _ []byte) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
	}
	if st := b.s.Stats(); n != 0 || st.RunKeys != 10 {
		t.Errorf("%d chunks remain in the store, %d keys in runs; want 0 and 10", n, st.RunKeys)
	}
}

func TestLinkIsACheckpoint(t *testing.T) {
	b := newBed(t, Options{Memory: 1 << 20, RecentKeys: 10})
	for i := range 25 {
		b.step(key(1, i, i))
	}
	b.settle()
	b.step(key(2, 1, 1))
	if err := b.fs.MkdirAll("copy/sieve", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.db.Checkpoint("copy/state"), b.s.Link("copy/sieve")); err != nil {
		t.Fatal(err)
	}
	b.close()
	db, err := store.Open(store.Options{Dir: "copy/state", FS: b.fs})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := Open(Options{DB: db, FS: b.fs, Dir: "copy/sieve", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Known() != 26 {
		t.Errorf("the copy knows %d, want 26", s.Known())
	}
	if _, err := s.Step(db.NewBatch(), nil); err == nil {
		t.Error("Step on a read-only sieve succeeded")
	}
}

func TestPartitionsAreFixed(t *testing.T) {
	b := newBed(t, Options{Partitions: 8})
	b.step(key(7, 1, 1))
	batch := b.db.NewBatch()
	if _, err := b.s.Step(batch, []Key{key(8, 1, 1)}); err == nil {
		t.Error("a key of a partition outside the crawl was taken")
	}
	batch.Discard()
	if err := b.s.Close(); err != nil {
		t.Fatal(err)
	}
	defer b.db.Close()
	if s, err := Open(Options{DB: b.db, FS: b.fs, Dir: "sieve", Partitions: 4}); err == nil {
		s.Close()
		t.Error("opened with another number of partitions: keys would be lost")
	}
}

// brokenDir fails to sync folders while broken.
type brokenDir struct {
	store.FS
	broken bool
}

func (f *brokenDir) OpenDir(name string) (store.File, error) {
	if f.broken && strings.HasSuffix(name, "sieve") {
		return nil, errors.New("no space left")
	}
	return f.FS.OpenDir(name)
}

// A run that cannot be written is an error of a Step, and no key is lost when writing works again.
func TestFailedFlushIsTriedAgain(t *testing.T) {
	fs := &brokenDir{FS: store.Memory()}
	b := newBed(t, Options{FS: fs, Memory: 1 << 20, RecentKeys: 10})
	defer b.close()
	fs.broken = true
	var failed error
	for i := 0; failed == nil && i < 100; i++ {
		batch := b.db.NewBatch()
		if _, failed = b.s.Step(batch, []Key{key(1, i, i)}); failed == nil {
			if err := errors.Join(batch.Commit(false), b.s.Applied()); err != nil {
				t.Fatal(err)
			}
		}
		batch.Discard()
	}
	if failed == nil {
		t.Fatal("a broken disk went unnoticed")
	}
	fs.broken = false
	known := b.s.Known()
	for b.s.Stats().Flushes == 0 {
		b.step()
	}
	b.settle()
	if b.s.Known() != known {
		t.Errorf("Known = %d after the failure, %d before", b.s.Known(), known)
	}
	for i := range int(known) {
		if ok, err := b.s.Contains(key(1, i, i)); !ok || err != nil {
			t.Fatalf("key %d: %v, %v", i, ok, err)
		}
	}
}

// hostKeys returns the keys of hosts with that many URLs each.
func hostKeys(r *rand.Rand, hosts, urls, parts int) []Key {
	keys := make([]Key, 0, hosts*urls)
	for range hosts {
		k := randomKey(r, parts)
		for range urls {
			binary.BigEndian.PutUint64(k.FP[8:], r.Uint64())
			keys = append(keys, k)
		}
	}
	return keys
}

// Memory stays within its setting while the set outgrows its filters.
func TestFiltersFitTheBudget(t *testing.T) {
	const memory = 1 << 20
	b := newBed(t, Options{Memory: memory, RecentKeys: 20000})
	defer b.close()
	r := rand.New(rand.NewPCG(9, 10))
	for range 45 {
		b.step(hostKeys(r, 1000, 20, 64)...)
		if st := b.s.Stats(); st.FilterBytes > memory/filterShare || st.IndexBytes > memory/indexShare {
			t.Fatalf("filters take %d bytes, indexes %d, of %d", st.FilterBytes, st.IndexBytes, memory)
		}
	}
	b.settle()
	without := 0
	for _, run := range b.s.runs {
		if run.filter.Load() == nil {
			without++
		}
	}
	if without == 0 || without == len(b.s.runs) {
		t.Errorf("%d of %d runs lack a filter; want the largest only", without, len(b.s.runs))
	}
}
