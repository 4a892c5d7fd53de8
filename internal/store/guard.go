package store

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// guard stands between the engine and the disk. When a write fails the engine panics in some places, in
// goroutines of its own too, and tries again for ever in others. So from the first failed change on, it works on a disk
// that takes everything and keeps nothing: whatever it does then, the files stay as they are. That is no lie to
// anybody, because fail has poisoned the store before the engine goes on, and Commit acknowledges nothing any more.
//
// It also keeps changes of names in order around markers, the empty files whose names say which manifest holds. The
// engine makes the new one, removes the old one, and syncs the folder once. A file system that does not keep the order of such changes
// could then have neither, and the engine would begin an empty store; or the marker without its manifest.
//
// Reads pass through, and so does what lies outside of the store's folder: a checkpoint that fails is no harm to the store.
type guard struct {
	FS
	dir  string
	fail func(error) error
	dead atomic.Bool
}

// ours reports whether a name is in the store.
func (g *guard) ours(name string) bool {
	name = filepath.Clean(name)
	return name == g.dir || strings.HasPrefix(name, g.dir) && (name[len(g.dir)] == '/' || name[len(g.dir)] == filepath.Separator)
}

// change runs a change unless the store has failed, and reports whether it was made.
func (g *guard) change(f func() error) bool {
	if g.dead.Load() {
		return false
	}
	err := f()
	if err != nil {
		g.fail(err)
		g.dead.Store(true)
	}
	return err == nil
}

// open wraps a file opened for writing, or a folder opened to be synced.
func (g *guard) open(name string, open func() (File, error)) (File, error) {
	if !g.ours(name) {
		return open()
	}
	var f File
	opened := g.change(func() (err error) {
		f, err = open()
		return err
	})
	if !opened {
		return &void{name: name}, nil
	}
	return &guardedFile{f, g, name}, nil
}

func (g *guard) Create(name string, c vfs.DiskWriteCategory) (File, error) {
	return g.open(name, func() (File, error) {
		if err := g.order(name); err != nil {
			return nil, err
		}
		if g.isManifest(name) {
			return g.createManifest(name, c)
		}
		return g.FS.Create(name, c)
	})
}

func (g *guard) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (File, error) {
	return g.open(name, func() (File, error) { return g.FS.OpenReadWrite(name, c, opts...) })
}

func (g *guard) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (File, error) {
	return g.open(to, func() (File, error) { return g.FS.ReuseForWrite(from, to, c) })
}

func (g *guard) OpenDir(name string) (File, error) {
	return g.open(name, func() (File, error) { return g.FS.OpenDir(name) })
}

// named is change for a change of a name. The engine may ask for it to find out whether there is such a file.
func (g *guard) named(name string, f func() error) (missing error) {
	if !g.ours(name) {
		return f()
	}
	g.change(func() error {
		err := f()
		if errors.Is(err, fs.ErrNotExist) {
			missing, err = err, nil
		}
		return err
	})
	return missing
}

func (g *guard) Remove(name string) error {
	return g.named(name, func() error {
		if err := g.order(name); err != nil {
			return err
		}
		if g.isManifest(name) {
			if err := g.FS.Remove(name + sumSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return g.FS.Remove(name)
	})
}

const markerPrefix = "marker."

// order makes earlier changes of names durable before that of a marker.
func (g *guard) order(name string) error {
	if !strings.HasPrefix(g.PathBase(name), markerPrefix) {
		return nil
	}
	d, err := g.FS.OpenDir(g.PathDir(name))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (g *guard) RemoveAll(name string) error {
	return g.named(name, func() error { return g.FS.RemoveAll(name) })
}

func (g *guard) Rename(from, to string) error {
	return g.named(to, func() error { return g.FS.Rename(from, to) })
}

func (g *guard) Link(from, to string) error {
	return g.named(to, func() error { return g.FS.Link(from, to) })
}

// List counts as a change: Open lists the folder at its end, when it can no longer fail without a panic.
func (g *guard) List(name string) (names []string, err error) {
	err = g.named(name, func() (err error) {
		names, err = g.FS.List(name)
		return err
	})
	return names, err
}

func (g *guard) Unwrap() FS { return g.FS }

// guardedFile is a file of the store that is written.
type guardedFile struct {
	File
	g    *guard
	name string
}

func (f *guardedFile) Write(p []byte) (int, error) {
	f.g.change(func() error { return whole(len(p))(f.File.Write(p)) })
	return len(p), nil
}

func (f *guardedFile) WriteAt(p []byte, off int64) (int, error) {
	f.g.change(func() error { return whole(len(p))(f.File.WriteAt(p, off)) })
	return len(p), nil
}

// whole makes an error of a write that is short of n bytes.
func whole(n int) func(int, error) error {
	return func(written int, err error) error {
		if err == nil && written < n {
			err = io.ErrShortWrite
		}
		return err
	}
}

func (f *guardedFile) Sync() error {
	f.g.change(f.File.Sync)
	return nil
}

func (f *guardedFile) SyncData() error {
	f.g.change(f.File.SyncData)
	return nil
}

func (f *guardedFile) SyncTo(n int64) (full bool, _ error) {
	f.g.change(func() (err error) {
		full, err = f.File.SyncTo(n)
		return err
	})
	return full, nil
}

func (f *guardedFile) Preallocate(off, n int64) error {
	f.g.change(func() error { return f.File.Preallocate(off, n) })
	return nil
}

// Stat counts as a change too: the engine panics when it cannot look at a log that it uses again.
func (f *guardedFile) Stat() (info vfs.FileInfo, _ error) {
	seen := f.g.change(func() (err error) {
		info, err = f.File.Stat()
		return err
	})
	if !seen {
		return crashInfo{name: f.name}, nil
	}
	return info, nil
}

// Close closes the file also after a failure: descriptors are few.
func (f *guardedFile) Close() error {
	err := f.File.Close()
	f.g.change(func() error { return err })
	return nil
}

// void is a file of the disk that keeps nothing.
type void struct {
	name string
	size int64
}

func (v *void) Write(p []byte) (int, error) {
	v.size += int64(len(p))
	return len(p), nil
}
func (v *void) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (v *void) Read([]byte) (int, error)               { return 0, io.EOF }
func (v *void) ReadAt([]byte, int64) (int, error)      { return 0, io.EOF }
func (v *void) Close() error                           { return nil }
func (v *void) Sync() error                            { return nil }
func (v *void) SyncData() error                        { return nil }
func (v *void) SyncTo(int64) (bool, error)             { return false, nil }
func (v *void) Preallocate(int64, int64) error         { return nil }
func (v *void) Prefetch(int64, int64) error            { return nil }
func (v *void) Fd() uintptr                            { return vfs.InvalidFd }
func (v *void) Stat() (vfs.FileInfo, error)            { return crashInfo{name: v.name, size: v.size}, nil }
