package jobdir

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockOffset lies far behind the content: locked bytes cannot be read, and the process id should be.
const lockOffset = 1 << 30

// tryLock locks one byte of the open file; the system drops the lock with the process.
func tryLock(f *os.File) error {
	at := windows.Overlapped{Offset: lockOffset}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if err == windows.ERROR_LOCK_VIOLATION {
		return errLocked
	}
	return err
}
