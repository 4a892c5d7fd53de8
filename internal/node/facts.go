package node

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"decorum/internal/frontier"
	"decorum/internal/store"
)

// facts are what a crawl is from its creation on, and who started it.
type facts struct {
	Secret     [16]byte  `json:"secret"`     // of the fingerprints
	Partitions int       `json:"partitions"` // P, fixed for ever
	Created    time.Time `json:"created"`
	Runs       int       `json:"runs"`  // starts of the program
	Seeds      []string  `json:"seeds"` // of all runs; the number of a seed is its index
	Taken      int       `json:"taken"` // seeds that are in the intake or beyond
	WallMS     int64     `json:"wall_ms"`
	Strangers  []string  `json:"strangers,omitempty"` // hosts on public addresses, as many as a crawl without --contact may contact
}

var factsKey = store.Key{Partition: store.Global, Space: store.Meta, ID: []byte("crawl")}

// loadFacts reads the facts, or makes those of a new crawl.
func loadFacts(db *store.DB) (f facts, first bool, err error) {
	raw, ok, err := db.Get(factsKey)
	if err != nil {
		return f, false, err
	}
	if ok {
		if err := json.Unmarshal(raw, &f); err != nil {
			return f, false, fmt.Errorf("state: facts of the crawl: %w", err)
		}
		return f, false, nil
	}
	f = facts{Partitions: 64, Created: time.Now().UTC()}
	rand.Read(f.Secret[:]) // never fails
	return f, true, nil
}

func (f *facts) save(db *store.DB) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("state: facts of the crawl: %w", err)
	}
	b := db.NewBatch()
	b.Set(factsKey, raw)
	return b.Commit(true)
}

// seed takes the seeds that are not in yet into the intake.
func (n *Node) seed() error {
	var items []frontier.Item
	for i, s := range n.seeds() {
		if i < n.facts.Taken {
			continue
		}
		it := frontier.Item{URL: s.URL, FP: n.hasher.Fingerprint(s.URL), Seed: uint32(i)}
		if s.Sitemap || n.opt.Config.Sitemaps == "only" && isSitemapName(s.URL.Path()) {
			it.Kind, it.Hops = frontier.Sitemap, "S"
		}
		items = append(items, it)
	}
	if len(items) == 0 {
		return nil
	}
	if err := n.crawl.Seed(items); err != nil {
		return err
	}
	n.facts.Taken = len(n.facts.Seeds)
	return n.facts.save(n.db) // a crash before this repeats the seeds, and the sieve drops them
}
