package inspect

import (
	"context"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"

	"decorum/internal/crawler"
	"decorum/internal/frontier"
	"decorum/internal/jobdir"
	"decorum/internal/outcome"
	"decorum/internal/robots"
	"decorum/internal/store"
	"decorum/internal/urlseen"
	"decorum/internal/weburl"
)

// checkState opens the state as a crawl would and reads all of it.
func (k *folderCheck) checkState() error {
	switch {
	case k.rep.InUse:
		k.part.Unread = true
		return nil
	case k.f.broken != nil:
		k.faultf(stateName, "%v", k.f.broken)
		return nil
	}
	keys, bytes := k.everyKey()
	done, pages := k.checkPageStates()
	known := k.checkSeen()
	k.checkFrontier()
	if n := k.f.progress.Seq; n != k.fetchLines {
		k.faultf(stateName, "the state counts %d exchanges, fetches.jsonl has %d", n, k.fetchLines)
	}
	k.part.Text = fmt.Sprintf("%s seen, %s done with (%s), %s, %s", count(known, "URL"), thousands(done), count(pages, "page"),
		count(keys, "key"), bytesText(bytes))
	return nil
}

// checkPageStates compares what the state says of each page with its page record.
func (k *folderCheck) checkPageStates() (done, pages int64) {
	var states sum
	err := k.pageStates(func(s *crawler.PageState, page bool, h xxh3.Uint128) bool {
		done++
		if page {
			pages++
			states.add(h)
		}
		return true
	})
	switch {
	case err != nil:
		k.faultf(stateName, "%v", err)
	case states != k.pageSum:
		k.faultf(stateName, "the state knows %s, pages.jsonl %s; they are not the same", count(pages, "page"), count(k.pageLines, "page"))
		if err := k.namePages(); err != nil {
			k.faultf(stateName, "%v", err)
		}
	}
	return done, pages
}

// pageStates visits each URL that is done with; page says whether there must be a page record of it, h is its hash.
func (k *folderCheck) pageStates(visit func(s *crawler.PageState, page bool, h xxh3.Uint128) bool) error {
	return crawler.ScanPageStates(k.f.db, k.f.facts.Partitions, func(_ weburl.Fingerprint, s crawler.PageState) bool {
		class := s.Outcome.Class()
		return visit(&s, class == outcome.ClassVisited || class == outcome.ClassFailed,
			pageHash(k.seed, s.URL, s.Outcome, s.Status, s.File, s.Offset, s.Length))
	})
}

// namePages says which pages state and pages.jsonl disagree on. It takes 16 bytes and more of memory for each
// page, so it is done only when the sums differ.
func (k *folderCheck) namePages() error {
	s, err := k.f.open(jobdir.PagesName)
	if err != nil {
		return err
	}
	defer s.Close()
	urls := map[xxh3.Uint128]bool{}
	for r, err := range jobdir.Records[jobdir.PageRecord](s) {
		if err == nil {
			o, _ := outcome.Parse(r.Outcome)
			urls[pageHash(k.seed, r.URL, o, r.Status, r.WARC.File, r.WARC.Offset, r.WARC.Length)] = true
		}
	}
	left := MaxFindings
	return k.pageStates(func(s *crawler.PageState, page bool, h xxh3.Uint128) bool {
		if page && !urls[h] {
			k.faultf(stateName, "%s: the state says %v, status %d, at %s offset %d; pages.jsonl does not", s.URL, s.Outcome, s.Status, s.File, s.Offset)
			left--
		}
		return left > 0
	})
}

// spaces are all tables of the store, with what their values must decode to.
func (k *folderCheck) spaces() map[store.Space]func(value []byte) error {
	nothing := func([]byte) error { return nil }
	return map[store.Space]func([]byte) error{
		store.Meta: nothing, store.Host: nothing, store.Front: nothing, store.Ready: nothing, store.Page: nothing,
		store.Seen: nothing, store.Content: nothing, store.Near: nothing, store.Skip: nothing,
		store.Intake: func(v []byte) error { _, err := frontier.DecodeItems(v); return err },
		store.Robots: func(v []byte) error { _, err := robots.Unmarshal(v); return err },
	}
}

// everyKey reads every key and value: the store verifies the checksum of each block.
func (k *folderCheck) everyKey() (keys, bytes int64) {
	for space, decode := range k.spaces() {
		for p := range store.Partition(k.f.facts.Partitions) + 1 {
			if p == store.Partition(k.f.facts.Partitions) {
				p = store.Global
			}
			err := k.f.db.Scan(store.Range{Partition: p, Space: space}, func(id, value []byte) bool {
				keys, bytes = keys+1, bytes+int64(len(id)+len(value))
				if err := decode(value); err != nil {
					k.faultf(stateName, "partition %d, space %c, key %x: %v", p, space, id, err)
				}
				return true
			})
			if err != nil {
				k.faultf(stateName, "%v", err)
			}
		}
	}
	return keys, bytes
}

// checkSeen reads every byte of the seen-set.
func (k *folderCheck) checkSeen() (known uint64) {
	s, err := urlseen.Open(urlseen.Options{DB: k.f.db, Dir: k.f.Path(seenName), Partitions: k.f.facts.Partitions, ReadOnly: true})
	if err != nil {
		k.faultf(seenName, "%v", err)
		return 0
	}
	known = s.Known()
	if err := errors.Join(s.Verify(context.Background()), s.Close()); err != nil {
		k.faultf(seenName, "%v", err)
	}
	return known
}

// checkFrontier rebuilds the queues as a crawl would on its start.
func (k *folderCheck) checkFrontier() {
	f, err := k.f.frontier(weburl.KeyRules{}, nil)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		k.faultf(stateName, "%v", err)
	}
}

// frontier opens the queues to look at.
func (f *folder) frontier(rules weburl.KeyRules, politeKey func(weburl.URL) string) (*frontier.Frontier, error) {
	return frontier.Open(frontier.Options{DB: f.db, Hasher: weburl.NewHasher(f.facts.Secret, rules), Partitions: f.facts.Partitions,
		PoliteKey: politeKey, Fronts: mostFronts, ReadOnly: true})
}

// mostFronts is the most front queues a crawl can have; opened with more than it has, the others are empty.
const mostFronts = 32
