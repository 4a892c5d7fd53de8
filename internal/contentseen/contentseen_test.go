package contentseen

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

// bed is a set on a store, both of which can be opened again.
type bed struct {
	t    testing.TB
	fs   store.FS
	opts Options
	db   *store.DB
	*Set
}

func newBed(t testing.TB, o Options) *bed {
	b := &bed{t: t, fs: store.Memory(), opts: o}
	b.open()
	t.Cleanup(func() { b.db.Close() })
	return b
}

func (b *bed) open() {
	b.t.Helper()
	var err error
	if b.db, err = store.Open(store.Options{Dir: "state", FS: b.fs}); err != nil {
		b.t.Fatal(err)
	}
	b.opts.DB = b.db
	if b.Set, err = Open(b.opts); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) reopen() {
	b.t.Helper()
	if err := b.db.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

// commit commits what write puts in a batch.
func (b *bed) commit(write func(*store.Batch)) {
	b.t.Helper()
	batch := b.db.NewBatch()
	write(batch)
	if err := batch.Commit(true); err != nil {
		b.t.Fatal(err)
	}
	b.Applied()
}

func ref(i int) Ref {
	return Ref{
		URL:      fmt.Sprintf("https://example.org/%d", i),
		Date:     time.Date(2026, 1, 2, 3, 4, i%60, 5, time.UTC),
		RecordID: fmt.Sprintf("urn:uuid:%d", i),
		Payload:  fmt.Sprintf("sha256:%d", i),
		FP:       fingerprint(1, i),
	}
}

func fingerprint(host, url int) (fp weburl.Fingerprint) {
	binary.BigEndian.PutUint64(fp[:8], uint64(host))
	binary.BigEndian.PutUint64(fp[8:], uint64(url))
	return fp
}

func (b *bed) claim(body string, r Ref) (Ref, bool) {
	b.t.Helper()
	first, dup, err := b.Claim(sha256.Sum256([]byte(body)), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return first, dup
}

func TestSecondURLIsADuplicateOfTheFirst(t *testing.T) {
	b := newBed(t, Options{})
	body := "same"
	d := Digest(sha256.Sum256([]byte(body)))
	if _, dup := b.claim(body, ref(1)); dup {
		t.Fatal("the first page is a duplicate")
	}
	check := func(when string, pending bool) {
		t.Helper()
		want := ref(1)
		want.Pending = pending
		if first, dup := b.claim(body, ref(2)); !dup || first != want {
			t.Errorf("%s: %+v, %v; want the first page, pending %v", when, first, dup, pending)
		}
		if _, dup := b.claim(body, ref(1)); dup {
			t.Errorf("%s: a page is a duplicate of itself", when)
		}
	}
	check("in flight", true)
	batch := b.db.NewBatch()
	b.Record(batch, d, ref(1))
	check("recorded", true)
	if err := batch.Commit(true); err != nil {
		t.Fatal(err)
	}
	check("committed", true)
	b.Applied()
	check("applied", false)
	if n := b.pendingClaims.Load(); n != 0 {
		t.Errorf("%d claims remain in memory", n)
	}
	b.reopen()
	check("reopened", false)
}

func TestAbandonedClaimIsFree(t *testing.T) {
	b := newBed(t, Options{})
	b.claim("x", ref(1))
	b.Abandon(sha256.Sum256([]byte("x")))
	if _, dup := b.claim("x", ref(2)); dup {
		t.Error("duplicate of a page that was not committed")
	}
	if first, dup := b.claim("x", ref(3)); !dup || first.URL != ref(2).URL {
		t.Errorf("%+v, %v; want the second page as the first", first, dup)
	}
}

func TestOneOfManyIsTheFirst(t *testing.T) {
	b := newBed(t, Options{})
	var wg sync.WaitGroup
	firsts := make([]bool, 20)
	for i := range firsts {
		wg.Go(func() {
			_, dup, err := b.Claim(Digest{1}, ref(i))
			firsts[i] = !dup && err == nil
		})
	}
	wg.Wait()
	n := 0
	for _, f := range firsts {
		if f {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d first pages, want 1", n)
	}
}

func TestPendingIsBounded(t *testing.T) {
	b := newBed(t, Options{Pending: 3})
	for i := range 10 {
		b.claim(fmt.Sprint(i), ref(i))
		if _, _, err := b.Near(page(1, i), uint64(i)*0x9E3779B97F4A7C15, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if c, n := b.pendingClaims.Load(), b.pendingNears.Load(); c != 3 || n != 3 {
		t.Errorf("%d claims and %d pages in memory, want 3 and 3", c, n)
	}
}

func page(host, url int) Page {
	return Page{Partition: store.Partition(host % 64), FP: fingerprint(host, url), URL: fmt.Sprintf("https://h%d/%d", host, url)}
}

func TestNearWithinAHost(t *testing.T) {
	const sim = 0x0123456789ABCDEF
	b := newBed(t, Options{})
	near := func(p Page, sim uint64, words int) (Match, bool) {
		t.Helper()
		m, ok, err := b.Near(p, sim, words)
		if err != nil {
			t.Fatal(err)
		}
		return m, ok
	}
	if _, ok := near(page(1, 1), sim, 100); ok {
		t.Fatal("the first page is near something")
	}
	check := func(when string) {
		t.Helper()
		for _, bits := range []uint64{0, 1, 1<<63 | 1, 1<<63 | 1<<20 | 1} {
			m, ok := near(page(1, 2), sim^bits, 100)
			if want := page(1, 1); !ok || m.FP != want.FP || m.URL != want.URL || m.Sim != sim {
				t.Errorf("%s: bits %x differ: %+v, %v", when, bits, m, ok)
			}
		}
		if _, ok := near(page(1, 3), sim^(1<<63|1<<40|1<<20|1), 100); ok {
			t.Errorf("%s: four bits differ, yet near", when)
		}
		b.AbandonNear(page(1, 3), sim^(1<<63|1<<40|1<<20|1))
		if _, ok := near(page(2, 1), sim, 100); ok {
			t.Errorf("%s: near a page of another host", when)
		}
		b.AbandonNear(page(2, 1), sim)
		if _, ok := near(page(1, 1), sim, 100); ok {
			t.Errorf("%s: near itself", when)
		}
		if _, ok := near(page(1, 4), sim, MinWords-1); ok {
			t.Errorf("%s: a menu is near", when)
		}
	}
	check("in flight")
	b.commit(func(batch *store.Batch) {
		b.RecordNear(batch, page(1, 1), sim)
		b.RecordNear(batch, page(1, 2), sim^1) // was near, so it is not remembered
	})
	b.AbandonNear(page(1, 1), sim)
	check("committed")
	b.AbandonNear(page(1, 1), sim)
	b.reopen()
	check("reopened")
	n := 0
	if err := b.db.Scan(store.Range{Partition: 1, Space: store.Near}, func(_, _ []byte) bool { n++; return true }); err != nil {
		t.Fatal(err)
	}
	if n != tables {
		t.Errorf("%d entries, want those of the first page alone: %d", n, tables)
	}
}

// Any two hashes within the distance share a block, also the last one of a table.
func TestNearFindsEveryDistance(t *testing.T) {
	const sim = ^uint64(0)
	b := newBed(t, Options{NearDistance: 3})
	b.Near(page(1, 1), sim, 100)
	b.commit(func(batch *store.Batch) { b.RecordNear(batch, page(1, 1), sim) })
	for i := 0; i < 64; i += 3 {
		for j := 0; j < 64; j += 5 {
			for k := 0; k < 64; k += 7 {
				if _, ok, err := b.Near(page(1, 2), sim&^(1<<i|1<<j|1<<k), 100); !ok || err != nil {
					t.Fatalf("bits %d, %d, %d differ: %v, %v", i, j, k, ok, err)
				}
			}
		}
	}
}

func TestNearOff(t *testing.T) {
	b := newBed(t, Options{Near: Off})
	b.Near(page(1, 1), 1, 100)
	if _, ok, _ := b.Near(page(1, 2), 1, 100); ok {
		t.Error("found although off")
	}
}

func TestParseMode(t *testing.T) {
	for m := Record; m <= Off; m++ {
		if got, err := ParseMode(strings.ToUpper(m.String())); got != m || err != nil {
			t.Errorf("ParseMode(%v) = %v, %v", m, got, err)
		}
	}
	if _, err := ParseMode("maybe"); err == nil {
		t.Error("an unknown mode was read")
	}
}

func TestDamagedRefIsAnError(t *testing.T) {
	b := newBed(t, Options{})
	d := Digest{7}
	batch := b.db.NewBatch()
	batch.Set(b.key(d), []byte{refVersion, 2, 3})
	if err := batch.Commit(false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Claim(d, ref(1)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Claim = %v, want ErrCorrupt", err)
	}
}

func FuzzParseRef(f *testing.F) {
	f.Add(ref(1).append(nil))
	f.Add([]byte{})
	f.Add(append([]byte{refVersion}, make([]byte, 30)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRef(b)
		if err != nil {
			return
		}
		again, err := parseRef(r.append(nil))
		if err != nil || again != r {
			t.Errorf("%+v became %+v, %v", r, again, err)
		}
	})
}

func BenchmarkClaim(b *testing.B) {
	bd := newBed(b, Options{Pending: 1 << 30})
	var d Digest
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		binary.LittleEndian.PutUint64(d[24:], uint64(i))
		if _, _, err := bd.Claim(d, Ref{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNear(b *testing.B) {
	bd := newBed(b, Options{})
	const pages = 10000
	for at := 0; at < pages; at += 100 {
		bd.commit(func(batch *store.Batch) {
			for i := at; i < at+100; i++ {
				bd.Near(page(1, i), uint64(i)*k1, 100)
				bd.RecordNear(batch, page(1, i), uint64(i)*k1)
			}
		})
	}
	b.ReportAllocs()
	for i := pages; b.Loop(); i++ {
		p := page(1, i)
		if _, _, err := bd.Near(p, uint64(i)*k2, 100); err != nil {
			b.Fatal(err)
		}
		bd.AbandonNear(p, uint64(i)*k2)
	}
}
