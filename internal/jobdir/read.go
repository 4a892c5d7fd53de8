package jobdir

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
)

// MaxLine is the longest line that is read. A page record holds a few URLs of 4 KB and texts of pages, which
// their writers cut; 1 MiB is far beyond.
const MaxLine = 1 << 20

// record is a pointer to one of the record types.
type record[T any] interface {
	*T
	check() (mine bool, err error)
}

// Records yields the records of a stream, in order. Lines of other types, such as the header of
// pages.jsonl, are passed over. A last line without an end is what a crash leaves: it ends the sequence
// without an error. Any other line that cannot be read is yielded as an error with its number, and
// reading goes on.
func Records[T any, P record[T]](r io.Reader) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		br := bufio.NewReaderSize(r, MaxLine)
		for n := 1; ; n++ {
			line, err := br.ReadSlice('\n')
			if err == io.EOF {
				return
			}
			var rec T
			if err != nil {
				yield(rec, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if err = json.Unmarshal(line, &rec); err == nil {
				mine, wrong := P(&rec).check()
				if !mine && wrong == nil {
					continue
				}
				err = wrong
			}
			if err != nil {
				err = fmt.Errorf("line %d: %w", n, err)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// is tells whether a line is of one of the types, in a version that is known.
func (h *Head) is(types ...string) (bool, error) {
	for _, t := range types {
		if h.Type == t && h.V > recordVersion {
			return true, fmt.Errorf("record of version %d, this program knows %d", h.V, recordVersion)
		}
		if h.Type == t {
			return true, nil
		}
	}
	return false, nil
}

func (r *PageRecord) check() (bool, error)  { return r.is(typePage) }
func (r *FetchRecord) check() (bool, error) { return r.is(typeFetch) }
func (r *SkipRecord) check() (bool, error)  { return r.is(typeSkip, typeSkipCount) }
func (r *LinkRecord) check() (bool, error)  { return r.is(typeLink) }
