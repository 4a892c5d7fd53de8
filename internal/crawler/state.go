package crawler

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"decorum/internal/outcome"
	"decorum/internal/store"
	"decorum/internal/weburl"
)

// PageState is what the store keeps of a URL that is done with, for `decorum why` and the checks.
//
// On disk (partition, space Page, fingerprint): version 1 byte, outcome 1 byte, then unsigned varints
// status, time in milliseconds since 1970, offset and length in the archive, then length-prefixed strings: URL,
// WARC file, rule or explanation, URL of the original if a duplicate.
type PageState struct {
	Outcome outcome.Outcome
	Status  int
	Time    time.Time
	URL     string
	File    string // archive file that holds the main record, or ""
	Offset  int64
	Length  int64
	Rule    string // what decided a refusal, or what went wrong
	DupOf   string
}

const pageStateVersion = 1

// Marshal returns the form on disk.
func (s *PageState) Marshal() []byte {
	b := []byte{pageStateVersion, byte(s.Outcome)}
	for _, n := range []uint64{uint64(s.Status), uint64(s.Time.UnixMilli()), uint64(s.Offset), uint64(s.Length)} {
		b = binary.AppendUvarint(b, n)
	}
	for _, t := range []string{s.URL, s.File, s.Rule, s.DupOf} {
		b = binary.AppendUvarint(b, uint64(len(t)))
		b = append(b, t...)
	}
	return b
}

var errPageState = errors.New("page state is damaged")

// UnmarshalPageState reads the form on disk.
func UnmarshalPageState(b []byte) (PageState, error) {
	var s PageState
	if len(b) < 2 || b[0] != pageStateVersion {
		return s, errPageState
	}
	s.Outcome, b = outcome.Outcome(b[1]), b[2:]
	var n [4]uint64
	for i := range n {
		v, w := binary.Uvarint(b)
		if w <= 0 {
			return s, errPageState
		}
		n[i], b = v, b[w:]
	}
	s.Status, s.Time, s.Offset, s.Length = int(n[0]), time.UnixMilli(int64(n[1])).UTC(), int64(n[2]), int64(n[3])
	for _, t := range []*string{&s.URL, &s.File, &s.Rule, &s.DupOf} {
		v, w := binary.Uvarint(b)
		if w <= 0 || v > uint64(len(b)-w) {
			return s, errPageState
		}
		*t, b = string(b[w:w+int(v)]), b[w+int(v):]
	}
	return s, nil
}

// LoadPageState returns what became of a URL, and whether it is done with.
func LoadPageState(db *store.DB, p store.Partition, fp weburl.Fingerprint) (PageState, bool, error) {
	raw, ok, err := db.Get(pageKey(p, fp))
	if err != nil || !ok {
		return PageState{}, false, err
	}
	s, err := UnmarshalPageState(raw)
	if err != nil {
		return s, false, fmt.Errorf("page %x: %w", fp, err)
	}
	return s, true, nil
}

// ScanPageStates calls yield for every URL that is done with, partition by partition.
func ScanPageStates(db *store.DB, partitions int, yield func(weburl.Fingerprint, PageState) bool) error {
	for p := range store.Partition(partitions) {
		var bad error
		more := true
		err := db.Scan(store.Range{Partition: p, Space: store.Page}, func(id, value []byte) bool {
			var fp weburl.Fingerprint
			copy(fp[:], id)
			s, err := UnmarshalPageState(value)
			if err != nil {
				bad = fmt.Errorf("page %x: %w", id, err)
				return false
			}
			more = yield(fp, s)
			return more
		})
		if err == nil {
			err = bad
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// state is the visit as it is remembered.
func (v *visit) state() PageState {
	s := PageState{Outcome: v.final, Time: v.exchange.End, URL: v.lease.URL.String(), Rule: v.rule, Status: v.exchange.Status}
	if s.Time.IsZero() {
		s.Time = time.Now()
	}
	if v.page != nil {
		s.DupOf = v.page.DupOf
		s.File, s.Offset, s.Length = v.page.WARC.File, v.page.WARC.Offset, v.page.WARC.Length
	}
	return s
}
