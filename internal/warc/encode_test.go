package warc

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write golden files anew")

var testDate = time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.FixedZone("CET", 3600))

const (
	testID   = "urn:uuid:11111111-1111-4111-8111-111111111111"
	otherID  = "urn:uuid:22222222-2222-4222-8222-222222222222"
	testHead = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
)

// goldenRecords has one record of each type, and of each profile.
func goldenRecords() map[string]Record {
	dns := DNS("example.org", "192.0.2.53", testDate, []ResourceRecord{
		{"www.example.org", time.Hour, "CNAME", "example.org."}, {"example.org.", 5 * time.Minute, "AAAA", "2001:db8::1"}})
	dns.ID = testID
	return map[string]Record{
		"warcinfo": {Type: Warcinfo, ID: testID, Date: testDate, Filename: "decorum-20260304040607-00001.warc.gz",
			Body: AppendFields(nil, Info{Software: "decorum/0.1", Operator: "A <a@example.org>", Robots: "obey",
				Extra: []Field{{"ignored-robots", "example.net"}}}.Fields()...)},
		"request": {Type: Request, ID: testID, Date: testDate, TargetURI: "http://example.org/", ConcurrentTo: []string{otherID},
			HTTPHead: []byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n")},
		"response": {Type: Response, ID: testID, Date: testDate, TargetURI: "http://example.org/", IPAddress: "2001:db8::1",
			Truncated: TruncatedLength, PayloadType: "text/html", Extra: []Field{{"WARC-Protocol", "http/1.1"}},
			HTTPHead: []byte(testHead), Body: []byte("<p>hello")},
		"revisit-identical": {Type: Revisit, ID: testID, Date: testDate, TargetURI: "http://example.org/copy", Profile: IdenticalPayload,
			RefersTo: otherID, RefersToTargetURI: "http://example.org/", RefersToDate: testDate.Add(-time.Hour),
			PayloadDigest: "sha256:" + strings.Repeat("0", 64), HTTPHead: []byte(testHead)},
		"revisit-304": {Type: Revisit, ID: testID, Date: testDate, TargetURI: "http://example.org/", Profile: ServerNotModified,
			RefersTo: otherID, RefersToTargetURI: "http://example.org/", RefersToDate: testDate.Add(-time.Hour),
			HTTPHead: []byte("HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n")},
		"metadata": {Type: Metadata, ID: testID, Date: testDate, TargetURI: "http://example.org/", RefersTo: otherID,
			Body: AppendFields(nil, Field{"via", "http://example.org/from"}, Field{"hopsFromSeed", "LL"}, Field{"fetchTimeMs", "12"},
				Field{"outlink", "http://example.org/a L a/@href"}, Field{"empty", ""}, Field{"title", "two\r\nlines"})},
		"dns": dns,
	}
}

func TestGolden(t *testing.T) {
	for name, r := range goldenRecords() {
		got, m, err := NewEncoder(EncoderOptions{Plain: true}).Append(nil, &r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.Length != int64(len(got)) || m.ID != testID || m.Type != r.Type {
			t.Errorf("%s: member %+v of %d bytes", name, m, len(got))
		}
		file := filepath.Join("testdata", "golden", name+".warc")
		if *update {
			os.MkdirAll(filepath.Dir(file), 0o755)
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs from %s (-update writes it anew):\n%s", name, file, got)
		}
		if rep := Check(bytes.NewReader(got)); !rep.OK() || rep.Warnings > 0 || rep.Records != 1 {
			t.Errorf("%s: our own record has %v", name, rep.Problems)
		}
	}
}

func TestNewIDIsARandomUUID(t *testing.T) {
	a, b := NewID(), NewID()
	if a == b {
		t.Error("two ids are the same")
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(a) {
		t.Errorf("%s is not a UUID of version 4", a)
	}
}

func TestRefusedRecords(t *testing.T) {
	good := Record{Type: Response, Date: testDate, TargetURI: "http://example.org/"}
	for name, spoil := range map[string]func(*Record){
		"no type":              func(r *Record) { r.Type = "" },
		"continuation":         func(r *Record) { r.Type = Continuation },
		"no date":              func(r *Record) { r.Date = time.Time{} },
		"no target":            func(r *Record) { r.TargetURI = "" },
		"bracketed target":     func(r *Record) { r.TargetURI = "<http://example.org/>" },
		"space in target":      func(r *Record) { r.TargetURI = "http://example.org/a b" },
		"line end in target":   func(r *Record) { r.TargetURI = "http://example.org/\r\nWARC-Type: x" },
		"bracketed id":         func(r *Record) { r.ID = "<" + testID + ">" },
		"line end in field":    func(r *Record) { r.Extra = []Field{{"A", "b\nC: d"}} },
		"name with colon":      func(r *Record) { r.Extra = []Field{{"A:", "b"}} },
		"address":              func(r *Record) { r.IPAddress = "example.org" },
		"profile":              func(r *Record) { r.Profile = IdenticalPayload },
		"revisit, no profile":  func(r *Record) { r.Type = Revisit },
		"revisit with payload": func(r *Record) { r.Type, r.Profile, r.Body = Revisit, IdenticalPayload, []byte("x") },
		"warcinfo with target": func(r *Record) { r.Type = Warcinfo },
		"two bodies":           func(r *Record) { r.Body, r.BodyReader = []byte("x"), strings.NewReader("x") },
		"head of a resource":   func(r *Record) { r.Type, r.HTTPHead = Resource, []byte(testHead) },
		"name of file":         func(r *Record) { r.Filename = "x" },
	} {
		r := good
		spoil(&r)
		if out, _, err := NewEncoder(EncoderOptions{}).Append([]byte("kept"), &r); !errors.Is(err, ErrRecord) || string(out) != "kept" {
			t.Errorf("%s: %v, %q", name, err, out)
		}
	}
	if _, _, err := NewEncoder(EncoderOptions{}).Append(nil, &good); err != nil {
		t.Errorf("the unspoilt record: %v", err)
	}
}

// A record whose body comes from a file is the same to the byte as one whose body is in memory.
func TestStreamedBodyEqualsBodyInMemory(t *testing.T) {
	body := strings.Repeat("0123456789", 100_000)
	inMemory := Record{Type: Response, ID: testID, Date: testDate, TargetURI: "http://example.org/", HTTPHead: []byte(testHead), Body: []byte(body)}
	streamed := inMemory
	streamed.Body, streamed.BodyReader, streamed.BodyLength = nil, strings.NewReader(body), int64(len(body))
	e := NewEncoder(EncoderOptions{Plain: true})
	want, m, err := e.Append(nil, &inMemory)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	m2, err := e.EncodeTo(&got, &streamed)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) || m2 != m {
		t.Errorf("%d bytes %+v, want %d bytes %+v", got.Len(), m2, len(want), m)
	}

	unseekable := inMemory
	unseekable.Body, unseekable.BodyReader, unseekable.BodyLength = nil, io.MultiReader(strings.NewReader(body)), int64(len(body))
	plain, m3, err := e.Append(nil, &unseekable)
	if err != nil || m3.PayloadDigest != "" || bytes.Contains(plain, []byte("Digest")) {
		t.Errorf("a body that can be read once has no digest: %+v %v", m3, err)
	}
	unseekable.BodyReader = io.MultiReader(strings.NewReader("short"))
	if _, _, err := e.Append(nil, &unseekable); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a body shorter than promised: %v", err)
	}
}

func TestDigestOfChunkedBody(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\n\r\n"
	chunked := Record{Type: Response, Date: testDate, TargetURI: "http://example.org/", HTTPHead: []byte(head),
		Body: []byte("5;ext=1\r\nhello\r\nA\r\n, archive \r\n0\r\nTrailer: x\r\n\r\n")}
	whole := Record{Type: Resource, Date: testDate, TargetURI: "http://example.org/", Body: []byte("hello, archive ")}
	digest := func(o EncoderOptions, r Record) string {
		out, m, err := NewEncoder(o).Append(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		if rep := Check(bytes.NewReader(out)); !rep.OK() || rep.Digests != 2 {
			t.Errorf("%+v: %d digests, %v", o, rep.Digests, rep.Problems)
		}
		return m.PayloadDigest
	}
	data := digest(EncoderOptions{}, whole)
	if got := digest(EncoderOptions{EntityDigest: true}, chunked); got != data {
		t.Errorf("without framing %s, want %s", got, data)
	}
	if got := digest(EncoderOptions{}, chunked); got == data {
		t.Error("as received, the framing belongs to the digest")
	}
}

// What is written is what is read: every field, and the block to the byte.
func TestRoundTrip(t *testing.T) {
	e := NewEncoder(EncoderOptions{})
	rapid.Check(t, func(t *rapid.T) {
		want := drawRecord(t)
		prefix := rapid.SliceOf(rapid.Byte()).Draw(t, "prefix")
		out, m, err := e.Append(bytes.Clone(prefix), &want)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(out, prefix) || m.Length != int64(len(out)-len(prefix)) {
			t.Fatalf("member %+v, %d bytes after %d", m, len(out), len(prefix))
		}
		got, err := ReadAt(bytes.NewReader(out), int64(len(prefix)), m.Length)
		if err != nil {
			t.Fatal(err)
		}
		block, err := io.ReadAll(got.Block)
		if err != nil || !bytes.Equal(block, append(bytes.Clone(want.HTTPHead), want.Body...)) {
			t.Fatalf("block %q, %v", block, err)
		}
		if n, err := got.Length(); n != m.Length || err != nil {
			t.Errorf("length %d, %v, want %d", n, err, m.Length)
		}
		back := got.Record()
		if back.ID != m.ID || back.PayloadDigest != m.PayloadDigest || back.TargetURI != want.TargetURI || !back.Date.Equal(want.Date) {
			t.Errorf("header %+v, want %+v", back, want)
		}
		again, _, err := e.Append(nil, &Record{Type: back.Type, ID: back.ID, Date: back.Date, TargetURI: back.TargetURI, IPAddress: back.IPAddress,
			ContentType: back.ContentType, ConcurrentTo: back.ConcurrentTo, WarcinfoID: back.WarcinfoID, RefersTo: back.RefersTo,
			RefersToTargetURI: back.RefersToTargetURI, RefersToDate: back.RefersToDate, Profile: back.Profile, Truncated: back.Truncated,
			PayloadDigest: back.PayloadDigest, BlockDigest: back.BlockDigest, PayloadType: back.PayloadType, Extra: back.Extra, Body: want.Body, HTTPHead: want.HTTPHead})
		if err != nil || !bytes.Equal(again, out[len(prefix):]) {
			t.Errorf("a record read and written again differs: %v", err)
		}
		if rep := Check(bytes.NewReader(again)); !rep.OK() {
			t.Errorf("%v", rep.Problems)
		}
	})
}

func drawRecord(t *rapid.T) Record {
	uri := rapid.StringMatching(`https?://[a-z]{1,9}\.example/[!-;=?-~]{0,20}`)
	r := Record{
		Type: rapid.SampledFrom([]Type{Request, Response, Revisit, Metadata, Resource}).Draw(t, "type"),
		Date: time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "date")), TargetURI: uri.Draw(t, "uri"),
		Extra: []Field{{"X-Note", rapid.StringMatching(`[!-~]([ -~]{0,20}[!-~])?`).Draw(t, "extra")}},
	}
	if rapid.Bool().Draw(t, "more") {
		r.IPAddress, r.ConcurrentTo, r.Truncated, r.PayloadType = "192.0.2.1", []string{testID, otherID}, TruncatedTime, "text/plain"
	}
	if r.Type == Request || r.Type == Response || r.Type == Revisit {
		r.HTTPHead = []byte(rapid.SampledFrom([]string{"", testHead, "HTTP/1.0 200\n\n", "junk", "a\n\nb\r\n\r\n"}).Draw(t, "head"))
	}
	if r.Type == Revisit {
		r.Profile, r.RefersTo, r.RefersToTargetURI, r.RefersToDate = IdenticalPayload, otherID, uri.Draw(t, "original"), r.Date
		return r
	}
	r.Body = rapid.SliceOf(rapid.Byte()).Draw(t, "body")
	return r
}
