//go:build !unix

package web

import "time"

// cpuTime is unknown here.
func cpuTime() time.Duration { return 0 }

// inUse takes any failure to open an address for one that the next port may not have.
func inUse(error) bool { return true }
