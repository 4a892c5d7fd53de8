package inspect_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"decorum/internal/inspect"
	"decorum/internal/jobdir"
)

// FuzzFolder looks into a folder whose streams hold anything.
func FuzzFolder(f *testing.F) {
	f.Add([]byte(`{"v":1,"type":"fetch","seq":1,"run":1,"ts":"2026-03-04T10:00:00.000Z","end_ts":"2026-03-04T10:00:01.000Z","kind":"robots","url":"http://a.test/robots.txt","host":"a.test","ip":"127.0.0.1","status":200,"outcome":"ok","attempt":1,"total_ms":1000}` + "\n" +
		`{"v":1,"type":"fetch","seq":2,"run":1,"ts":"2026-03-04T10:00:02.000Z","end_ts":"2026-03-04T10:00:03.000Z","kind":"page","url":"http://a.test/","host":"a.test","status":200,"outcome":"ok","attempt":1,"total_ms":1000,"gap_ms":1000,"promised_ms":1000,"robots_version":"x"}` + "\n"))
	f.Add([]byte(`{"v":1,"type":"page","seq":1,"url":"http://a.test/","status":200,"warc":{"file":"../x","offset":-1,"length":-5}}` + "\n"))
	f.Add([]byte(`a)/ 20260304100000 {"url":"http://a.test/","length":"1","offset":"9223372036854775807","filename":"x.warc.gz"}` + "\n"))
	dir := filepath.Join(f.TempDir(), "x.crawl")
	d, err := jobdir.Open(dir, jobdir.Options{})
	if err != nil {
		f.Fatal(err)
	}
	d.Close()
	if err := os.WriteFile(filepath.Join(dir, "archive", "x.warc.gz"), []byte("\x1f\x8b"), 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, name := range []string{jobdir.FetchesName, jobdir.PagesName, jobdir.SkippedName, jobdir.IndexPartName, jobdir.IndexName} {
			if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		audit, err := inspect.Audit(dir)
		if err != nil {
			t.Fatal(err)
		}
		check, err := inspect.Check(dir, inspect.CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		why, err := inspect.Why(dir, "http://a.test/", inspect.WhyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{audit.WriteText(io.Discard), check.WriteText(io.Discard), why.WriteText(io.Discard)} {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
