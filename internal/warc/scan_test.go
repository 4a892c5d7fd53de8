package warc

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// somePages returns a file of n responses with bodies of various lengths, and where each lies.
func somePages(t rapid.TB, n int) (raw []byte, at []Extent) {
	e := NewEncoder(EncoderOptions{})
	for i := range n {
		var m Member
		var err error
		r := Record{Type: Response, Date: testDate, TargetURI: "http://example.org/", HTTPHead: []byte(testHead), Body: page()[:100+i*977%30000]}
		if raw, m, err = e.Append(raw, &r); err != nil {
			t.Fatal(err)
		}
		at = append(at, Extent{int64(len(raw)) - m.Length, m.Length})
	}
	return raw, at
}

// scanned checks a file in memory and returns the report with the places of whole records.
func scanned(raw []byte, end func(int64) int64) (Report, []Extent) {
	var found []Extent
	rep := NewChecker().CheckAt(bytes.NewReader(raw), int64(len(raw)), ScanOptions{End: end,
		Visit: func(e *Entry, length int64, _ []byte) { found = append(found, Extent{e.Offset, length}) }})
	return rep, found
}

// Bytes of a file are overwritten at random. What the scan calls damaged holds all of them, every record outside is
// found, and with fillers in place of the damage the file is sound and all others are where they were.
func TestDamageIsPassedOverAndFilled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, at := somePages(t, rapid.IntRange(1, 12).Draw(t, "records"))
		bad := bytes.Clone(raw)
		for range rapid.IntRange(0, 4).Draw(t, "wounds") {
			from := rapid.IntRange(0, len(bad)-1).Draw(t, "from")
			n := min(rapid.SampledFrom([]int{1, 3, 500, 5000}).Draw(t, "bytes"), len(bad)-from)
			rand.NewChaCha8([32]byte{byte(rapid.IntRange(0, 255).Draw(t, "noise"))}).Read(bad[from : from+n])
		}
		rep, found := scanned(bad, nil)
		whole := at[:0:0]
		for _, x := range at {
			hurt := slices.ContainsFunc(rep.Damaged, func(d Extent) bool { return d.Offset < x.End() && x.Offset < d.End() })
			if !hurt {
				whole = append(whole, x)
			} else if slices.Contains(found, x) {
				t.Fatalf("the record at %v is both whole and damaged", x)
			}
			same := bytes.Equal(bad[x.Offset+gzipHeader:x.End()], raw[x.Offset+gzipHeader:x.End()])
			if !hurt && !same {
				t.Fatalf("the damage at %v was not found: %v", x, rep.Damaged)
			}
		}
		if !slices.Equal(found, whole) {
			t.Fatalf("found %v, want %v", found, whole)
		}
		for _, d := range rep.Damaged {
			fill(t, bad, d)
		}
		if rep, _ := scanned(bad, nil); !rep.OK() || len(rep.Damaged) > 0 {
			t.Fatalf("filled, and still: %v", rep.Problems)
		}
	})
}

// gzipHeader is the length of the header of a member: the time and the system in it are covered by nothing.
const gzipHeader = 10

func fill(t rapid.TB, raw []byte, d Extent) {
	for d.Length > 0 {
		n := d.Length
		if n > MaxFiller {
			n = MaxFiller / 2
		}
		f, err := Filler(n, NewID(), testDate, "lost")
		if err != nil {
			t.Fatal(err)
		}
		d.Offset, d.Length = d.Offset+int64(copy(raw[d.Offset:], f)), d.Length-n
	}
}

func TestFillerOfEveryLength(t *testing.T) {
	lengths := []int64{MaxFiller - 1, MaxFiller}
	for n := int64(MinFiller); n < 1300; n++ {
		lengths = append(lengths, n)
	}
	for n := int64(1<<16 - 40); n < 1<<16+60; n++ {
		lengths = append(lengths, n, 2*n)
	}
	for _, n := range lengths {
		b, err := Filler(n, testID, testDate, "damaged")
		if err != nil || int64(len(b)) != n {
			t.Fatalf("%d bytes: %v, got %d", n, err, len(b))
		}
		rep := Check(bytes.NewReader(b))
		if !rep.OK() || rep.Warnings > 0 || rep.Records != 1 || rep.Bytes != n {
			t.Fatalf("%d bytes: %+v", n, rep)
		}
	}
	for _, n := range []int64{0, MinFiller - 1, MaxFiller + 1} {
		if _, err := Filler(n, testID, testDate, ""); err == nil {
			t.Errorf("%d bytes: no error", n)
		}
	}
}

// A page that is itself a web archive holds members that look like records of the file.
func TestArchivesInAnArchive(t *testing.T) {
	inner, _ := somePages(t, 3)
	e := NewEncoder(EncoderOptions{})
	raw, m, err := e.Append(nil, &Record{Type: Response, Date: testDate, TargetURI: "http://example.org/a.warc.gz", HTTPHead: []byte(testHead), Body: inner})
	if err != nil {
		t.Fatal(err)
	}
	after, _ := somePages(t, 1)
	raw = append(raw, after...)
	if !bytes.Contains(raw[gzipHeader:m.Length], inner[:gzipHeader]) {
		t.Skip("the compressor hides the inner archive")
	}
	raw[2*gzipHeader] ^= 0xff
	_, found := scanned(raw, func(at int64) int64 {
		if at == 0 {
			return m.Length
		}
		return 0
	})
	if want := []Extent{{m.Length, int64(len(after))}}; !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}
