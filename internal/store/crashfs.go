package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// CrashFS is a file layer in memory that loses what a disk may lose. It keeps apart what a program sees and
// what is durable: bytes are durable when their file was synced, a name when its folder was. A Plan looks at each
// operation before it happens and may let it fail or cut the power there; Image then returns a disk as the loss of power may
// have left it.
//
// The model is as unkind as POSIX allows. Of the writes since a file's last sync any may have reached the disk, in
// any order, torn at any sector, with zeros or stale bytes in the gaps. Of the changes of names in a folder any may have
// happened, but for one order: what happened to one name happened in that order, and a rename is whole. A folder that
// was made is a name in its parent, which must be synced as well. After a failed sync of a file the bytes stay visible and are
// never durable, however often it is repeated, as on Linux. Names are kept in a journal: another sync of the folder may succeed.
//
// It is safe for concurrent use. Not simulated: permissions, times, renames between folders, preallocation.
type CrashFS struct {
	mu     sync.Mutex
	root   *inode
	locked map[string]bool
	plan   Plan
	n      int
	dead   bool
	plain  bool // nothing is ever lost: no need to remember what is durable
}

// NewCrashFS returns an empty disk.
func NewCrashFS() *CrashFS { return &CrashFS{root: newFolder(), locked: map[string]bool{}} }

// ErrCrashed is the cause of every error after the loss of power.
var ErrCrashed = errors.New("the power is gone")

// OpKind is what an operation does.
type OpKind uint8

// The kinds. Those up to LastChange change what is on disk or make it durable, and are numbered.
const (
	OpCreate OpKind = iota
	OpWrite
	OpSync
	OpRename
	OpLink
	OpTruncate
	OpRemove
	OpMkdir
	OpSyncDir
	OpOpen
	OpRead
	OpList

	LastChange = OpSyncDir
)

var opNames = [...]string{"create", "write", "sync", "rename", "link", "truncate", "remove", "mkdir", "syncdir", "open", "read", "list"}

func (k OpKind) String() string { return opNames[k] }

// Op is an operation about to happen.
type Op struct {
	N    int // number among the operations that change something, from 1; of others, of the last one
	Kind OpKind
	Name string // of the file or folder
}

func (o Op) String() string { return fmt.Sprintf("%d %v %s", o.N, o.Kind, o.Name) }

// Action is what becomes of an operation. The zero Action lets it happen.
type Action struct {
	Err    error // it fails with this
	Part   int   // of a write that fails: how many bytes arrive all the same
	Before bool  // the power goes before it
	After  bool  // the power goes when it is done, before anybody learns of it
	Flip   bool  // of a read: one bit of what is read is wrong
}

// Plan decides on operations, one at a time and in order. It must not use the CrashFS.
type Plan func(Op) Action

// Follow makes the plan decide on all operations from now on; nil lets everything happen.
func (c *CrashFS) Follow(p Plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan = p
}

// Ops returns how many operations changed something or made it durable.
func (c *CrashFS) Ops() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Cut ends the power now.
func (c *CrashFS) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
}

// do runs an operation under the plan.
func (c *CrashFS) do(kind OpKind, name string, f func(Action) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, err := c.admit(kind, name)
	if err == nil {
		err = f(a)
	}
	if err == nil && a.After {
		c.dead = true
		err = ErrCrashed
	}
	if err == nil || err == io.EOF {
		return err
	}
	return &fs.PathError{Op: kind.String(), Path: name, Err: err}
}

// admit asks the plan. Writes and syncs see to their own failure, since it leaves something behind.
func (c *CrashFS) admit(kind OpKind, name string) (a Action, err error) {
	if c.dead {
		return a, ErrCrashed
	}
	if kind <= LastChange {
		c.n++
	}
	if c.plan != nil {
		a = c.plan(Op{c.n, kind, name})
	}
	if a.Before {
		c.dead = true
		return a, ErrCrashed
	}
	if kind != OpWrite && kind != OpSync {
		err = a.Err
	}
	return a, err
}

// edit changes names of a folder.
func (c *CrashFS) edit(dir *inode, e edit) {
	e.apply(dir.names)
	if !c.plain {
		dir.edits = append(dir.edits, e)
	}
}

// parts takes a path apart: the engine writes it with slashes, other packages as the system does.
func parts(name string) []string {
	list := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == filepath.Separator })
	return slices.DeleteFunc(list, func(s string) bool { return s == "." })
}

// find returns the file or folder of a name, or nil.
func (c *CrashFS) find(name string) *inode {
	n := c.root
	for _, part := range parts(name) {
		if n = n.names[part]; n == nil {
			return nil
		}
	}
	return n
}

// parent returns the folder that a name is in.
func (c *CrashFS) parent(name string) (*inode, string, error) {
	dir := c.find(filepath.Dir(name))
	if dir == nil {
		return nil, "", fs.ErrNotExist
	}
	if !dir.isDir() {
		return nil, "", syscall.ENOTDIR
	}
	return dir, filepath.Base(name), nil
}

func (c *CrashFS) get(name string) (*inode, error) {
	if n := c.find(name); n != nil {
		return n, nil
	}
	return nil, fs.ErrNotExist
}

// Create makes a new file, in place of an older one of that name.
func (c *CrashFS) Create(name string, _ vfs.DiskWriteCategory) (File, error) {
	f := &crashFile{c: c, name: name, read: true, write: true}
	err := c.do(OpCreate, name, func(Action) error {
		dir, base, err := c.parent(name)
		if err != nil {
			return err
		}
		if old := dir.names[base]; old != nil && old.isDir() {
			return syscall.EISDIR
		}
		f.n = &inode{mod: time.Now()}
		c.edit(dir, edit{{base, f.n}})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Open opens a file for reading.
func (c *CrashFS) Open(name string, opts ...vfs.OpenOption) (File, error) {
	f, err := c.open(name)
	if err != nil {
		return nil, err
	}
	for _, o := range opts {
		o.Apply(f)
	}
	return f, nil
}

func (c *CrashFS) open(name string) (*crashFile, error) {
	f := &crashFile{c: c, name: name, read: true}
	return f, c.do(OpOpen, name, func(Action) (err error) {
		f.n, err = c.get(name)
		return err
	})
}

// OpenReadWrite opens a file, and makes it when there is none.
func (c *CrashFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, _ ...vfs.OpenOption) (File, error) {
	f, err := c.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return c.Create(name, category)
	}
	if err != nil {
		return nil, err
	}
	f.write = true
	return f, nil
}

// OpenDir opens a folder to sync it.
func (c *CrashFS) OpenDir(name string) (File, error) { return c.Open(name) }

// Link gives a file another name.
func (c *CrashFS) Link(from, to string) error {
	return c.do(OpLink, to, func(Action) error {
		n, err := c.get(from)
		if err != nil {
			return err
		}
		dir, base, err := c.parent(to)
		if err == nil && dir.names[base] != nil {
			err = fs.ErrExist
		}
		if err == nil {
			c.edit(dir, edit{{base, n}})
		}
		return err
	})
}

// Remove removes a file or an empty folder.
func (c *CrashFS) Remove(name string) error {
	return c.do(OpRemove, name, func(Action) error {
		n, err := c.get(name)
		if err != nil {
			return err
		}
		if len(n.names) > 0 {
			return syscall.ENOTEMPTY
		}
		return c.unlink(name)
	})
}

// RemoveAll removes a file or a folder with all that is in it.
func (c *CrashFS) RemoveAll(name string) error {
	return c.do(OpRemove, name, func(Action) error {
		if c.find(name) == nil {
			return nil
		}
		return c.unlink(name)
	})
}

func (c *CrashFS) unlink(name string) error {
	dir, base, err := c.parent(name)
	if err == nil {
		c.edit(dir, edit{{base, nil}})
	}
	return err
}

// Rename renames a file within its folder, over another if there is one.
func (c *CrashFS) Rename(from, to string) error {
	return c.do(OpRename, to, func(Action) error {
		n, err := c.get(from)
		if err != nil {
			return err
		}
		if filepath.Dir(from) != filepath.Dir(to) {
			return fmt.Errorf("%s is in another folder: %w", from, errors.ErrUnsupported)
		}
		dir, base, err := c.parent(to)
		if err == nil {
			c.edit(dir, edit{{filepath.Base(from), nil}, {base, n}})
		}
		return err
	})
}

// ReuseForWrite renames a file and opens it for writing over what it holds.
func (c *CrashFS) ReuseForWrite(from, to string, _ vfs.DiskWriteCategory) (File, error) {
	if err := c.Rename(from, to); err != nil {
		return nil, err
	}
	f, err := c.open(to)
	if err != nil {
		return nil, err
	}
	f.write = true
	return f, nil
}

// MkdirAll makes a folder and those above it.
func (c *CrashFS) MkdirAll(name string, _ fs.FileMode) error {
	return c.do(OpMkdir, name, func(Action) error {
		n := c.root
		for _, part := range parts(name) {
			if n.names[part] == nil {
				c.edit(n, edit{{part, newFolder()}})
			}
			if n = n.names[part]; !n.isDir() {
				return syscall.ENOTDIR
			}
		}
		return nil
	})
}

// Truncate cuts a file.
func (c *CrashFS) Truncate(name string, size int64) error {
	return c.do(OpTruncate, name, func(Action) error {
		n, err := c.get(name)
		if err == nil {
			c.change(n, change{at: size, cut: true})
		}
		return err
	})
}

func (c *CrashFS) change(n *inode, ch change) {
	n.data, n.mod = ch.apply(n.data), time.Now()
	if !c.plain {
		n.changes = append(n.changes, ch)
	}
}

// Lock locks a name for this process's life, as long as it does not crash.
func (c *CrashFS) Lock(name string) (io.Closer, error) {
	err := c.do(OpCreate, name, func(Action) error {
		if c.locked[name] {
			return syscall.EAGAIN
		}
		dir, base, err := c.parent(name)
		if err != nil {
			return err
		}
		if dir.names[base] == nil {
			c.edit(dir, edit{{base, &inode{mod: time.Now()}}})
		}
		c.locked[name] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	return crashLock{c, name}, nil
}

type crashLock struct {
	c    *CrashFS
	name string
}

func (l crashLock) Close() error {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	delete(l.c.locked, l.name)
	return nil
}

// List returns the names in a folder, in order.
func (c *CrashFS) List(name string) (names []string, err error) {
	err = c.do(OpList, name, func(Action) error {
		dir, err := c.get(name)
		if err != nil {
			return err
		}
		if !dir.isDir() {
			return syscall.ENOTDIR
		}
		for name := range dir.names {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil
	})
	return names, err
}

// Stat describes a file or folder.
func (c *CrashFS) Stat(name string) (info vfs.FileInfo, err error) {
	err = c.do(OpList, name, func(Action) error {
		n, err := c.get(name)
		if err == nil {
			info = n.info(name)
		}
		return err
	})
	return info, err
}

// PathBase, PathJoin and PathDir take paths apart as package path does.
func (c *CrashFS) PathBase(name string) string     { return path.Base(name) }
func (c *CrashFS) PathJoin(parts ...string) string { return path.Join(parts...) }
func (c *CrashFS) PathDir(name string) string      { return path.Dir(name) }

// GetDiskUsage is not simulated.
func (c *CrashFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{}, vfs.ErrUnsupported
}

// Unwrap returns nil: there is no layer beneath.
func (c *CrashFS) Unwrap() FS { return nil }

var _ FS = (*CrashFS)(nil)
