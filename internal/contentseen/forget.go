package contentseen

import (
	"errors"
	"fmt"

	"decorum/internal/store"
)

// Forget removes, in a batch, the first pages for which gone returns true, and returns how many: their bodies can no longer be
// referred to, so the next page with the same body becomes the first. The set must not be open.
func Forget(db *store.DB, partitions int, b *store.Batch, gone func(Ref) bool) (n int, err error) {
	for p := range store.Partition(partitions) {
		var bad error
		err := db.Scan(store.Range{Partition: p, Space: store.Content}, func(id, value []byte) bool {
			ref, err := parseRef(value)
			if err != nil {
				bad = fmt.Errorf("content %x: %w", id, err)
				return false
			}
			if gone(ref) {
				b.Delete(store.Key{Partition: p, Space: store.Content, ID: id})
				n++
			}
			return true
		})
		if err = errors.Join(err, bad); err != nil {
			return n, err
		}
	}
	return n, nil
}
