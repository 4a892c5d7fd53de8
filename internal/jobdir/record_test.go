package jobdir

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"decorum/internal/weburl"
)

var update = flag.Bool("update", false, "write golden files anew")

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		os.MkdirAll("testdata", 0o755)
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s (-update writes it anew):\n%s", file, got)
	}
}

func fullPage() PageRecord {
	return PageRecord{
		ID: "urn:uuid:1", Seq: 7, TS: testTime, URL: "http://example.org/", RequestedURL: "http://example.org/?utm_source=x", Host: "example.org", IP: "192.0.2.1",
		Seed: "http://example.org/", Parent: "http://example.org/from", Anchor: "a \"link\"\n\x00\xff\u2028é😀", Depth: 2, Hops: "LL", Attempt: 1, Level: 3,
		Status: 200, Outcome: "ok", Proto: "HTTP/1.1", MIME: "text/html", Charset: "utf-8", BytesWire: Known(1234), BytesBody: Known(0), Truncated: "length",
		ETag: `"abc"`, LastModified: "Wed, 04 Mar 2026 05:06:07 GMT",
		WaitMS: Millis(time.Second), DNSMS: Known(0), ConnectMS: Known(1), TLSMS: Known(2), TTFBMS: Known(3), TotalMS: Millis(4999 * time.Microsecond), GapMS: Known(0), GapReason: GapFloor,
		Digest: "sha256:00", SimHash: SimHashText(0xabc), DupOf: "http://example.org/same", NearDupOf: "http://example.org/near", Title: "Title", Canonical: "http://example.org/c", RobotsMeta: "noindex", Words: Known(12), NeedsJS: true,
		LinksOut: Known(3), LinksNew: Known(0), WARC: WARCPlace{"a.warc.gz", 0, 99, "urn:uuid:1"},
	}
}

func fullFetch() FetchRecord {
	return FetchRecord{Seq: 1, Run: 2, TS: testTime, EndTS: testTime.Add(time.Second), Kind: KindRobots, URL: "http://example.org/robots.txt", Host: "example.org",
		IP: "192.0.2.1", Status: 200, Outcome: "ok", Attempt: 1, TotalMS: Known(1000), GapMS: Known(0), PromisedMS: Known(1000), GapReason: GapCrawlDelay,
		RobotsVersion: "v1", RobotsRule: "Allow: /", Reused: true, BytesWire: Known(10), For: "http://example.net", Lost: LostCapture}
}

func TestGoldenLines(t *testing.T) {
	page, fetch := fullPage(), fullFetch()
	skip := SkipRecord{URL: "http://example.org/a", Host: "example.org", Reason: "robots", Rule: "Disallow: /a", Parent: "http://example.org/", Depth: 1}
	count := SkipRecord{Host: "example.org", Reason: "trap_repeat", Count: 12345}
	link := LinkRecord{Source: "http://example.org/", Target: "http://example.org/a", Anchor: "A", Rel: "nofollow", Position: 0, Tag: "a"}
	b := page.AppendJSON(nil)
	b = (&PageRecord{URL: "http://example.org/", TS: testTime}).AppendJSON(b)
	b = fetch.AppendJSON(b)
	b = (&FetchRecord{}).AppendJSON(b)
	b = skip.AppendJSON(b)
	b = count.AppendJSON(b)
	b = link.AppendJSON(b)
	b = (&LostRecord{Seq: 12}).AppendJSON(b)
	golden(t, "lines.jsonl", b)
}

// Every field of a record is written and read back; a field that is forgotten in AppendJSON fails here.
func TestEveryFieldIsWritten(t *testing.T) {
	page, fetch := fullPage(), fullFetch()
	skip := SkipRecord{URL: "u", Host: "h", Reason: "r", Rule: "l", Parent: "p", Depth: 1}
	link := LinkRecord{Source: "s", Target: "t", Anchor: "a", Rel: "r", Position: 1, Tag: "a"}
	page.Anchor = "plain"
	for _, c := range []struct {
		rec  any
		line []byte
		but  string
	}{{&page, page.AppendJSON(nil), ""}, {&fetch, fetch.AppendJSON(nil), ""}, {&skip, skip.AppendJSON(nil), "Count"}, {&link, link.AppendJSON(nil), ""}} {
		v := reflect.ValueOf(c.rec).Elem()
		back := reflect.New(v.Type())
		if err := json.Unmarshal(c.line, back.Interface()); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < v.NumField(); i++ { // 0 is Head
			name := v.Type().Field(i).Name
			if name == c.but {
				continue
			}
			if v.Field(i).IsZero() {
				t.Errorf("%T.%s: the test has no value for it", c.rec, name)
			}
			if !reflect.DeepEqual(v.Field(i).Interface(), back.Elem().Field(i).Interface()) {
				t.Errorf("%T.%s: %v came back as %v", c.rec, name, v.Field(i), back.Elem().Field(i))
			}
		}
	}
}

// checkLine holds one line against what every line promises.
func checkLine(t interface{ Fatalf(string, ...any) }, line []byte) {
	if !json.Valid(line) || !utf8.Valid(line) || bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
		t.Fatalf("not one line of JSON: %q", line)
	}
}

func TestRecordsRoundTrip(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "bytes")) })
	number := rapid.Custom(func(t *rapid.T) Int {
		if rapid.Bool().Draw(t, "unknown") {
			return Int{}
		}
		return Known(rapid.Int64().Draw(t, "n"))
	})
	rapid.Check(t, func(t *rapid.T) {
		want := PageRecord{URL: text.Draw(t, "url"), Title: text.Draw(t, "title"), Seq: rapid.Int64().Draw(t, "seq"), Depth: rapid.Int().Draw(t, "depth"),
			TotalMS: number.Draw(t, "total"), GapMS: number.Draw(t, "gap"), TS: time.UnixMilli(rapid.Int64Range(-1e13, 1e14).Draw(t, "ts")).UTC()}
		line := want.AppendJSON(nil)
		checkLine(t, line)
		var got PageRecord
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		want.Head = Head{1, "page"}
		want.URL, want.Title = toUTF8(want.URL), toUTF8(want.Title)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v came back as %+v", want, got)
		}
	})
}

// toUTF8 replaces each byte that is not UTF-8 by itself, as encoding/json does.
func toUTF8(s string) string { return string([]rune(s)) }

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\x00\x1f\x7f", "\xff\xc3\x28\xed\xa0\x80", "\u2028\u2029\ufffd😀", strings.Repeat("é", 100)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rec := SkipRecord{URL: s, Rule: "after"}
		line := rec.AppendJSON(nil)
		checkLine(t, line)
		var back SkipRecord
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatal(err)
		}
		if back.URL != toUTF8(s) || back.Rule != "after" {
			t.Errorf("%q came back as %q", s, back.URL)
		}
	})
}

func TestIntTellsZeroFromUnknown(t *testing.T) {
	var v struct{ A, B, C Int }
	if err := json.Unmarshal([]byte(`{"A":0,"C":null}`), &v); err != nil {
		t.Fatal(err)
	}
	if _, ok := v.A.Get(); !ok || v.A != Known(0) || v.B != v.C || v.C.Or(-1) != -1 || v.A.Or(-1) != 0 {
		t.Errorf("%+v", v)
	}
	if b, err := json.Marshal(v); string(b) != `{"A":0,"B":null,"C":null}` {
		t.Errorf("%s %v", b, err)
	}
}

func TestRecordsReadsWhatStreamsHold(t *testing.T) {
	page := fullPage()
	file := pagesHeader + string(page.AppendJSON(nil)) + "{damaged}\n" + `{"v":2,"type":"page"}` + "\n" + string(page.AppendJSON(nil)) + `{"v":1,"type":"page","url":"to`
	var pages, wrong int
	for rec, err := range Records[PageRecord](strings.NewReader(file)) {
		switch {
		case err != nil:
			wrong++
		case rec.URL == page.URL && rec.WARC == page.WARC:
			pages++
		}
	}
	if pages != 2 || wrong != 2 {
		t.Errorf("%d pages and %d wrong lines, want 2 and 2", pages, wrong)
	}
	for _, err := range Records[FetchRecord](strings.NewReader(strings.Repeat("x", MaxLine+1))) {
		if err == nil {
			t.Error("an endless line was read")
		}
	}
	for _, err := range Records[SkipRecord](errReader{}) {
		if err == nil {
			t.Error("a file that cannot be read was read")
		}
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestSkipLog(t *testing.T) {
	l := NewSkipLog(SkipOptions{PerHost: 2, MaxPairs: 3})
	var b []byte
	add := func(n int, host, reason string) {
		for range n {
			b = l.Append(b, &SkipRecord{URL: "http://" + host + "/", Host: host, Reason: reason})
		}
	}
	add(5, "a.example", "robots")
	add(1, "a.example", "scope")
	add(3, "b.example", "robots")
	add(2, "c.example", "robots") // one pair too many: counted without host
	add(2, "d.example", "robots")
	b = l.AppendCounts(b)
	b = l.AppendCounts(b) // nothing new
	add(1, "a.example", "robots")
	b = l.AppendCounts(b)
	golden(t, "skiplog.jsonl", b)
}

func TestSummary(t *testing.T) {
	d, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, ok, err := d.ReadSummary(); ok || err != nil {
		t.Errorf("before the first run: %v %v", ok, err)
	}
	s := Summary{Tool: "decorum/0.1", Started: testTime, Ended: testTime.Add(192 * time.Second), WallMS: 192000, Runs: 1, EndReason: EndInterrupted,
		Resume: "decorum crawl https://example.org", ExitCode: 130, Seeds: 1, Pages: 96, Fetches: 99, Found: 412, QueuedLeft: 302, HostsLeft: 1, HostsTotal: 1,
		BytesWire: 1 << 20, BytesBody: 2 << 20, BytesArchived: 1 << 19, WARCFiles: 1, Outcomes: map[string]int64{"ok": 90, "not_found": 6},
		Skipped: map[string]int64{"robots": 9, "scope": 5}, Status: map[string]int64{"2xx": 90, "4xx": 6}}
	for range MaxSummaryHosts + 1 {
		s.Hosts = append(s.Hosts, HostSummary{Host: "example.org", Pages: 96, GapMS: 2000, GapReason: GapCrawlDelay})
	}
	if err := d.WriteSummary(s); err != nil {
		t.Fatal(err)
	}
	back, ok, err := d.ReadSummary()
	if !ok || err != nil || len(back.Hosts) != MaxSummaryHosts || back.Pages != 96 || !back.Started.Equal(testTime) {
		t.Errorf("%+v %v %v", back, ok, err)
	}
	if err := d.WriteSummary(Summary{}); err != nil || strings.Contains(content(t, d.Summary()), "null") {
		t.Errorf("an empty summary: %v %s", err, content(t, d.Summary()))
	}
	s.Hosts = s.Hosts[:1]
	if err := d.WriteSummary(s); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(d.Summary())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.json", b)
	os.WriteFile(d.Summary(), []byte("{"), 0o644)
	if _, _, err := d.ReadSummary(); err == nil {
		t.Error("a damaged summary was read")
	}
}

func TestCDXLine(t *testing.T) {
	u, err := weburl.Parse("https://www.Example.org:8443/A/?b=2&a=1")
	if err != nil {
		t.Fatal(err)
	}
	r := CDXRecord{URL: u, TS: testTime, MIME: "text/html", Status: 200, Digest: "sha256:00", Length: 12, Offset: 0, Filename: "a.warc.gz"}
	b := r.AppendLine(nil)
	b = (&CDXRecord{URL: u, TS: testTime, MIME: RevisitMIME, Length: 1, Offset: 2, Filename: "a.warc.gz"}).AppendLine(b)
	golden(t, "index.cdxj", b)
}

func BenchmarkPageRecord(b *testing.B) {
	r := fullPage()
	dst := r.AppendJSON(nil)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		dst = r.AppendJSON(dst[:0])
	}
}

func BenchmarkCDXLine(b *testing.B) {
	u, _ := weburl.Parse("https://www.example.org/some/path/page.html?b=2&a=1")
	r := CDXRecord{URL: u, TS: testTime, MIME: "text/html", Status: 200, Digest: "sha256:00", Length: 12, Filename: "a.warc.gz"}
	dst := r.AppendLine(nil)
	b.ReportAllocs()
	for b.Loop() {
		dst = r.AppendLine(dst[:0])
	}
}
