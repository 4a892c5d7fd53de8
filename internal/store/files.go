package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// PlainFile is an open file as packages beside the store declare it.
type PlainFile = interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	Sync() error
}

// PlainFS presents a file layer in the form that warc and jobdir declare, so that one FS carries everything that
// must survive a crash together.
type PlainFS struct{ fs FS }

// Plain returns the plain form of a file layer.
func Plain(fs FS) *PlainFS { return &PlainFS{fs} }

// OpenFile opens a file for reading, or for writing at its end. O_TRUNC puts a new file in the place of an old one.
func (p *PlainFS) OpenFile(name string, flag int, _ fs.FileMode) (PlainFile, error) {
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return p.fs.Open(name)
	}
	if flag&os.O_TRUNC != 0 {
		return p.fs.Create(name, Category)
	}
	_, err := p.fs.Stat(name)
	switch {
	case err == nil && flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
	case err != nil:
		return nil, err
	}
	f, err := p.fs.OpenReadWrite(name, Category)
	if err != nil {
		return nil, err
	}
	return appender{f}, nil
}

// appender writes at the end of its file, wherever that is at the time.
type appender struct{ File }

func (a appender) Write(b []byte) (int, error) {
	info, err := a.Stat()
	if err != nil {
		return 0, err
	}
	return a.WriteAt(b, info.Size())
}

func (p *PlainFS) MkdirAll(name string, perm fs.FileMode) error { return p.fs.MkdirAll(name, perm) }
func (p *PlainFS) Rename(from, to string) error                 { return p.fs.Rename(from, to) }
func (p *PlainFS) Remove(name string) error                     { return p.fs.Remove(name) }
func (p *PlainFS) Lock(name string) (io.Closer, error)          { return p.fs.Lock(name) }
func (p *PlainFS) Stat(name string) (fs.FileInfo, error)        { return p.fs.Stat(name) }

// Truncate cuts a file, if the file layer can.
func (p *PlainFS) Truncate(name string, size int64) error {
	if t, ok := p.fs.(interface{ Truncate(string, int64) error }); ok {
		return t.Truncate(name, size)
	}
	if p.fs == vfs.Default {
		return os.Truncate(name, size)
	}
	return fmt.Errorf("truncate %s: the file layer cannot: %w", name, errors.ErrUnsupported)
}

// ReadDir lists a folder.
func (p *PlainFS) ReadDir(name string) ([]fs.DirEntry, error) {
	names, err := p.fs.List(name)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, 0, len(names))
	for _, base := range names {
		info, err := p.fs.Stat(p.fs.PathJoin(name, base))
		if err != nil {
			return nil, err
		}
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	return entries, nil
}

// SyncDir makes the names in a folder durable.
func (p *PlainFS) SyncDir(name string) error {
	d, err := p.fs.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
