package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"decorum/internal/config"
	"decorum/internal/jobdir"
	"decorum/internal/web"
)

// decorum runs the program with the arguments.
func decorum(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, &env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, source: &config.Source{}})
	return code, out.String(), errs.String()
}

// folder makes a crawl folder, with a summary if s is not nil.
func folder(t *testing.T, s *jobdir.Summary) string {
	t.Helper()
	path := t.TempDir() + "/x.crawl"
	d, err := jobdir.Open(path, jobdir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if s != nil {
		if err := d.WriteSummary(*s); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestStatusOfACrawlThatDoesNotRun(t *testing.T) {
	path := folder(t, &jobdir.Summary{Tool: "decorum/test", Ended: time.Now(), WallMS: 192_000, Pages: 96, EndReason: jobdir.EndInterrupted, Found: 412, QueuedLeft: 300, HostsLeft: 1,
		BytesWire: 9_100_000, Outcomes: map[string]int64{"ok": 90, "not_found": 6}, Skipped: map[string]int64{"robots": 9}})
	code, out, errs := decorum(t, "status", path)
	if code != exitOK || errs != "" {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	for _, want := range []string{"not running\n", "paused after 3m12s · 96 pages · 9 skipped (9 robots) · 300 URLs left · resume: decorum crawl --dir " + path, "queued 300 (1 host)", "ok 90  not found 6"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	code, out, _ = decorum(t, "status", "--json", path)
	var sum jobdir.Summary
	if err := json.Unmarshal([]byte(out), &sum); err != nil || code != exitOK || sum.Type != "summary" || sum.Pages != 96 {
		t.Errorf("%v, exit code %d: %s", err, code, out)
	}
}

// TestStatusOfAKilledCrawl: the file of a process that is no more stays behind.
func TestStatusOfAKilledCrawl(t *testing.T) {
	path := folder(t, nil)
	const nobody = 1<<30 + 7 // beyond the largest pid of any system
	if err := web.WriteLive(path, web.Live{PID: nobody, URL: "http://127.0.0.1:1/"}); err != nil {
		t.Fatal(err)
	}
	code, out, _ := decorum(t, "status", path)
	if code != exitOK || !strings.Contains(out, "was cut off") || !strings.Contains(out, "no run has ended yet") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if _, out, _ := decorum(t, "status", "--json", path); !strings.Contains(out, `"type": "none"`) || !strings.Contains(out, `"cut": true`) {
		t.Error(out)
	}
}

func TestStatusErrors(t *testing.T) {
	if code, _, errs := decorum(t, "status", t.TempDir()); code != exitUsage || !strings.Contains(errs, "no crawl folder") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	path := folder(t, nil)
	if err := web.WriteLive(path, web.Live{PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := decorum(t, "status", path); code != exitInternal || !strings.Contains(errs, "--listen off") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	t.Chdir(t.TempDir())
	if code, _, errs := decorum(t, "status"); code != exitUsage || !strings.Contains(errs, "name one") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestStatusFindsTheOnlyFolder(t *testing.T) {
	path := folder(t, nil)
	t.Chdir(strings.TrimSuffix(path, "/x.crawl"))
	if code, out, errs := decorum(t, "status"); code != exitOK || !strings.Contains(out, "--dir x.crawl") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}
