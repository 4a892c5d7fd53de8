package store

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// crashFile is an open file or folder of a CrashFS. It belongs to one writer at a time.
type crashFile struct {
	c           *CrashFS
	n           *inode
	name        string
	pos         int64
	read, write bool
}

var errMode = errors.New("not opened for this")

// Close closes it; nothing becomes durable by that.
func (f *crashFile) Close() error { return nil }

// Read reads from where the last Read or Write ended.
func (f *crashFile) Read(p []byte) (n int, err error) {
	err = f.c.do(OpRead, f.name, func(a Action) (err error) {
		n, err = f.readAt(p, f.pos, a)
		f.pos += int64(n)
		if n > 0 {
			err = nil
		}
		return err
	})
	return n, err
}

// ReadAt reads at an offset.
func (f *crashFile) ReadAt(p []byte, off int64) (n int, err error) {
	err = f.c.do(OpRead, f.name, func(a Action) (err error) {
		n, err = f.readAt(p, off, a)
		return err
	})
	return n, err
}

func (f *crashFile) readAt(p []byte, off int64, a Action) (int, error) {
	if !f.read || f.n.isDir() {
		return 0, errMode
	}
	n := copy(p, f.n.data[min(off, int64(len(f.n.data))):])
	if a.Flip && n > 0 {
		p[n/2] ^= 0x10
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Write writes where the last Read or Write ended.
func (f *crashFile) Write(p []byte) (int, error) {
	n, err := f.WriteAt(p, f.pos)
	f.pos += int64(n)
	return n, err
}

// WriteAt writes at an offset. When the plan lets it fail, part of the bytes may arrive.
func (f *crashFile) WriteAt(p []byte, off int64) (n int, err error) {
	err = f.c.do(OpWrite, f.name, func(a Action) error {
		if !f.write || f.n.isDir() {
			return errMode
		}
		n = len(p)
		if a.Err != nil {
			n = min(a.Part, n)
		}
		ch := change{at: off, bytes: p[:n]}
		if !f.c.plain {
			ch.bytes = slices.Clone(ch.bytes)
		}
		f.c.change(f.n, ch)
		return a.Err
	})
	return n, err
}

// Sync makes the file's bytes, or the folder's names, durable. When it fails the bytes never will be.
func (f *crashFile) Sync() error {
	if f.n.isDir() {
		return f.c.do(OpSyncDir, f.name, func(Action) error {
			for _, e := range f.n.edits {
				e.apply(f.n.durable)
			}
			f.n.edits = nil
			return nil
		})
	}
	return f.c.do(OpSync, f.name, func(a Action) error {
		for _, ch := range f.n.changes {
			if a.Err == nil {
				f.n.disk = ch.apply(f.n.disk)
			}
		}
		f.n.changes = nil
		return a.Err
	})
}

// SyncData is Sync.
func (f *crashFile) SyncData() error { return f.Sync() }

// SyncTo promises nothing, as it may.
func (f *crashFile) SyncTo(int64) (fullSync bool, err error) { return false, nil }

// Preallocate and Prefetch do nothing, as they may.
func (f *crashFile) Preallocate(int64, int64) error { return nil }
func (f *crashFile) Prefetch(int64, int64) error    { return nil }

// Fd says that there is no descriptor.
func (f *crashFile) Fd() uintptr { return vfs.InvalidFd }

// Stat describes the file.
func (f *crashFile) Stat() (info vfs.FileInfo, err error) {
	err = f.c.do(OpList, f.name, func(Action) error {
		info = f.n.info(f.name)
		return nil
	})
	return info, err
}

// crashInfo describes a file of a CrashFS.
type crashInfo struct {
	name string
	size int64
	mod  time.Time
	dir  bool
}

func (n *inode) info(name string) vfs.FileInfo {
	return crashInfo{path.Base(name), int64(len(n.data)), n.mod, n.isDir()}
}

func (i crashInfo) Name() string           { return i.name }
func (i crashInfo) Size() int64            { return i.size }
func (i crashInfo) ModTime() time.Time     { return i.mod }
func (i crashInfo) IsDir() bool            { return i.dir }
func (i crashInfo) Sys() any               { return nil }
func (i crashInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }
func (i crashInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

var _ File = (*crashFile)(nil)
