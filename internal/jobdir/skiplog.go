package jobdir

import (
	"cmp"
	"fmt"
	"slices"
)

// SkipOptions configure a SkipLog. The zero value is the default.
type SkipOptions struct {
	// PerHost is how many URLs are listed in full for each reason and host. Default 100: enough to see
	// the pattern, and a trap of a million URLs costs 100 lines.
	PerHost int
	// MaxPairs is how many pairs of host and reason are told apart. Default 100,000, about 10 MB. Beyond it URLs
	// are counted by reason alone, without host.
	MaxPairs int
}

// EnsureDefaults replaces zero values.
func (o *SkipOptions) EnsureDefaults() {
	if o.PerHost == 0 {
		o.PerHost = 100
	}
	if o.MaxPairs == 0 {
		o.MaxPairs = 100_000
	}
}

// Validate reports an option outside of its range.
func (o *SkipOptions) Validate() error {
	if o.PerHost < 0 || o.MaxPairs < 0 {
		return fmt.Errorf("PerHost %d or MaxPairs %d is negative", o.PerHost, o.MaxPairs)
	}
	return nil
}

// SkipLog decides which skipped URLs are listed and which are only counted. It belongs to one goroutine,
// and knows of this run only: after a restart up to PerHost more URLs are listed.
type SkipLog struct {
	opts  SkipOptions
	pairs map[skipPair]*skipTally
}

type skipPair struct{ host, reason string }

type skipTally struct {
	listed  int
	counted int64 // since the last AppendCounts
}

// NewSkipLog returns an empty log.
func NewSkipLog(o SkipOptions) *SkipLog {
	o.EnsureDefaults()
	return &SkipLog{opts: o, pairs: map[skipPair]*skipTally{}}
}

// Append appends the line of a skipped URL to dst, or counts it when its host has had enough lines of
// that reason.
func (l *SkipLog) Append(dst []byte, r *SkipRecord) []byte {
	t := l.tally(skipPair{r.Host, r.Reason})
	if t.listed >= l.opts.PerHost {
		t.counted++
		return dst
	}
	t.listed++
	return r.AppendJSON(dst)
}

func (l *SkipLog) tally(p skipPair) *skipTally {
	if t := l.pairs[p]; t != nil {
		return t
	}
	t := &skipTally{}
	if len(l.pairs) >= l.opts.MaxPairs {
		p.host = ""
		if t := l.pairs[p]; t != nil {
			return t
		}
		t.listed = l.opts.PerHost
	}
	l.pairs[p] = t
	return t
}

// AppendCounts appends a line for each host and reason that had URLs counted since the last call, in order.
// Counts of a file add up.
func (l *SkipLog) AppendCounts(dst []byte) []byte {
	var due []skipPair
	for p, t := range l.pairs {
		if t.counted > 0 {
			due = append(due, p)
		}
	}
	slices.SortFunc(due, func(a, b skipPair) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.reason, b.reason))
	})
	for _, p := range due {
		t := l.pairs[p]
		dst = (&SkipRecord{Host: p.host, Reason: p.reason, Count: t.counted}).AppendJSON(dst)
		t.counted = 0
	}
	return dst
}
