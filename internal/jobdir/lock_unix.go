//go:build unix

package jobdir

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes flock(2) on the open file. The kernel drops it when the last descriptor closes, so a
// process that was killed leaves no lock behind.
func tryLock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return errLocked
		default:
			return err
		}
	}
}
