package store

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// The engine cannot tell a wrong bit in the last record of its manifest from a record that power cut short, and drops
// it. In the second case nobody relied on the record. In the first it named the tables that took the place of logs and
// other tables removed since, and the store would open with a hole in its history. So beside each manifest lies a file that says how
// many bytes of it were synced and what their checksum is, and the manifest is read through a check of that.
//
// MANIFEST-n.sum has two slots of 16 bytes, at 0 and at 512, written in turns so that one is always whole, little-endian:
//
//	bytes synced (8) CRC-32C of them (4) CRC-32C of these twelve bytes (4)
//
// A manifest without it (of a checkpoint) is not checked. One that has it was synced before the engine relied on it, so that a slot
// must be whole.
const (
	manifestPrefix = "MANIFEST-"
	sumSuffix      = ".sum"
	slotSize       = 16
	slotGap        = sector
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// isManifest tells a manifest by its name.
func (g *guard) isManifest(name string) bool {
	base := g.PathBase(name)
	return strings.HasPrefix(base, manifestPrefix) && !strings.HasSuffix(base, sumSuffix) && g.ours(name)
}

// manifestFile is a manifest being written.
type manifestFile struct {
	File
	sum  File
	end  int64
	crc  uint32
	slot int64
}

// createManifest makes a manifest and its sum. Both names become durable with the sync of the folder before the marker
// names the manifest.
func (g *guard) createManifest(name string, c vfs.DiskWriteCategory) (File, error) {
	empty, err := g.FS.Create(name+sumSuffix, c)
	if err != nil {
		return nil, err
	}
	if err := empty.Close(); err != nil {
		return nil, err
	}
	sum, err := g.FS.OpenReadWrite(name+sumSuffix, c)
	if err != nil {
		return nil, err
	}
	f, err := g.FS.Create(name, c)
	if err != nil {
		return nil, errors.Join(err, sum.Close())
	}
	return &manifestFile{File: f, sum: sum}, nil
}

func (f *manifestFile) Write(p []byte) (int, error) {
	crc := crc32.Update(f.crc, castagnoli, p) // first: a file may change p
	n, err := f.File.Write(p)
	if n == len(p) {
		f.end, f.crc = f.end+int64(n), crc
	}
	return n, err
}

// Sync returns when the sum is durable as well: only then the engine removes what the manifest no longer names.
func (f *manifestFile) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	slot := binary.LittleEndian.AppendUint64(make([]byte, 0, slotSize), uint64(f.end))
	slot = binary.LittleEndian.AppendUint32(slot, f.crc)
	slot = binary.LittleEndian.AppendUint32(slot, crc32.Checksum(slot, castagnoli))
	if _, err := f.sum.WriteAt(slot, f.slot*slotGap); err != nil {
		return err
	}
	f.slot ^= 1
	return f.sum.Sync()
}

func (f *manifestFile) SyncData() error { return f.Sync() }

func (f *manifestFile) Close() error { return errors.Join(f.File.Close(), f.sum.Close()) }

// Open checks a manifest and hands out what was checked.
func (g *guard) Open(name string, opts ...vfs.OpenOption) (File, error) {
	if !g.isManifest(name) {
		return g.FS.Open(name, opts...)
	}
	sums, err := g.read(name + sumSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return g.FS.Open(name, opts...)
	}
	if err != nil {
		return nil, err
	}
	text, err := g.read(name)
	if err != nil {
		return nil, err
	}
	end, crc := latestSlot(sums)
	if end == 0 || end > uint64(len(text)) || crc32.Checksum(text[:end], castagnoli) != crc {
		return nil, g.fail(&damaged{name, errors.New("checksum")})
	}
	return vfs.NewMemFile(text), nil
}

func (g *guard) read(name string) ([]byte, error) {
	f, err := g.FS.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

// latestSlot returns what the whole slot of the two says that was written last; 0 bytes when neither is.
func latestSlot(b []byte) (end uint64, crc uint32) {
	for at := 0; at+slotSize <= len(b); at += slotGap {
		slot := b[at : at+slotSize]
		n := binary.LittleEndian.Uint64(slot)
		if crc32.Checksum(slot[:12], castagnoli) == binary.LittleEndian.Uint32(slot[12:]) && n >= end {
			end, crc = n, binary.LittleEndian.Uint32(slot[8:])
		}
	}
	return end, crc
}
