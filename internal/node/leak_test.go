package node

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"decorum/internal/config"
	"decorum/internal/simweb"
	"decorum/internal/web"
)

// After a crawl no goroutine, descriptor or temporary file is left: with real connections, real files and the live page,
// however it ends.
func TestNothingIsLeftAfterACrawl(t *testing.T) {
	crawls, temp := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, c := range []struct {
		name   string
		limits func(soft, hard context.CancelFunc)
		pages  uint64
	}{
		{"to its end", func(_, _ context.CancelFunc) {}, 0},
		{"page limit", func(_, _ context.CancelFunc) {}, 20},
		{"interrupted", func(soft, _ context.CancelFunc) { soft() }, 0},
		{"cut", func(soft, hard context.CancelFunc) { hard(); soft() }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			served, stop := listen(t)
			s := leakSim(t, served, filepath.Join(crawls, c.name))
			s.cfg.MaxPages = c.pages
			s.leakCrawl(c.limits) // once before: what a process makes once for all is no leak
			before, descriptors := goleak.IgnoreCurrent(), openFiles(t)
			s = leakSim(t, served, filepath.Join(crawls, c.name+" again"))
			s.cfg.MaxPages = c.pages
			s.leakCrawl(c.limits)
			if err := goleak.Find(before); err != nil {
				t.Error(err)
			}
			if after := openFiles(t); len(after) > len(descriptors) {
				t.Errorf("descriptors: %v were open, %v are", descriptors, after)
			}
			temporaryFiles(t, s.dir, temp)
			stop()
		})
	}
}

// listen serves a small web on loopback.
func listen(t *testing.T) (*simweb.Web, func() error) {
	t.Helper()
	for port := 7471; ; port++ {
		o := simweb.Plain()
		o.Hosts, o.Pages, o.Port, o.Latency = 8, 60, uint16(port), 2*time.Millisecond
		served := simweb.New(o)
		stop, err := served.Listen(t.Context(), port)
		if err == nil {
			return served, stop
		}
		if port > 7520 {
			t.Fatal(err)
		}
	}
}

func leakSim(t *testing.T, served *simweb.Web, dir string) *sim {
	s := &sim{t: t, web: served, dir: dir, cfg: config.Default()}
	s.cfg.Scope, s.cfg.AllowNet, s.cfg.MinFree, s.cfg.Listen = "any", []string{"127.0.0.0/8"}, 0, "127.0.0.1:0"
	s.cfg.Delay, s.cfg.DelayFactor, s.cfg.IPGap, s.cfg.SeenRecent = config.Duration(time.Millisecond), 1, 0, 10
	for name, addrs := range served.StaticDNS() {
		s.cfg.Resolve = append(s.cfg.Resolve, fmt.Sprintf("%s:%s", name, addrs[0]))
	}
	return s
}

// leakCrawl crawls with the live page and a checkpoint, and ends the crawl in some way after that.
func (s *sim) leakCrawl(end func(soft, hard context.CancelFunc)) {
	s.t.Helper()
	n := s.open()
	live, err := n.Live(LiveOptions{Feed: web.NewFeed()})
	if err != nil {
		s.t.Fatal(err)
	}
	soft, pause := context.WithCancel(s.t.Context())
	hard, cut := context.WithCancel(s.t.Context())
	defer pause()
	defer cut()
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.Checkpoint(s.t.Context()) // the crawl may have ended
		end(pause, cut)
	}()
	r, err := n.Run(soft, hard)
	if err != nil {
		s.t.Fatal(err)
	}
	<-done
	for _, err := range []error{live.Close(), n.Finish(&r, 0, ""), n.Close()} {
		if err != nil {
			s.t.Error(err)
		}
	}
}

// openFiles lists the descriptors of this process.
func openFiles(t *testing.T) (files []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Log("descriptors are not counted here:", err)
		return nil
	}
	for _, e := range entries {
		to, _ := os.Readlink("/proc/self/fd/" + e.Name()) // that of this very listing is closed by now
		if to != "" && !strings.Contains(to, "/fd") {
			files = append(files, to)
		}
	}
	return files
}

// temporaryFiles reports what should have been removed.
func temporaryFiles(t *testing.T, dir, temp string) {
	t.Helper()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("in the system's folder for temporary files: %v, %v", left, err)
	}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		base := d.Name()
		if strings.Contains(base, unfinished) || strings.HasSuffix(base, ".new") || strings.HasPrefix(base, "live.json") || filepath.Base(filepath.Dir(name)) == "spool" {
			t.Errorf("%s is left", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
