package urlseen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"decorum/internal/store"
)

// Every flipped byte of a run is found: by Verify, or when the sieve is opened.
func TestVerifyFindsDamage(t *testing.T) {
	b := newBed(t, Options{Memory: 1 << 20, RecentKeys: 600})
	r := rand.New(rand.NewPCG(3, 4))
	for range 600 {
		k := randomKey(r, 3)
		b.step(k)
	}
	b.settle()
	name := b.s.runs[0].path
	size := b.s.runs[0].bytes
	b.close()
	for at := int64(0); at < size; at += 1 + size/300 {
		flip(t, b.fs, name, at)
		db, err := store.Open(store.Options{Dir: "state", FS: b.fs, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{DB: db, FS: b.fs, Dir: "sieve", ReadOnly: true})
		if err == nil {
			err = s.Verify(context.Background())
			s.Close()
		}
		db.Close()
		if !errors.Is(err, ErrCorrupt) && !errors.Is(err, store.ErrNewer) && at >= int64(len(runMagic)) {
			t.Fatalf("byte %d of %d flipped: %v", at, size, err)
		}
		flip(t, b.fs, name, at)
	}
}

func flip(t testing.TB, fs store.FS, name string, at int64) {
	t.Helper()
	f, err := fs.OpenReadWrite(name, store.Category)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var c [1]byte
	if _, err := f.ReadAt(c[:], at); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	c[0] ^= 0x40
	if _, err := f.WriteAt(c[:], at); err != nil {
		t.Fatal(err)
	}
}

func TestBytesPerURL(t *testing.T) {
	for _, c := range []struct {
		urls int
		most float64
	}{{1, 17.3}, {10, 9.0}, {40, 8.4}, {1000, 8.1}} {
		t.Run(fmt.Sprint(c.urls), func(t *testing.T) {
			keys := 30000 / c.urls * c.urls
			b := newBed(t, Options{Memory: 1 << 20, RecentKeys: keys, Partitions: 4})
			defer b.close()
			b.step(hostKeys(rand.New(rand.NewPCG(5, 6)), keys/c.urls, c.urls, 4)...)
			b.settle()
			st := b.s.Stats()
			if st.RunKeys != uint64(keys) || st.BytesPerURL > c.most {
				t.Errorf("%d keys, %.2f bytes per URL, want at most %.1f", st.RunKeys, st.BytesPerURL, c.most)
			}
			t.Logf("%d URLs per host: %.2f bytes per URL", c.urls, st.BytesPerURL)
		})
	}
}

func TestFilterRate(t *testing.T) {
	for _, c := range []struct {
		bits int
		most float64
	}{{10, 0.012}, {8, 0.03}, {4, 0.24}} {
		r := rand.New(rand.NewPCG(7, 8))
		const n = 100000
		f := newFilter(n, c.bits)
		var in []entry
		for range n {
			e := entryOf(randomKey(r, 64))
			f.add(e)
			in = append(in, e)
		}
		for _, e := range in {
			if !f.mayHave(e) {
				t.Fatal("the filter denies a key that was added")
			}
		}
		passed := 0
		for range n {
			if f.mayHave(entryOf(randomKey(r, 64))) {
				passed++
			}
		}
		t.Logf("%d bits per key: %.2f %% of absent keys pass", c.bits, 100*float64(passed)/n)
		if float64(passed)/n > c.most {
			t.Errorf("%d bits per key: %d of %d absent keys pass", c.bits, passed, n)
		}
	}
}
