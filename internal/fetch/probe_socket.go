//go:build linux || darwin || freebsd || netbsd || openbsd

package fetch

import "syscall"

// socketQuiet reports whether a socket is open with nothing to read; known is false when it cannot tell.
func socketQuiet(sc syscall.Conn) (quiet, known bool) {
	rc, err := sc.SyscallConn()
	if err != nil {
		return false, true
	}
	var b [1]byte
	var errno error
	err = rc.Read(func(fd uintptr) bool {
		_, _, errno = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK)
		return true
	})
	return err == nil && (errno == syscall.EAGAIN || errno == syscall.EINTR), true
}
