package warc

import (
	"errors"
	"fmt"
	"io"
	"strings"
)

// Severity grades a Problem.
type Severity uint8

const (
	Warning Severity = iota // against advice or old custom; tools cope
	Fault                   // against the standard, or damage
)

func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "fault"
}

// Problem is one finding.
type Problem struct {
	Offset   int64 // of the record, or of its gzip member
	Severity Severity
	What     string
}

func (p Problem) String() string {
	return fmt.Sprintf("offset %d: %v: %s", p.Offset, p.Severity, p.What)
}

// Report is what a check found.
type Report struct {
	Records  int
	ByType   map[Type]int
	Bytes    int64 // of the file, up to where it could be read
	Digests  int   // verified
	Faults   int
	Warnings int
	FirstBad int64     // offset of the first fault, or -1
	Problems []Problem // the first MaxProblems
	Damaged  []Extent  // what holds no record without faults; of CheckAt alone
}

// OK reports whether there are no faults.
func (r *Report) OK() bool { return r.Faults == 0 }

// MaxProblems is how many findings a Report lists; it counts all of them.
const MaxProblems = 1000

// maxIDs bounds the memory for record ids of a Checker, about 100 bytes each. Beyond it duplicate ids and
// references go unchecked.
const maxIDs = 1 << 20

// Checker checks the files of one archive, one after the other: what a revisit refers to may lie in an
// earlier file.
type Checker struct {
	seen map[string]original
	rep  *Report
	scan ScanOptions // of CheckAt
	head head        // of the block of the current record
	buf  []byte      // to copy blocks
	http payload     // of the current record
}

// original is what a reference to a record is compared with.
type original struct {
	uri, date, payload string
	whole              bool // what a damaged record says of itself is no measure
}

// NewChecker returns a checker of an archive.
func NewChecker() *Checker {
	return &Checker{seen: map[string]original{}, buf: make([]byte, scanBlock)}
}

// Check reads every byte of one file of which nothing else is known.
func Check(r io.Reader) Report { return NewChecker().Check(r) }

// Check reads every byte of the next file of the archive, up to where reading on would be guessing.
func (c *Checker) Check(r io.Reader) Report {
	c.begin(ScanOptions{})
	z := NewReader(r)
	err := c.records(z)
	c.rep.Bytes = z.file.pos()
	if err != nil {
		c.rep.broken(err)
	}
	return *c.rep
}

// begin starts the report of the next file.
func (c *Checker) begin(o ScanOptions) {
	c.rep, c.scan = &Report{ByType: map[Type]int{}, FirstBad: -1}, o
}

// records checks records until the file ends or cannot be read on.
func (c *Checker) records(z *Reader) error {
	z.onNote = c.rep.add
	for {
		faults := c.rep.Faults
		e, err := z.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = c.entry(e)
		}
		if err != nil {
			if _, ok := errors.AsType[*FormatError](err); !ok {
				err = &FormatError{z.file.pos(), "reading", err}
			}
			return err
		}
		if c.rep.Faults == faults {
			c.remember(e.Header)
		}
		c.scanned(e, c.rep.Faults == faults)
	}
}

// broken notes why a file cannot be read on and returns the offset of what could not be read.
func (r *Report) broken(err error) int64 {
	f, _ := errors.AsType[*FormatError](err) // records returns no others
	r.add(f.Offset, Fault, f.describe())
	return f.Offset
}

func (r *Report) add(offset int64, s Severity, what string) {
	if s == Warning {
		r.Warnings++
	} else {
		r.Faults++
		if r.FirstBad < 0 || offset < r.FirstBad {
			r.FirstBad = offset
		}
	}
	if len(r.Problems) < MaxProblems {
		r.Problems = append(r.Problems, Problem{offset, s, what})
	}
}

// entry checks one record and reads it to its end.
func (c *Checker) entry(e *Entry) error {
	c.rep.Records++
	c.rep.ByType[e.Type()]++
	fault := func(format string, args ...any) { c.rep.add(e.Offset, Fault, fmt.Sprintf(format, args...)) }
	warn := func(format string, args ...any) { c.rep.add(e.Offset, Warning, fmt.Sprintf(format, args...)) }
	checkHeader(e.Header, fault, warn)
	c.checkReferences(e.Header, fault)
	if err := c.checkDigests(e, fault); err != nil {
		return err
	}
	_, err := e.Length()
	return err
}

// checkDigests reads the block and compares the digests that the header promises.
func (c *Checker) checkDigests(e *Entry, fault func(string, ...any)) error {
	parse := func(name string) *digest {
		label := e.Get(name)
		if label == "" {
			return nil
		}
		d, err := parseDigest(label)
		if err != nil {
			fault("%s: %v", name, err)
		}
		return d
	}
	whole, body := parse("WARC-Block-Digest"), parse("WARC-Payload-Digest")
	if e.Type() == Revisit || e.Get("WARC-Segment-Number") != "" {
		body = nil // of a payload that is not, or not all, in this record
	}
	sinks := []io.Writer{&c.head}
	c.head.reset(c.scan.Head)
	if whole != nil {
		sinks = append(sinks, whole.hash)
	}
	var entity *digest
	if body != nil {
		entity, _ = parseDigest(body.label)
		if strings.HasPrefix(strings.ToLower(e.Get("Content-Type")), "application/http") {
			c.http = payload{wire: body.hash, entity: entity.hash, head: c.http.head[:0]}
			sinks = append(sinks, &c.http)
		} else {
			sinks = append(sinks, body.hash)
		}
	}
	if _, err := io.CopyBuffer(io.MultiWriter(sinks...), e.Block, c.buf); err != nil {
		return err
	}
	if whole != nil {
		c.rep.Digests++
		if !whole.matches() {
			fault("block digest differs from %s", whole.label)
		}
	}
	if body != nil {
		c.rep.Digests++
		if !body.matches() && !entity.matches() {
			fault("payload digest differs from %s", body.label)
		}
	}
	return nil
}

// remember keeps what others may say of a whole record.
func (c *Checker) remember(h *Header) {
	if _, noted := c.seen[h.ID()]; noted {
		c.seen[h.ID()] = original{h.TargetURI(), h.Get("WARC-Date"), h.Get("WARC-Payload-Digest"), true}
	}
}

// checkReferences compares a revisit with its original, and finds ids used twice.
func (c *Checker) checkReferences(h *Header, fault func(string, ...any)) {
	id, digest := h.ID(), h.Get("WARC-Payload-Digest")
	if _, twice := c.seen[id]; twice {
		fault("record id %s is used twice", id)
	} else if len(c.seen) < maxIDs && id != "" {
		c.seen[id] = original{}
	}
	o, known := c.seen[bare(h.Get("WARC-Refers-To"))]
	if h.Type() != Revisit || !known || !o.whole {
		return
	}
	if strings.HasSuffix(h.Get("WARC-Profile"), "identical-payload-digest") && digest != "" && o.payload != "" && digest != o.payload {
		fault("revisit has payload digest %s, its original %s", digest, o.payload)
	}
	if uri := bare(h.Get("WARC-Refers-To-Target-URI")); uri != "" && uri != o.uri {
		fault("revisit refers to %s, but that record is of %s", uri, o.uri)
	}
	if date := h.Get("WARC-Refers-To-Date"); date != "" && date != o.date {
		fault("revisit refers to a record of %s, but its date is %s", date, o.date)
	}
}
