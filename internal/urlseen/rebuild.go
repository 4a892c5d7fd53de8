package urlseen

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"decorum/internal/store"
)

// rebuildStep is how many keys Rebuild records at once.
const rebuildStep = 50_000

// Rebuild makes the sieve anew from all URLs known, which each calls yield for: after its runs were damaged. What was there
// is removed first, so after an error it must be called again.
func Rebuild(o Options, each func(yield func(Key) error) error) (known uint64, err error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return 0, err
	}
	if err := remove(&o); err != nil {
		return 0, fmt.Errorf("rebuild seen-set %s: %w", o.Dir, err)
	}
	s, err := Open(o)
	if err != nil {
		return 0, err
	}
	keys := make([]Key, 0, rebuildStep)
	flush := func() error {
		b := o.DB.NewBatch()
		defer b.Discard()
		if _, err := s.Step(b, keys); err != nil {
			return err
		}
		if err := b.Commit(true); err != nil {
			return err
		}
		keys = keys[:0]
		return s.Applied()
	}
	err = each(func(k Key) error {
		if keys = append(keys, k); len(keys) < rebuildStep {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	known = s.Known()
	return known, errors.Join(err, s.Close())
}

// remove removes a sieve.
func remove(o *Options) error {
	b := o.DB.NewBatch()
	b.Delete(manifestKey())
	for p := range store.Partition(o.Partitions) {
		b.DeleteRange(store.Range{Partition: p, Space: store.Seen})
	}
	if err := b.Commit(true); err != nil {
		return err
	}
	names, err := o.FS.List(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, runSuffix) {
			if err := o.FS.Remove(o.FS.PathJoin(o.Dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}
