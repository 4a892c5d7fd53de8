//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package fetch

import "syscall"

// socketQuiet cannot tell on this system.
func socketQuiet(syscall.Conn) (quiet, known bool) { return false, false }
