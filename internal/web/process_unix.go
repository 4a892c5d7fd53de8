//go:build unix

package web

import (
	"errors"
	"syscall"
	"time"
)

// cpuTime returns the processor time this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// inUse reports whether an address could not be opened because another process has it.
func inUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
