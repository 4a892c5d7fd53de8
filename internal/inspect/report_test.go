package inspect_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"decorum/internal/inspect"
	"decorum/internal/jobdir"
)

func textOf(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\r\x07") {
		t.Errorf("control characters reach the terminal: %q", b.String())
	}
	return b.String()
}

func day(clock string) time.Time {
	at, err := time.Parse(time.DateTime, "2026-03-04 "+clock)
	if err != nil {
		panic(err)
	}
	return at
}

func politeReport() inspect.AuditReport {
	return inspect.AuditReport{Dir: "./example.org.crawl", Polite: true, Runs: 2, First: day("10:00:00"), Last: day("12:30:01"), Contacts: 1234, Pages: 1200,
		Sitemaps: 1, Robots: 3, Versions: 2, Checked: 1201, Hosts: 2, Ignored: []inspect.IgnoredHost{{Host: "own.example", Fetches: 12}},
		Rows: []inspect.HostRow{{Host: "example.org", Contacts: 1233, Gap: jobdir.Known(1000), Promised: jobdir.Known(1000), Margin: jobdir.Known(0)},
			{Host: "www.example.org", Contacts: 1}}}
}

func TestTextOfAudits(t *testing.T) {
	polite := politeReport()
	golden(t, "audit-polite.txt", textOf(t, func(b *bytes.Buffer) error { return polite.WriteText(b) }))

	rude := politeReport()
	rude.Polite, rude.Broken = false, map[string]int64{inspect.BreachGap: 30, inspect.BreachSequence: 1}
	rude.Notes = []string{"the state cannot be opened"}
	rude.Rows[0].Gap, rude.Rows[0].Margin, rude.Rows[0].Breaches, rude.Rows[1].Host = jobdir.Known(90), jobdir.Known(-910), 30, "a\x1b[31m.example"
	rude.Breaches = []inspect.Breach{
		{Kind: inspect.BreachGap, Line: 17, Seq: 17, Host: "example.org", URL: "http://example.org/\x07", Text: "example.org rested 90ms, promised were 1s"},
		{Kind: inspect.BreachState, Text: "the state counts 3 exchanges, the record ends with number 2"}}
	golden(t, "audit-breach.txt", textOf(t, func(b *bytes.Buffer) error { return rude.WriteText(b) }))

	none := inspect.AuditReport{Dir: "./new.crawl", Polite: true}
	golden(t, "audit-empty.txt", textOf(t, func(b *bytes.Buffer) error { return none.WriteText(b) }))
}

func TestTextOfChecks(t *testing.T) {
	r := inspect.CheckReport{Path: "./example.org.crawl", OK: true, Bytes: 12345, Parts: []inspect.CheckPart{
		{Name: "archive", Text: "1 file, 12.3 kB, 9 records (9 response), 9 digests verified", Warnings: 1,
			Findings: []inspect.Finding{{File: "a.warc.gz", Offset: jobdir.Known(0), Warning: true, Text: "empty line before a record"}}},
		{Name: "pages", Text: "9 pages"}}}
	golden(t, "check-sound.txt", textOf(t, func(b *bytes.Buffer) error { return r.WriteText(b) }))

	r.OK, r.InUse, r.Faults, r.First, r.Notes = false, true, 130, "pages/pages.jsonl: offset 77 (line 2)", []string{"in use by process 7"}
	r.Parts[1].Faults = 130
	for range 100 {
		r.Parts[1].Findings = append(r.Parts[1].Findings, inspect.Finding{File: "pages/pages.jsonl", Offset: jobdir.Known(77), Line: 2, Text: "no \x1b[1mJSON"})
	}
	golden(t, "check-damaged.txt", textOf(t, func(b *bytes.Buffer) error { return r.WriteText(b) }))
}

func TestTextOfReasons(t *testing.T) {
	at := day("10:00:00")
	due := day("10:00:05")
	var texts []string
	for _, r := range []inspect.WhyReport{
		{URL: "http://a.example/x", Verdict: inspect.WhyFetched, Outcome: "duplicate", Text: "same body as another URL", Time: &at, Status: 200, DupOf: "http://a.example/y",
			WARC: &jobdir.WARCPlace{File: "d-00001.warc.gz", Offset: 7, Length: 1200, RecordID: "urn:uuid:1"}, Attempt: 2,
			Chain: []inspect.ChainStep{{URL: "http://a.example/", How: "seed"}, {URL: "http://a.example/x", How: "link", Anchor: "click \x1b[5mhere " + strings.Repeat("very ", 20)}}},
		{URL: "http://a.example/z", Verdict: inspect.WhyReady, Text: "it is in the queue of its host", Host: &inspect.WhyHost{Key: "a.example", Phase: "resting", Due: &due,
			GapMS: 5000, Reason: "crawl_delay", Queued: 12, Pages: 1}, Notes: []string{"note\x07"}},
		{URL: "http://a.example/deep", Verdict: inspect.WhySkipped, Outcome: "depth", Text: "deeper than the depth limit", Rule: "--depth 20", Chain: deepChain(20), Cut: true},
	} {
		texts = append(texts, textOf(t, func(b *bytes.Buffer) error { return r.WriteText(b) }))
	}
	golden(t, "why.txt", strings.Join(texts, "\n"))
}

func deepChain(n int) (chain []inspect.ChainStep) {
	for i := range n {
		chain = append(chain, inspect.ChainStep{URL: "http://a.example/" + strings.Repeat("x", i), How: "link"})
	}
	return chain
}

func TestReportsAreJSON(t *testing.T) {
	audit, check, why := politeReport(), inspect.CheckReport{Parts: []inspect.CheckPart{{Findings: []inspect.Finding{{}}}}}, inspect.WhyReport{}
	for _, write := range []func(*bytes.Buffer) error{
		func(b *bytes.Buffer) error { return audit.WriteJSON(b) },
		func(b *bytes.Buffer) error { return check.WriteJSON(b) },
		func(b *bytes.Buffer) error { return why.WriteJSON(b) },
	} {
		var b bytes.Buffer
		var back map[string]any
		if err := write(&b); err != nil || json.Unmarshal(b.Bytes(), &back) != nil || back["v"] != 1.0 || back["type"] == nil {
			t.Errorf("%v: %s", err, b.String())
		}
		if bytes.Contains(b.Bytes(), []byte("null")) {
			t.Errorf("null instead of absent: %s", b.String())
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                "plain",
		"naïve 漢字 😀":           "naïve 漢字 😀",
		"\x1b[31m":             `\x1b[31m`,
		"a\tb\nc":              `a\tb\nc`,
		"caf\xe9":              `caf\xe9`,
		"\u202egnp.exe":        `\u202egnp.exe`,
		"\u009b31m":            `\u009b31m`,
		"\ufffd":               "\ufffd",
		"zero\u200bwidth\x7f":  `zero\u200bwidth\x7f`,
		"line\u2028separators": `line\u2028separators`,
	} {
		if got := inspect.Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}
