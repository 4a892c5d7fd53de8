//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"decorum/internal/config"
)

// watched is a standard error that tells when something is written.
type watched struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
	word string
	seen chan struct{} // closed when word was written; nil after that, guarded by mu
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if w.seen != nil && strings.Contains(w.text.String(), w.word) {
		close(w.seen)
		w.seen = nil
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// The first interrupt lets the request under way end, the second cuts it. Both can be resumed.
func TestInterrupts(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		twice  bool
		code   int
		word   string
		pages  string
	}{
		{"SIGINT", syscall.SIGINT, false, exitInterrupted, "paused after", "1 page "},
		{"SIGTERM", syscall.SIGTERM, false, exitInterrupted, "paused after", "1 page "},
		{"SIGINT twice", syscall.SIGINT, true, exitForced, "stopped after", "0 pages "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			asked, answer := make(chan struct{}, 1), make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/robots.txt" {
					asked <- struct{}{}
					select {
					case <-answer:
					case <-r.Context().Done():
					}
				}
				fmt.Fprint(w, "<a href=/next>next</a>")
			}))
			defer s.Close()
			pausing := make(chan struct{})
			errs := &watched{word: "finishing 1 request", seen: pausing}
			ended := make(chan int)
			go func() {
				ended <- run(append([]string{s.URL}, quick...), &env{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: errs, source: &config.Source{}})
			}()
			interrupt := func() {
				if err := syscall.Kill(os.Getpid(), c.signal); err != nil {
					t.Fatal(err)
				}
			}
			<-asked
			interrupt()
			<-pausing
			if c.twice {
				interrupt()
			} else {
				close(answer)
			}
			if code := <-ended; code != c.code || !strings.Contains(errs.String(), c.word) || !strings.Contains(errs.String(), "· "+c.pages) || !strings.Contains(errs.String(), "resume: decorum crawl "+s.URL) {
				t.Errorf("exit code %d: %s", code, errs)
			}
		})
	}
}

// A reader that went away pauses the crawl; it does not kill it.
func TestReaderWentAway(t *testing.T) {
	t.Chdir(t.TempDir())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	var errs bytes.Buffer
	code := run(append([]string{origin(t, smallSite), "-o", "-"}, quick...), &env{stdin: strings.NewReader(""), stdout: w, stderr: &errs, source: &config.Source{}})
	if code != exitState || !strings.Contains(errs.String(), "broken pipe; the same command resumes") {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}

// The same for a full disk behind -o.
func TestOutputIsFull(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("this system has no " + full)
	}
	code, _, stderr := crawlHere(t, origin(t, smallSite), "-o", full)
	if lines := problem(stderr); code != exitState || len(lines) != 1 || !strings.Contains(lines[0], "no space left on device; the same command resumes") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
