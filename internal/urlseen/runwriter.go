package urlseen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"decorum/internal/store"
)

// A run file holds a sorted set of keys. Integers are little-endian unless noted; uv is an unsigned varint.
//
//	file      = magic block* footer trailer
//	magic     = "DSEENRUN"
//	block     = group+ crc32c            at most blockSize bytes; keys of one partition
//	group     = host (8, big-endian) uv(count) count * url (8, big-endian), ascending
//	footer    = uv(partitions) partition* uv(blocks) index*
//	partition = uv(number - previous number) uv(blocks) uv(keys)
//	index     = first host (8, big-endian) first url (8, big-endian) uv(length of the block with its crc)
//	trailer   = version (4) crc32c of footer (4) offset of footer (8) length of footer (8) keys (8) magic (8)
//
// Blocks follow each other in the order (partition, host, url), so a partition is one slice of the file and a slice of
// the index. A host of many URLs continues in the next block under its hash again.
//
// Hashes are written whole: sorted 64-bit hashes leave little to code. n URLs of a host lose log2(n!)/n
// bits each to their order, 2 bits of 64 at n = 10 and 8.5 at n = 1000, and fixed width lets a probe search
// a group without decoding it. Bytes per URL are 8.1 + 9/n for hosts of n URLs (TestBytesPerURL): 17.1 at 1,
// 9.0 at 10, 8.3 at 40, 8.1 beyond 1000.
const (
	runMagic    = "DSEENRUN"
	runVersion  = 1
	trailerSize = 4 + 4 + 8 + 8 + 8 + 8
	crcSize     = 4

	minBlock = 4 << 10 // one page: a probe of a large run reads this much
	maxBlock = 1 << 20 // larger blocks would make a probe cost more than the index saves

	// writeSize is the unit of writing and of read-ahead: large enough that the system call does not count.
	writeSize = 256 << 10

	// syncSize is how many bytes are written between syncs, so that the last one of a large merge does not
	// hold up the store's own syncs behind it.
	syncSize = 16 << 20
)

// runWriter writes a run file. Entries must come in order and without repetition.
type runWriter struct {
	fs        store.FS
	f         store.File
	path      string
	blockSize int
	filter    *filter // gets each entry; may be nil

	buf      []byte   // finished blocks not yet written
	block    []byte   // finished groups of the current block
	urls     []uint64 // current group
	last     entry    // last entry added; part is zero before the first
	written  int64
	unsynced int
	err      error

	run *run
}

// createRun begins a run file. filter, which may be nil, is filled on the way.
func createRun(fs store.FS, path string, blockSize int, f *filter) (*runWriter, error) {
	file, err := fs.Create(path, store.Category)
	if err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	w := &runWriter{fs: fs, f: file, path: path, blockSize: blockSize, filter: f, run: &run{}}
	w.buf = append(make([]byte, 0, writeSize+blockSize), runMagic...)
	return w, nil
}

func (w *runWriter) add(e entry) {
	if w.last.part != 0 && e.host == w.last.host && e.part == w.last.part {
		if w.size()+8 > w.blockSize {
			w.endBlock()
		}
	} else {
		w.endGroup()
		if e.part != w.last.part || w.size()+8 > w.blockSize {
			w.endBlock()
		}
		if e.part != w.last.part {
			w.run.parts = append(w.run.parts, partRange{part: e.part, first: len(w.run.index)})
		}
	}
	if len(w.block)+len(w.urls) == 0 {
		w.run.index = append(w.run.index, blockIndex{e.host, e.url, w.offset()})
	}
	w.urls = append(w.urls, e.url)
	w.last = e
	w.run.keys++
	w.run.parts[len(w.run.parts)-1].keys++
	if w.filter != nil {
		w.filter.add(e)
	}
}

func (w *runWriter) offset() int64 { return w.written + int64(len(w.buf)) }

// size is what the block would take if it ended now with the current group, whose header takes 11 at most.
func (w *runWriter) size() int { return len(w.block) + 11 + 8*len(w.urls) + crcSize }

func (w *runWriter) endGroup() {
	if len(w.urls) == 0 {
		return
	}
	w.block = binary.BigEndian.AppendUint64(w.block, w.last.host)
	w.block = binary.AppendUvarint(w.block, uint64(len(w.urls)))
	for _, u := range w.urls {
		w.block = binary.BigEndian.AppendUint64(w.block, u)
	}
	w.urls = w.urls[:0]
}

func (w *runWriter) endBlock() {
	w.endGroup()
	if len(w.block) == 0 {
		return
	}
	w.buf = append(w.buf, w.block...)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, checksum(w.block))
	w.block = w.block[:0]
	w.run.parts[len(w.run.parts)-1].end = len(w.run.index)
	if len(w.buf) >= writeSize {
		w.flush()
	}
}

// flush writes the buffer, which the file layer may overwrite meanwhile.
func (w *runWriter) flush() {
	if w.err != nil {
		w.buf = w.buf[:0]
		return
	}
	n, err := w.f.Write(w.buf)
	w.written += int64(n)
	w.unsynced += n
	if err == nil && w.unsynced >= syncSize {
		err, w.unsynced = w.f.Sync(), 0
	}
	w.buf, w.err = w.buf[:0], err
}

// finish writes the footer, syncs file and folder, and returns the run, open for reading.
func (w *runWriter) finish(number uint64) (*run, error) {
	w.endBlock()
	r := w.run
	r.end = w.offset()
	footer := r.appendFooter(nil)
	w.buf = append(w.buf, footer...)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, runVersion)
	w.buf = binary.LittleEndian.AppendUint32(w.buf, checksum(footer))
	w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(r.end))
	w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(len(footer)))
	w.buf = binary.LittleEndian.AppendUint64(w.buf, r.keys)
	w.buf = append(w.buf, runMagic...)
	w.flush()
	r.number, r.path, r.bytes = number, w.path, w.written
	if w.err == nil {
		w.err = w.f.Sync()
	}
	if err := errors.Join(w.err, w.f.Close(), syncDir(w.fs, w.fs.PathDir(w.path))); err != nil {
		return nil, fmt.Errorf("write run %s: %w", w.path, err)
	}
	var err error
	if r.f, err = w.fs.Open(w.path); err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	r.filter.Store(w.filter)
	return r, nil
}

// abort closes and removes an unfinished file. What cannot be removed is removed by the next Open.
func (w *runWriter) abort() {
	_ = w.f.Close()
	_ = w.fs.Remove(w.path)
}

// appendFooter encodes partitions and index.
func (r *run) appendFooter(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(r.parts)))
	last := uint16(0)
	for _, p := range r.parts {
		dst = binary.AppendUvarint(dst, uint64(p.part-last))
		dst = binary.AppendUvarint(dst, uint64(p.end-p.first))
		dst = binary.AppendUvarint(dst, p.keys)
		last = p.part
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.index)))
	for i, b := range r.index {
		dst = binary.BigEndian.AppendUint64(dst, b.host)
		dst = binary.BigEndian.AppendUint64(dst, b.url)
		dst = binary.AppendUvarint(dst, uint64(r.blockEnd(i)-b.offset))
	}
	return dst
}

func syncDir(fs store.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// castagnoli is CRC-32C (RFC 3720), which processors compute; it never changes.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)
