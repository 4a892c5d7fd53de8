package store

import "github.com/cockroachdb/pebble/v2/vfs"

// FS is the file layer beneath the state: the operating system, memory, or a layer that injects faults.
// Everything that must survive a crash together goes through one FS.
type FS = vfs.FS

// File is an open file of an FS.
type File = vfs.File

// Category labels writes in the engine's statistics.
const Category = vfs.WriteCategoryUnspecified

// OS returns the operating system's file layer.
func OS() FS { return vfs.Default }

// Memory returns an empty file layer in memory that loses nothing.
func Memory() FS {
	c := NewCrashFS()
	c.plain = true
	return c
}
