package jobdir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
)

// locker is what an FS implements that has locks of its own.
type locker interface {
	Lock(name string) (io.Closer, error)
}

// errLocked is what tryLock returns when another open file holds the lock.
var errLocked = errors.New("locked")

// lockFile takes the lock of a folder, or fails with an InUseError.
func lockFile(fsys FS, name string) (io.Closer, error) {
	if l, ok := fsys.(locker); ok {
		lock, err := l.Lock(name)
		if errors.Is(err, syscall.EAGAIN) {
			err = &InUseError{}
		}
		return lock, err
	}
	if _, ok := fsys.(osFS); !ok {
		return io.NopCloser(nil), nil // a file layer of one process: nobody to lock out
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		held := &InUseError{PID: readPID(f)}
		f.Close()
		if errors.Is(err, errLocked) {
			return nil, held
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if err := writePID(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &heldLock{f}, nil
}

// heldLock is a lock of the operating system. The file stays: removing it would let two processes hold
// locks on two files of the same name.
type heldLock struct{ f *os.File }

func (l *heldLock) Close() error {
	return errors.Join(l.f.Truncate(0), l.f.Close())
}

// maxPID is the most that is read of a lock file.
const maxPID = 20

func readPID(f *os.File) int {
	b := make([]byte, maxPID)
	n, _ := f.ReadAt(b, 0)
	pid, _ := strconv.Atoi(string(bytes.TrimSpace(b[:n])))
	return pid
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
