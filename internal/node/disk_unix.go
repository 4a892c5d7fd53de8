//go:build unix

package node

import "golang.org/x/sys/unix"

// freeDisk returns the bytes that a user may still write where dir is.
func freeDisk(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
