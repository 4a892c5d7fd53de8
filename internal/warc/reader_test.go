package warc

import (
	"bytes"
	stdgzip "compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// vectors returns the path of a test vector made by others. Without them the test is skipped, but not in CI.
func vectors(t testing.TB, name string) string {
	path := filepath.Join("..", "..", "..", "shared", "vectors", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("test vectors are missing: %v", err)
		}
		t.Skipf("test vectors are not here: %v", err)
	}
	return path
}

// samples says of every sample what the reader and the checker must make of it.
var samples = []struct {
	file     string
	records  int    // that the reader yields
	err      string // it ends with, or "" for the end of the file
	digests  int    // verified
	faults   int
	firstBad int64  // -1 = none
	says     string // part of the first fault
}{
	{"iipc/20130729-heritrix-original.warc.gz", 1, "", 1, 0, -1, ""},
	{"iipc/20130729-heritrix-revisit-with-http-headers.warc.gz", 1, "", 0, 0, -1, ""},
	{"iipc/20141124-heritrix-server-not-modified.warc.gz", 1, "", 0, 0, -1, ""}, // one line end: a warning
	{"iipc/20141129-heritrix-original.warc.gz", 1, "", 1, 0, -1, ""},
	{"iipc/20141129-heritrix-revisit-with-http-headers-and-new-warc-headers.warc.gz", 1, "", 0, 0, -1, ""},
	{"iipc/hello-world.warc", 6, "", 7, 0, -1, ""},
	{"iipc/hello-world.warc.gz", 6, "", 7, 0, -1, ""},
	{"iipc/hello-world.warc.cdx", 0, "begins with WARC/", 0, 1, 0, "begins with WARC/"},
	{"warcio/bad.arc", 0, "ARC file", 0, 1, 0, "ARC file"},
	{"warcio/example.arc", 0, "ARC file", 0, 1, 0, "ARC file"},
	{"warcio/example.arc.gz", 0, "ARC file", 0, 1, 0, "ARC file"},
	{"warcio/example-space-in-url.arc", 0, "ARC file", 0, 1, 0, "ARC file"},
	{"warcio/example-bad-non-chunked.warc.gz", 6, "", 3, 6, 0, "more than one record"},
	{"warcio/example-bad.warc.gz.bad", 6, "", 2, 5, 0, "more than one record"},
	{"warcio/example-digest.warc", 4, "", 7, 4, 0, "is not 20 bytes"}, // then the same id thrice again
	{"warcio/example-iana.org-chunked.warc", 3, "", 3, 0, -1, ""},
	{"warcio/example-resource.warc.gz", 3, "", 2, 0, -1, ""},
	{"warcio/example-space-in-target-uri.warc.gz", 2, "", 1, 1, 241, "not a bare URI"},
	{"warcio/example-trunc.warc", 3, "begins with WARC/", 2, 4, 1197, "block digest differs"},
	{"warcio/example-wget-bad-target-uri.warc.gz", 6, "", 7, 0, -1, ""}, // brackets, as 1.0 had them
	{"warcio/example-wrong-chunks.warc.gz", 1, "cut short, 1270 bytes", 0, 1, 0, "cut short, 1270 bytes"},
	{"warcio/example.warc", 6, "", 3, 0, -1, ""},
	{"warcio/example.warc.gz", 6, "", 7, 0, -1, ""},
	{"warcio/post-test.warc.gz", 6, "", 9, 0, -1, ""},
}

func TestSamplesOfOthers(t *testing.T) {
	known := map[string]bool{}
	for _, s := range samples {
		known[s.file] = true
		b, err := os.ReadFile(vectors(t, "warc/"+s.file))
		if err != nil {
			t.Fatal(err)
		}
		n, err := readAll(b)
		if n != s.records || (err == nil) != (s.err == "") || err != nil && !strings.Contains(err.Error(), s.err) {
			t.Errorf("%s: %d records and %v, want %d and %q", s.file, n, err, s.records, s.err)
		}
		if err != nil && !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v is no format error", s.file, err)
		}
		rep := Check(bytes.NewReader(b))
		if rep.Records != s.records || rep.Digests != s.digests || rep.Faults != s.faults || rep.FirstBad != s.firstBad {
			t.Errorf("%s: %+v, want %+v", s.file, rep, s)
		}
		if s.says != "" && !strings.Contains(firstFault(rep), s.says) {
			t.Errorf("%s: %v do not begin with %q", s.file, rep.Problems, s.says)
		}
	}
	files, _ := filepath.Glob(filepath.Join(vectors(t, "warc"), "*", "*"))
	for _, f := range files {
		if name := filepath.Base(filepath.Dir(f)) + "/" + filepath.Base(f); !known[name] {
			t.Errorf("%s has no expectation", name)
		}
	}
}

func firstFault(rep Report) string {
	for _, p := range rep.Problems {
		if p.Severity == Fault {
			return p.What
		}
	}
	return ""
}

func readAll(b []byte) (n int, err error) {
	z := NewReader(bytes.NewReader(b))
	for {
		e, err := z.Next()
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		n++
		if n%2 == 0 { // every other block is left to Next
			if _, err := io.Copy(io.Discard, e.Block); err != nil {
				return n, err
			}
		}
	}
}

// archive returns n encoded records and where each begins; the end follows as the last offset.
func archive(t testing.TB, o EncoderOptions, n int) (b []byte, offsets []int64) {
	e := NewEncoder(o)
	for i := range n {
		offsets = append(offsets, int64(len(b)))
		var err error
		b, _, err = e.Append(b, &Record{Type: Response, Date: testDate, TargetURI: fmt.Sprintf("http://example.org/%d", i),
			HTTPHead: []byte(testHead), Body: bytes.Repeat([]byte{byte('a' + i)}, 1000*i)})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b, append(offsets, int64(len(b)))
}

func TestOffsetsAndRandomAccess(t *testing.T) {
	for _, o := range []EncoderOptions{{}, {Plain: true}, {Level: 9}} {
		b, offsets := archive(t, o, 5)
		z := NewReader(bytes.NewReader(b))
		for i := range 5 {
			e, err := z.Next()
			if err != nil {
				t.Fatal(err)
			}
			length, err := e.Length()
			if e.Offset != offsets[i] || length != offsets[i+1]-offsets[i] || err != nil || e.Shared {
				t.Errorf("%+v: record %d at %d of %d bytes, want %v", o, i, e.Offset, length, offsets[i:i+2])
			}
			for _, n := range []int64{length, 0} {
				direct, err := ReadAt(bytes.NewReader(b), e.Offset, n)
				if err != nil || direct.TargetURI() != e.TargetURI() || direct.Offset != e.Offset {
					t.Errorf("%+v: record %d read directly: %+v, %v", o, i, direct, err)
				}
			}
		}
		if _, err := z.Next(); err != io.EOF {
			t.Errorf("after the last: %v", err)
		}
	}
	if _, err := ReadAt(strings.NewReader("x"), 5, 0); !errors.Is(err, ErrFormat) {
		t.Errorf("behind the end: %v", err)
	}
}

// However a file is cut, the reader yields the whole records before the cut and then names the place.
func TestCutFiles(t *testing.T) {
	for _, o := range []EncoderOptions{{}, {Plain: true}} {
		b, offsets := archive(t, o, 3)
		for cut := range len(b) {
			rep := Check(bytes.NewReader(b[:cut]))
			whole, at := 0, int64(0)
			for offsets[whole+1] <= int64(cut) {
				whole++
				at = offsets[whole]
			}
			if at == int64(cut) {
				if !rep.OK() || rep.Records != whole {
					t.Fatalf("%+v: cut between records at %d: %+v", o, cut, rep)
				}
				continue
			}
			if rep.OK() || rep.FirstBad != at || rep.Records < whole {
				t.Fatalf("%+v: cut at %d, in the record at %d: %+v", o, cut, at, rep)
			}
		}
	}
}

// Any flipped bit of a compressed archive is found, but for those that mean nothing: time, OS and flags in the header of
// a member, and what fills up the last byte of its deflate stream.
func TestDamageIsFound(t *testing.T) {
	b, _ := archive(t, EncoderOptions{}, 2)
	whole := inflate(b)
	for i := range b {
		b[i] ^= 4
		if rep := Check(bytes.NewReader(b)); rep.OK() && !bytes.Equal(inflate(b), whole) {
			t.Errorf("byte %d of %d: damage not found", i, len(b))
		}
		b[i] ^= 4
	}
}

// inflate returns what the members of b hold, or nil when it cannot be read.
func inflate(b []byte) []byte {
	z, err := stdgzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	out, err := io.ReadAll(z)
	if err != nil {
		return nil
	}
	return out
}

func TestLenience(t *testing.T) {
	const minimal = "WARC/0.18\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2008-01-02T03:04:05Z\r\nWARC-Target-URI: <urn:x:%s>\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n"
	one, two := fmt.Sprintf(minimal, "one"), fmt.Sprintf(minimal, "two")
	for name, file := range map[string]string{
		"plain":                one + two,
		"LF alone":             strings.ReplaceAll(one+two, "\r\n", "\n"),
		"empty lines":          "\r\n" + one + "\r\n\n\r\n" + two,
		"no line ends at all":  strings.TrimSpace(one) + two,
		"one big member":       stdGzip(one + two),
		"plain, then gzip":     one + stdGzip(two),
		"gzip, then plain":     stdGzip(one) + two,
		"empty members":        stdGzip("") + stdGzip(one) + stdGzip("") + stdGzip("\r\n") + stdGzip(two),
		"split between blocks": stdGzip(one) + stdGzip(two),
		"continuation line":    strings.Replace(one, ": <urn:x:one>", ":\r\n  <urn:x:one>", 1) + two,
		"names in lower case":  strings.ReplaceAll(one+two, "WARC-Target-URI", "warc-target-uri"),
	} {
		z := NewReader(strings.NewReader(file))
		for _, want := range []string{"urn:x:one", "urn:x:two"} {
			e, err := z.Next()
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			block, err := io.ReadAll(e.Block)
			if e.TargetURI() != want || string(block) != "hi" || err != nil {
				t.Errorf("%s: %s %q %v", name, e.TargetURI(), block, err)
			}
		}
	}
}

func stdGzip(s string) string {
	var b bytes.Buffer
	w := stdgzip.NewWriter(&b)
	io.WriteString(w, s)
	w.Close()
	return b.String()
}

func TestRefusedHeaders(t *testing.T) {
	for name, c := range map[string]struct{ file, says string }{
		"endless line":      {"WARC/1.1\r\n" + strings.Repeat("x", MaxHeaderBytes*2), "longer than"},
		"endless fields":    {"WARC/1.1\r\n" + strings.Repeat("A: b\r\n", MaxHeaderBytes), "longer than"},
		"no length":         {"WARC/1.1\r\nWARC-Type: resource\r\n\r\n", "Content-Length"},
		"negative length":   {"WARC/1.1\r\nContent-Length: -1\r\n\r\n", "Content-Length"},
		"huge length":       {"WARC/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "Content-Length"},
		"length too long":   {"WARC/1.1\r\nContent-Length: 9223372036854775807\r\n\r\nx", "cut short"},
		"no colon":          {"WARC/1.1\r\nhello\r\n\r\n", "not a header field"},
		"continuation":      {"WARC/1.1\r\n hello\r\n\r\n", "continuation"},
		"no version":        {"WARC/\r\n\r\n", "begins with WARC/"},
		"HTML":              {"<!doctype html>\n", "begins with WARC/"},
		"cut header":        {"WARC/1.1\r\nContent-", "cut short"},
		"damaged gzip head": {"\x1f\x8bxxxxxxxxxxxxxx", "gzip"},
		"cut gzip head":     {"\x1f\x8b\x08", "gzip"},
	} {
		rep := Check(strings.NewReader(c.file))
		if rep.OK() || rep.FirstBad != 0 || !strings.Contains(fmt.Sprint(rep.Problems), c.says) {
			t.Errorf("%s: %v", name, rep.Problems)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, o := range []EncoderOptions{{}, {Plain: true}} {
		b, _ := archive(f, o, 2)
		f.Add(b)
		f.Add(b[:len(b)-3])
	}
	f.Add([]byte("\r\nWARC/0.17\nContent-Length: 3\n\nabc\n\nWARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http\r\n" +
		"WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\nContent-Length: 40\r\n\r\nHTTP/1.1 200\r\ntransfer-encoding:chunked\r\n\r\n2\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := readAll(b)
		rep := Check(bytes.NewReader(b))
		if err == nil && rep.Records != n {
			t.Errorf("reader found %d records, checker %d", n, rep.Records)
		}
		if err != nil && rep.OK() {
			t.Errorf("reader: %v, checker is content", err)
		}
		if rep.FirstBad > int64(len(b)) {
			t.Errorf("first bad byte %d of %d", rep.FirstBad, len(b))
		}
	})
}
