package warc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
)

// faultFS fails chosen operations of the operating system's files.
type faultFS struct {
	osFS
	failWrite, failSync, failTruncate, failSyncDir bool
	log                                            []string
}

type faultFile struct {
	File
	fs   *faultFS
	name string
}

func (f *faultFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	file, err := f.osFS.OpenFile(name, flag, perm)
	if flag&os.O_CREATE != 0 {
		f.log = append(f.log, "create")
	}
	return &faultFile{file, f, name}, err
}

func (f *faultFS) Truncate(name string, size int64) error {
	f.log = append(f.log, "truncate")
	if f.failTruncate {
		return syscall.EIO
	}
	return f.osFS.Truncate(name, size)
}

func (f *faultFS) SyncDir(name string) error {
	f.log = append(f.log, "syncdir")
	if f.failSyncDir {
		return syscall.EIO
	}
	return f.osFS.SyncDir(name)
}

// Write writes half when it fails, as a full disk does.
func (f *faultFile) Write(p []byte) (int, error) {
	f.fs.log = append(f.fs.log, "write")
	if f.fs.failWrite {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, syscall.ENOSPC
	}
	return f.File.Write(p)
}

func (f *faultFile) Sync() error {
	f.fs.log = append(f.fs.log, "sync")
	if f.fs.failSync {
		return syscall.EIO
	}
	return f.File.Sync()
}

func (f *faultFS) takeLog() string {
	s := strings.Join(f.log, " ")
	f.log = nil
	return s
}

// group encodes n records into one buffer.
func group(t testing.TB, n int, body string) (b []byte, members []Member) {
	e := NewEncoder(EncoderOptions{})
	for i := range n {
		var m Member
		var err error
		b, m, err = e.Append(b, &Record{Type: Response, Date: testDate, TargetURI: fmt.Sprintf("http://example.org/%d", i), HTTPHead: []byte(testHead), Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
	}
	return b, members
}

func mustAppend(t *testing.T, w *Writer, n int, body string) []Place {
	t.Helper()
	b, members := group(t, n, body)
	places, err := w.Append(b, members...)
	if err != nil {
		t.Fatal(err)
	}
	return places
}

func mustOpen(t *testing.T, o WriterOptions, at Position) *Writer {
	t.Helper()
	w, err := OpenWriter(o, at)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// records returns the target URIs of a file's records, which must all be in order; "" is a warcinfo.
func records(t *testing.T, path string) (uris []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if rep := Check(bytes.NewReader(b)); !rep.OK() || rep.Warnings > 0 {
		t.Errorf("%s: %v", path, rep.Problems)
	}
	z := NewReader(bytes.NewReader(b))
	for {
		e, err := z.Next()
		if err == io.EOF {
			return uris
		}
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, e.TargetURI())
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriterRotates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for the date in the names
		dir := t.TempDir()
		w := mustOpen(t, WriterOptions{Dir: dir, Prefix: "test", MaxFileSize: 3000, Info: Info{Software: "test"}}, Position{})
		var places []Place
		for range 6 {
			places = append(places, mustAppend(t, w, 2, strings.Repeat("x", 100))...)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var want []string
		for i := range names(t, dir) {
			want = append(want, fmt.Sprintf("test-20000101000000-%05d.warc.gz", i+1))
		}
		if got := names(t, dir); fmt.Sprint(got) != fmt.Sprint(want) || len(got) < 2 {
			t.Errorf("files %v, want %v", got, want)
		}
		for _, name := range want {
			if uris := records(t, filepath.Join(dir, name)); uris[0] != "" || len(uris)%2 != 1 {
				t.Errorf("%s begins with its warcinfo and holds whole groups, not %q", name, uris)
			}
		}
		for i, p := range places {
			f, err := os.Open(filepath.Join(dir, p.File))
			if err != nil {
				t.Fatal(err)
			}
			e, err := ReadAt(f, p.Offset, p.Length)
			if err != nil || e.TargetURI() != fmt.Sprintf("http://example.org/%d", i%2) {
				t.Errorf("place %+v: %v", p, err)
			}
			f.Close()
		}
	})
}

// After a crash nothing is left of what was not committed, and the archive goes on where it was.
func TestWriterReturnsToPosition(t *testing.T) {
	dir := t.TempDir()
	o := WriterOptions{Dir: dir, MaxFileSize: 3000}
	w := mustOpen(t, o, Position{})
	start := w.Position()
	mustAppend(t, w, 1, "one")
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	committed := w.Position()
	for range 20 {
		mustAppend(t, w, 1, "lost")
	}
	os.WriteFile(filepath.Join(dir, "decorum-notes.txt"), nil, 0o644) // not ours
	if len(names(t, dir)) < 3 {
		t.Fatal("the lost records should fill several files")
	}

	w = mustOpen(t, o, committed)
	if got := names(t, dir); len(got) != 2 || w.Position() != committed {
		t.Errorf("files %v, position %+v, want %+v", got, w.Position(), committed)
	}
	mustAppend(t, w, 1, "two")
	w.Close()
	if got := records(t, filepath.Join(dir, committed.File)); fmt.Sprintf("%q", got) != `["" "http://example.org/0" "" "http://example.org/0"]` {
		t.Errorf("records %q: one of each run, each after its warcinfo", got)
	}

	w = mustOpen(t, o, start)
	if got := names(t, dir); len(got) != 1 || w.Position() != start {
		t.Errorf("before the first commit there was nothing, now %v at %+v", got, w.Position())
	}
}

func TestWriterWithoutPositionLeavesOldFilesAlone(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "decorum-20200101000000-00007.warc.gz")
	os.WriteFile(old, []byte("old"), 0o644)
	w := mustOpen(t, WriterOptions{Dir: dir}, Position{})
	places := mustAppend(t, w, 1, "x")
	w.Close()
	if b, _ := os.ReadFile(old); string(b) != "old" || !strings.HasSuffix(places[0].File, "-00008.warc.gz") {
		t.Errorf("old file %q, new file %s", b, places[0].File)
	}
}

func TestWriterRefusesAnArchiveThatLostRecords(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, WriterOptions{Dir: dir}, Position{})
	mustAppend(t, w, 1, "x")
	w.Close()
	at := w.Position()
	os.Truncate(filepath.Join(dir, at.File), at.Offset-1)
	if _, err := OpenWriter(WriterOptions{Dir: dir}, at); !errors.Is(err, ErrShort) {
		t.Errorf("a file that is too short: %v", err)
	}
	os.Remove(filepath.Join(dir, at.File))
	if _, err := OpenWriter(WriterOptions{Dir: dir}, at); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}

func TestFullDiskIsNotTheEnd(t *testing.T) {
	dir := t.TempDir()
	disk := &faultFS{}
	w := mustOpen(t, WriterOptions{Dir: dir, FS: disk}, Position{})
	disk.failWrite = true
	b, members := group(t, 1, "x")
	for range 2 { // in the warcinfo of a new file
		if _, err := w.Append(b, members...); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("full disk: %v", err)
		}
	}
	disk.failWrite = false
	mustAppend(t, w, 1, "x")
	disk.failWrite = true
	if _, err := w.Append(b, members...); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("full disk: %v", err)
	}
	disk.failWrite = false
	mustAppend(t, w, 1, "x")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := records(t, filepath.Join(dir, w.Position().File)); len(got) != 3 {
		t.Errorf("records %q", got)
	}
}

func TestFailedSyncIsFinal(t *testing.T) {
	for name, fail := range map[string]func(*faultFS){
		"file":   func(d *faultFS) { d.failSync = true },
		"folder": func(d *faultFS) { d.failSyncDir = true },
		"cut":    func(d *faultFS) { d.failWrite, d.failTruncate = true, true },
	} {
		disk := &faultFS{}
		w := mustOpen(t, WriterOptions{Dir: t.TempDir(), FS: disk}, Position{})
		b, members := group(t, 1, "x")
		mustAppend(t, w, 1, "x")
		fail(disk)
		if name == "cut" {
			if _, err := w.Append(b, members...); err == nil {
				t.Errorf("%s: no error", name)
			}
		} else if err := w.Sync(); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", name, err)
		}
		*disk = faultFS{}
		if err := w.Sync(); !errors.Is(err, ErrPoisoned) {
			t.Errorf("%s: a second sync says %v", name, err)
		}
		if _, err := w.Append(b, members...); !errors.Is(err, ErrPoisoned) {
			t.Errorf("%s: an append afterwards says %v", name, err)
		}
	}
}

// The order of file operations is what durability rests on.
func TestOrderOfFileOperations(t *testing.T) {
	disk := &faultFS{}
	dir := t.TempDir()
	w := mustOpen(t, WriterOptions{Dir: dir, MaxFileSize: 1500, FS: disk}, Position{})
	step := func(what, want string, f func()) {
		t.Helper()
		disk.takeLog()
		if f(); disk.takeLog() != want {
			t.Errorf("%s: want %q", what, want)
		}
	}
	var committed Position
	sync := func() {
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	step("first append", "create write write", func() { mustAppend(t, w, 1, "x") })
	step("sync", "sync syncdir", sync)
	step("nothing to sync", "", sync)
	committed = w.Position()
	step("second append", "write", func() { mustAppend(t, w, 1, "x") })
	step("rotation", "sync create write write", func() { mustAppend(t, w, 2, "x") })
	step("sync after rotation", "sync syncdir", sync)
	step("open", "truncate sync syncdir", func() { w = mustOpen(t, WriterOptions{Dir: dir, FS: disk}, committed) })
	step("open, nothing to cut", "sync syncdir", func() { w = mustOpen(t, WriterOptions{Dir: dir, FS: disk}, committed) })
}

func TestWriterChecksItsArguments(t *testing.T) {
	w := mustOpen(t, WriterOptions{Dir: t.TempDir()}, Position{})
	b, members := group(t, 2, "x")
	if _, err := w.Append(b, members[0]); err == nil {
		t.Error("a group longer than its members was taken")
	}
	for _, o := range []WriterOptions{{MaxFileSize: -1}, {Prefix: "a/b"}, {Encoder: EncoderOptions{Level: 10}}} {
		o.Dir = t.TempDir()
		if _, err := OpenWriter(o, Position{}); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}
