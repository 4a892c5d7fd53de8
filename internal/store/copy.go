package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// LinkOrCopy gives a file that is never written again a second name, or makes a copy of it where the file system
// cannot link. to must not exist.
func LinkOrCopy(fs FS, from, to string) error {
	if err := vfs.LinkOrCopy(fs, from, to); err != nil {
		return fmt.Errorf("link %s: %w", from, err)
	}
	return nil
}

const (
	// copyBuffer is read and written at a time.
	copyBuffer = 256 << 10
	// copyPerSync is how much of a copy waits for the disk at most, so that other syncs need not wait for all of it.
	copyPerSync = 1 << 20
)

// CopyPrefix copies the first size bytes of a file, which may grow meanwhile, durably but for the name of the copy. It
// fails with io.ErrUnexpectedEOF when the file is shorter.
func CopyPrefix(ctx context.Context, fs FS, from, to string, size int64) error {
	if err := copyPrefix(ctx, fs, from, to, size); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

func copyPrefix(ctx context.Context, fs FS, from, to string, size int64) error {
	in, err := fs.Open(from, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := fs.Create(to, Category)
	if err != nil {
		return err
	}
	out = vfs.NewSyncingFile(out, vfs.SyncingFileOptions{BytesPerSync: copyPerSync})
	for buf := make([]byte, min(copyBuffer, size)); size > 0 && err == nil; size -= int64(len(buf)) {
		buf = buf[:min(int64(len(buf)), size)]
		if _, err = io.ReadFull(in, buf); err == nil {
			_, err = out.Write(buf)
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		err = errors.Join(err, ctx.Err())
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// SyncDir makes the names in a folder durable.
func SyncDir(fs FS, name string) error { return Plain(fs).SyncDir(name) }
