package urlseen

import (
	"encoding/binary"
	"fmt"

	"decorum/internal/store"
)

// The manifest is one value in the store, under Global/Seen/"manifest". All integers are unsigned varints:
//
//	version (1), partitions, seq, next, number of runs, then per run: file number, keys, bytes
//
// Chunks of recent keys lie beside it, under partition/Seen/seq (8 bytes, big-endian): fingerprints, 16 bytes each.
// Chunks below the manifest's seq are in runs and no longer in the store.
type manifest struct {
	partitions uint64
	seq        uint64 // first sequence number of chunks not in runs
	next       uint64 // next file number
	runs       []runInfo
}

type runInfo struct{ number, keys, bytes uint64 }

const manifestVersion = 1

// manifestKey is where the manifest is; it is longer than a chunk's key, and Global holds no chunks.
func manifestKey() store.Key {
	return store.Key{Partition: store.Global, Space: store.Seen, ID: []byte("manifest")}
}

func (m *manifest) append(dst []byte) []byte {
	for _, v := range []uint64{manifestVersion, m.partitions, m.seq, m.next, uint64(len(m.runs))} {
		dst = binary.AppendUvarint(dst, v)
	}
	for _, r := range m.runs {
		for _, v := range []uint64{r.number, r.keys, r.bytes} {
			dst = binary.AppendUvarint(dst, v)
		}
	}
	return dst
}

func parseManifest(b []byte) (*manifest, error) {
	p := parser{b: b}
	if v := p.uvarint(); !p.bad && v != manifestVersion {
		return nil, fmt.Errorf("%w: manifest version %d, this program knows %d", store.ErrNewer, v, manifestVersion)
	}
	m := &manifest{partitions: p.uvarint(), seq: p.uvarint(), next: p.uvarint()}
	for range p.count(3) {
		m.runs = append(m.runs, runInfo{p.uvarint(), p.uvarint(), p.uvarint()})
	}
	if p.bad || len(p.b) != 0 {
		return nil, fmt.Errorf("manifest: %w", ErrCorrupt)
	}
	return m, nil
}

// readManifest returns the manifest, or nil when the sieve is new.
func readManifest(db *store.DB) (*manifest, error) {
	v, ok, err := db.Get(manifestKey())
	if err != nil || !ok {
		return nil, err
	}
	return parseManifest(v)
}

// chunkKey is the key of a chunk of recent keys.
func chunkKey(p store.Partition, seq uint64) store.Key {
	return store.Key{Partition: p, Space: store.Seen, ID: binary.BigEndian.AppendUint64(nil, seq)}
}

// chunks is the range of a partition's chunks below seq.
func chunks(p store.Partition, seq uint64) store.Range {
	return store.Range{Partition: p, Space: store.Seen, Upper: binary.BigEndian.AppendUint64(nil, seq)}
}

// parseChunk calls add for each fingerprint of a chunk.
func parseChunk(p store.Partition, id, value []byte, add func(Key)) error {
	if len(id) != 8 || len(value)%16 != 0 {
		return fmt.Errorf("recent keys %x of partition %d: %w", id, p, ErrCorrupt)
	}
	for ; len(value) > 0; value = value[16:] {
		add(Key{Partition: p, FP: [16]byte(value)})
	}
	return nil
}
