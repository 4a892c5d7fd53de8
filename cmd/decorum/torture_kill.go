package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"decorum/internal/inspect"
	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/store"
	"decorum/internal/urlseen"
	"decorum/internal/web"
)

// tortured is one crawl with its kills.
type tortured struct {
	t            *torture
	web          *simweb.Web
	dir, options string
	began        time.Time
	kills        []kill
	starts       int
	failure      string // the process ended by itself, and not well
	kept         string // copy of a checkpoint, made after a kill; "" for none

	findings
}

// kill is one of them.
type kill struct {
	at         time.Time
	aim        aim
	checkpoint bool // one was being made or removed
	run        bool // a run of the seen-set was being written, or was written and not installed
}

// aim is what a kill is meant to hit.
type aim uint8

const (
	anywhere     aim = iota
	atStart          // while what the last kill left is recovered
	atCheckpoint     // while one is made
	atRun            // while a run of the seen-set is flushed or merged
	aims
)

func (a aim) String() string {
	return [...]string{"anywhere", "at the start", "at a checkpoint", "at a flush or merge"}[a]
}

// How long after its start a process is killed.
const (
	latest      = 3 * time.Second
	startWithin = 300 * time.Millisecond
)

// start starts the crawler and lets it end, or kills it if kills are left.
func (k *tortured) start() (ended bool, err error) {
	p, err := k.t.spawn(append([]string{"crawl", "--dir", k.dir, "--config", k.options, "--listen", "127.0.0.1:0", "--progress", "off", "-q"}, k.web.Seeds()...))
	if err != nil {
		return false, err
	}
	k.starts++
	if k.t.left == 0 {
		<-p.done
	} else {
		next := kill{aim: aim(k.t.r.IntN(int(aims)))}
		k.wait(p, next.aim)
		next.at = time.Now()
		k.watchClock()
		if p.kill() {
			k.t.left--
			if err := k.look(&next); err != nil {
				return false, err
			}
			k.kills = append(k.kills, next)
			fmt.Fprintf(k.t.e.stderr, "kill %d, %s\n", k.t.o.Kills-k.t.left, next.aim)
			return false, k.keep()
		}
	}
	if p.err != nil {
		k.failure = fmt.Sprintf("start %d: %v: %s", k.starts, p.err, strings.TrimSpace(p.stderr.String()))
	}
	return true, nil
}

// process is a crawler that was started.
type process struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	done   chan struct{} // closed when it has ended
	err    error         // why it ended badly; read after done
}

func (t *torture) spawn(args []string) (*process, error) {
	p := &process{cmd: exec.Command(t.binary, args...), done: make(chan struct{})}
	p.cmd.Stderr = &p.stderr
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "DECORUM_") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("torture: %w", err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// bySignal is the exit code that os/exec gives a process ended by a signal.
const bySignal = -1

// kill kills the process with a signal that it cannot see coming, and reports whether that was what ended it.
func (p *process) kill() bool {
	err := p.cmd.Process.Kill()
	<-p.done
	return err == nil && p.err != nil && (p.cmd.ProcessState.ExitCode() == bySignal || runtime.GOOS == "windows") // which has no signals
}

// wait waits until the moment aimed at has come, or the process has ended.
func (k *tortured) wait(p *process, a aim) {
	switch a {
	case atStart:
		p.sleep(time.Duration(k.t.r.Int64N(int64(startWithin))))
		return
	case anywhere:
		p.sleep(time.Duration(k.t.r.Int64N(int64(latest))))
		return
	}
	p.sleep(time.Duration(k.t.r.Int64N(int64(latest / 2)))) // not always at the first occasion
	ctx, cancel := context.WithTimeout(context.Background(), latest)
	defer cancel()
	var seen func() int
	if a == atCheckpoint {
		go k.orderCheckpoint(ctx, p)
		seen = func() int { return count(k.dir, jobdir.CheckpointsName, "*.tmp") }
	} else {
		before := k.newestRun()
		seen = func() int { return strings.Compare(k.newestRun(), before) }
	}
	for seen() <= 0 && ctx.Err() == nil {
		if p.sleep(time.Millisecond) {
			return
		}
	}
	p.sleep(time.Duration(k.t.r.Int64N(int64(30 * time.Millisecond))))
}

// sleep waits, and reports whether the process ended meanwhile.
func (p *process) sleep(d time.Duration) (ended bool) {
	select {
	case <-p.done:
		return true
	case <-time.After(d):
		return false
	}
}

// orderCheckpoint asks the process for a checkpoint as soon as it can be asked. What becomes of it shows on the disk.
func (k *tortured) orderCheckpoint(ctx context.Context, p *process) {
	for ctx.Err() == nil {
		if l, ok, err := web.ReadLive(k.dir); err == nil && ok && l.PID == p.cmd.Process.Pid && l.URL != "" {
			_, _ = l.Checkpoint(ctx)
			return
		}
		if p.sleep(5 * time.Millisecond) {
			return
		}
	}
}

// count counts files by pattern.
func count(parts ...string) int {
	names, _ := filepath.Glob(filepath.Join(parts...)) // the pattern is ours
	return len(names)
}

// newestRun is the name of the last run file; names are numbers that grow.
func (k *tortured) newestRun() string {
	names, _ := filepath.Glob(filepath.Join(k.dir, "state", "seen", "*.run"))
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// look notes what the kill hit.
func (k *tortured) look(hit *kill) error {
	hit.checkpoint = count(k.dir, jobdir.CheckpointsName, "*.tmp") > 0
	files := count(k.dir, "state", "seen", "*.run")
	if files == 0 {
		return nil
	}
	known, err := installedRuns(k.dir)
	hit.run = files > known
	return err
}

// keep copies the newest checkpoint away after some of the kills, over an earlier copy.
func (k *tortured) keep() error {
	names, err := filepath.Glob(filepath.Join(k.dir, jobdir.CheckpointsName, "*[0-9]"))
	if err != nil || len(names) == 0 || k.kept != "" && k.t.r.IntN(len(k.kills)) > 0 {
		return err
	}
	k.kept = strings.TrimSuffix(k.dir, ".crawl") + "-checkpoint.crawl"
	if err := os.RemoveAll(k.kept); err != nil {
		return err
	}
	return os.CopyFS(k.kept, os.DirFS(names[len(names)-1])) // Glob sorts
}

// installedRuns is how many runs the state of a folder knows.
func installedRuns(dir string) (n int, err error) {
	db, err := store.Open(store.Options{Dir: filepath.Join(dir, "state", "db"), ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	facts, ok, err := inspect.ReadFacts(db)
	if err != nil || !ok {
		return 0, err
	}
	seen, err := urlseen.Open(urlseen.Options{DB: db, Dir: filepath.Join(dir, "state", "seen"), Partitions: facts.Partitions, ReadOnly: true})
	if err != nil {
		return 0, err
	}
	return seen.Stats().Runs, seen.Close()
}
