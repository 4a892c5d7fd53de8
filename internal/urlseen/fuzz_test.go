package urlseen

import (
	"math/rand/v2"
	"testing"

	"decorum/internal/store"
)

// sampleRun writes a small run and returns its bytes.
func sampleRun(t testing.TB, fs store.FS) []byte {
	t.Helper()
	w, err := createRun(fs, "sample", 256, nil)
	if err != nil {
		t.Fatal(err)
	}
	var tb table
	for _, k := range hostKeys(rand.New(rand.NewPCG(1, 1)), 6, 12, 3) {
		tb.add(entryOf(k))
	}
	for _, e := range tb.sorted() {
		w.add(e)
	}
	r, err := w.finish(1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.f.Close()
	b := make([]byte, r.bytes)
	if _, err := r.f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// A run file may hold any bytes: opening and reading it fails or succeeds, and never panics.
func FuzzOpenRun(f *testing.F) {
	sample := sampleRun(f, store.Memory())
	f.Add(sample)
	f.Add(sample[:len(sample)/2])
	f.Add([]byte(runMagic + runMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		fs := store.Memory()
		file, err := fs.Create("x", store.Category)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(append([]byte(nil), b...)); err != nil {
			t.Fatal(err)
		}
		file.Close()
		r, err := openRun(fs, "x", 1)
		if err != nil {
			return
		}
		defer r.f.Close()
		s := newScanner(r)
		n := uint64(0)
		for s.next() {
			n++
		}
		if s.err == nil && n != r.keys {
			t.Errorf("%d keys read, %d promised", n, r.keys)
		}
		_, _ = new(prober).sift(r, 0, []candidate{{host: 1, url: 2, part: 1}, {host: 1 << 63, url: 2, part: 2}})
	})
}

// The footer has a checksum, which hides its parser from FuzzOpenRun.
func FuzzFooter(f *testing.F) {
	w := &run{end: 8 + 300, keys: 30, parts: []partRange{{part: 1, end: 1, keys: 10}, {part: 7, first: 1, end: 2, keys: 20}}}
	w.index = []blockIndex{{1, 2, 8}, {3, 4, 108}}
	f.Add(w.appendFooter(nil), int64(308), uint64(30))
	f.Add([]byte{1, 1, 1, 1}, int64(8), uint64(1))
	f.Fuzz(func(t *testing.T, b []byte, end int64, keys uint64) {
		r := &run{end: end, keys: keys}
		if r.parseFooter(b) != nil {
			return
		}
		for _, p := range r.parts {
			if p.first < 0 || p.end > len(r.index) || p.first >= p.end {
				t.Fatalf("partition %+v of %d blocks", p, len(r.index))
			}
		}
		for i := range r.index {
			if from, to := r.index[i].offset, r.blockEnd(i); from < 8 || to < from || to > end {
				t.Fatalf("block %d at %d to %d of %d", i, from, to, end)
			}
		}
	})
}

// Blocks have a checksum as well.
func FuzzBlock(f *testing.F) {
	b := sampleRun(f, store.Memory())
	f.Add(b[8:200], uint64(5), uint64(6))
	f.Add([]byte("host1234\x02url12345url12346"), uint64(1), uint64(1))
	f.Fuzz(func(t *testing.T, b []byte, host, url uint64) {
		c := cursor{rest: b}
		for range 4 {
			_, _ = c.seek(host, url)
			url++
		}
	})
}

func FuzzManifest(f *testing.F) {
	m := &manifest{partitions: 64, seq: 9, next: 3, runs: []runInfo{{1, 100, 1000}, {2, 5, 90}}}
	f.Add(m.append(nil))
	f.Add([]byte{1})
	f.Add([]byte{2, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseManifest(b)
		if err != nil {
			return
		}
		if _, err := parseManifest(m.append(nil)); err != nil {
			t.Errorf("%+v does not survive writing: %v", m, err)
		}
	})
}
