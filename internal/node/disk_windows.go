package node

import "golang.org/x/sys/windows"

// freeDisk returns the bytes that a user may still write where dir is.
func freeDisk(dir string) (uint64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	return free, windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
}
