package store

import (
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Syncing returns a file layer that differs in how it syncs files and folders: sync is called with the sync that the
// layer beneath would do. It stands in for a slow disk, or for one that needs no sync.
func Syncing(fs FS, sync func(beneath func() error) error) FS { return &syncingFS{fs, sync} }

type syncingFS struct {
	FS
	sync func(func() error) error
}

type syncingFile struct {
	File
	fs *syncingFS
}

func (s *syncingFS) file(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return syncingFile{f, s}, nil
}

func (s *syncingFS) Create(name string, c vfs.DiskWriteCategory) (File, error) {
	return s.file(s.FS.Create(name, c))
}

func (s *syncingFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (File, error) {
	return s.file(s.FS.OpenReadWrite(name, c, o...))
}

func (s *syncingFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (File, error) {
	return s.file(s.FS.ReuseForWrite(from, to, c))
}

func (s *syncingFS) OpenDir(name string) (File, error) { return s.file(s.FS.OpenDir(name)) }

// Truncate cuts a file.
func (s *syncingFS) Truncate(name string, size int64) error {
	if s.FS == vfs.Default {
		return os.Truncate(name, size)
	}
	return Plain(s.FS).Truncate(name, size)
}

// Unwrap returns the layer beneath.
func (s *syncingFS) Unwrap() FS { return s.FS }

func (f syncingFile) Sync() error     { return f.fs.sync(f.File.Sync) }
func (f syncingFile) SyncData() error { return f.fs.sync(f.File.SyncData) }
func (f syncingFile) SyncTo(n int64) (full bool, err error) {
	err = f.fs.sync(func() error { full, err = f.File.SyncTo(n); return err })
	return full, err
}
