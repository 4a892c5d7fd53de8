package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"decorum/internal/web"
)

// beDecorum makes the test binary the program, for tests with processes of their own.
const beDecorum = "BE_DECORUM"

func TestMain(m *testing.M) {
	if os.Getenv(beDecorum) != "" {
		main()
	}
	os.Setenv(beDecorum, "1") // for its children
	os.Exit(m.Run())
}

func TestTorture(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "torture")
	out := expect(t, exitOK, "torture: passed", "torture", dir, "--kills", "1", "--pages", "60", "--hosts", "6", "--plain", "--seed", "6")
	if !strings.Contains(out, "recorded twice") {
		t.Errorf("no table:\n%s", out)
	}
	expect(t, exitUsage, "not empty", "torture", dir)
}

// Of two processes only one crawls into a folder; when it is killed the other can.
func TestTwoProcessesOneFolder(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	to := &torture{e: &env{stderr: os.Stderr}, o: &tortureCmd{Dir: dir, Pages: 30, Hosts: 3, Plain: true, Seed: 1}, binary: binary, r: rand.New(rand.NewPCG(1, 1))}
	served, stop, err := to.listen(to.web(1))
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	k := &tortured{t: to, web: served, dir: filepath.Join(dir, "x.crawl"), options: filepath.Join(dir, "x.toml"), began: time.Now()}
	if err := to.config(served, k.options); err != nil {
		t.Fatal(err)
	}
	crawl := func() *process {
		t.Helper()
		p, err := to.spawn(append([]string{"crawl", "--dir", k.dir, "--config", k.options, "--listen", "127.0.0.1:0", "-q"}, served.Seeds()...))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.cmd.Process.Kill(); <-p.done })
		return p
	}
	first := crawl()
	for { // until it holds the folder
		if l, ok, err := web.ReadLive(k.dir); err == nil && ok && l.PID == first.cmd.Process.Pid {
			break
		}
		if first.sleep(5 * time.Millisecond) {
			t.Fatalf("it ended: %v %s", first.err, &first.stderr)
		}
	}
	second := crawl()
	<-second.done
	if code := second.cmd.ProcessState.ExitCode(); code != exitUsage || !strings.Contains(second.stderr.String(), "in use by process") {
		t.Errorf("exit %d: %s", code, &second.stderr)
	}
	if !first.kill() {
		t.Fatalf("it had ended: %v %s", first.err, &first.stderr)
	}
	k.kills = append(k.kills, kill{at: time.Now()})
	third := crawl()
	<-third.done
	if third.err != nil {
		t.Errorf("%v: %s", third.err, &third.stderr)
	}
	if err := k.judge(); err != nil || !k.ok() {
		t.Errorf("%v %+v", err, k.findings)
	}
}
