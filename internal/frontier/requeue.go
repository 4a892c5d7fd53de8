package frontier

import (
	"errors"
	"fmt"

	"decorum/internal/store"
)

// Requeue makes pages that were concluded wait once more, in a batch: it takes back that they were counted and puts them
// into the front queues. The frontier must not be open. Of the options only DB, Hasher, Partitions, PoliteKey
// and Prioritize matter.
func Requeue(o Options, b *store.Batch, pages []Item) error {
	if len(pages) == 0 {
		return nil
	}
	var err error
	if o.Fronts, err = storedFronts(o.DB); err != nil {
		return err
	}
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return err
	}
	st := newStep(&o)
	if _, err := st.loadCounts(); err != nil {
		return err
	}
	hosts := map[string]*record{}
	for i := range pages {
		it := &pages[i]
		key := o.PoliteKey(it.URL)
		part := st.partition(it, key)
		if err := uncount(o.DB, hosts, part, key); err != nil {
			return err
		}
		st.concluded -= min(st.concluded, 1)
		st.front.add(b, part, st.levelOf(it), it)
	}
	st.front.endAdd(b)
	st.saveCounts(b)
	for _, it := range pages {
		key := o.PoliteKey(it.URL)
		if r := hosts[key]; r != nil {
			b.Set(hostKey(st.partition(&it, key), key), r.append(nil))
			delete(hosts, key)
		}
	}
	return nil
}

// uncount takes a page back from the record of its host, if that has one. Records are read once.
func uncount(db *store.DB, hosts map[string]*record, part store.Partition, key string) error {
	r, read := hosts[key]
	if !read {
		data, ok, err := db.Get(hostKey(part, key))
		if err != nil {
			return err
		}
		if ok {
			known, err := decodeRecord(data)
			if err != nil {
				return fmt.Errorf("frontier: host %q: %w", key, err)
			}
			r = &known
		}
		hosts[key] = r
	}
	if r != nil {
		r.pages -= min(r.pages, 1)
	}
	return nil
}

// storedFronts returns the number of front queues of a crawl.
func storedFronts(db *store.DB) (int, error) {
	v, ok, err := db.Get(countsKey())
	if err != nil {
		return 0, err
	}
	d := decoder{b: v}
	version, levels := d.byte(), d.uvarint(maxFronts)
	if !ok || d.bad || version != countsVersion || levels == 0 {
		return 0, errors.Join(errCounts, errors.New("frontier: no queues in the store"))
	}
	return int(levels), nil
}
