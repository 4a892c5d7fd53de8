package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"decorum/internal/jobdir"
	"decorum/internal/store"
	"decorum/internal/urlseen"
	"decorum/internal/warc"
)

// DiskError is trouble with the disk or with what is on it. It damages nothing: whatever was committed stays, and once the
// trouble is over the same command goes on from there.
type DiskError struct {
	Err    error  // names the file
	Remedy string // what a person can do
}

func (e *DiskError) Error() string { return fmt.Sprintf("%v; %s", e.Err, e.Remedy) }

// Unwrap returns the cause.
func (e *DiskError) Unwrap() error { return e.Err }

// diskTrouble makes a DiskError of an error that is one, and leaves others as they are.
func diskTrouble(err error, dir string) error {
	var disk *DiskError
	if err == nil || errors.As(err, &disk) {
		return err
	}
	if r := remedy(err, dir); r != "" {
		return &DiskError{err, r}
	}
	return err
}

// remedy says what to do about disk trouble; "" means that it is none.
func remedy(err error, dir string) string {
	is := func(causes ...error) bool {
		for _, c := range causes {
			if errors.Is(err, c) {
				return true
			}
		}
		return false
	}
	switch {
	case is(jobdir.ErrInUse, jobdir.ErrNotCrawl, jobdir.ErrNewer, jobdir.ErrNoCrawl, store.ErrNewer, syscall.ENOTDIR):
		return "" // the wrong folder, but a sound one
	case is(syscall.ENOSPC, syscall.EDQUOT):
		return "make room, then run the same command"
	case is(syscall.EMFILE, syscall.ENFILE):
		return "allow more open files (ulimit -n), then run the same command"
	case is(syscall.EACCES, syscall.EPERM, syscall.EROFS):
		return "let this user write there, then run the same command"
	case is(store.ErrCorrupt, urlseen.ErrCorrupt, jobdir.ErrShort, jobdir.ErrAltered, warc.ErrShort):
		return fmt.Sprintf("`decorum check %s` names all that is damaged; a checkpoint may go on in its place", dir)
	case is(syscall.EIO):
		return "see what the system's log says about the disk, then run the same command"
	}
	var path *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	if errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &call) || is(jobdir.ErrPoisoned, warc.ErrPoisoned) {
		return "mend that, then run the same command"
	}
	return ""
}
