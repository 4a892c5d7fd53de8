package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"decorum/internal/jobdir"
	"decorum/internal/warc"
)

// MaxFindings is how many findings a report lists of each part; it counts all.
const MaxFindings = 100

// CheckReport says whether a folder or file is whole.
type CheckReport struct {
	Path    string      `json:"path"`
	OK      bool        `json:"ok"`
	InUse   bool        `json:"in_use"` // a crawl is running: the state was not opened, the ends of files were not judged
	Bytes   int64       `json:"bytes"`  // read
	Parts   []CheckPart `json:"parts"`
	Faults  int64       `json:"faults"`
	First   string      `json:"first_bad,omitempty"` // "file: offset N", of the first fault
	Elapsed int64       `json:"elapsed_ms"`
	Notes   []string    `json:"notes,omitempty"`
}

// CheckPart is the result for one part of a folder.
type CheckPart struct {
	Name     string    `json:"name"`
	Text     string    `json:"text"` // what was read
	Unread   bool      `json:"unread,omitempty"`
	Faults   int64     `json:"faults"`
	Warnings int64     `json:"warnings,omitempty"`
	Findings []Finding `json:"findings,omitempty"` // the first MaxFindings
}

// Finding is one thing that is wrong, or with Warning odd.
type Finding struct {
	File    string     `json:"file,omitempty"`
	Offset  jobdir.Int `json:"offset,omitzero"` // in bytes
	Line    int        `json:"line,omitempty"`
	Warning bool       `json:"warning,omitempty"`
	Text    string     `json:"text"`
}

// CheckOptions configure Check. The zero value is the default.
type CheckOptions struct {
	// Progress is told from time to time how far the reading is. Default: nobody.
	Progress func(file string, done, all int64)
}

// EnsureDefaults fills zero fields.
func (o *CheckOptions) EnsureDefaults() {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
}

// Check reads every byte of a WARC file, a folder of WARC files, or a crawl folder, and says what is not as it should be. An error means that
// there is nothing to read; damage is in the report.
func Check(path string, o CheckOptions) (CheckReport, error) {
	o.EnsureDefaults()
	began := time.Now()
	c := &checker{o: o, rep: CheckReport{Path: path}}
	if err := c.check(path); err != nil {
		return CheckReport{}, fmt.Errorf("check: %w", err)
	}
	c.rep.OK = c.rep.Faults == 0
	c.rep.Elapsed = time.Since(began).Milliseconds()
	return c.rep, nil
}

// checker collects a report.
type checker struct {
	o    CheckOptions
	rep  CheckReport
	part *CheckPart // being checked
	all  int64      // bytes to read, for progress
	next int64      // bytes read at the next report of progress
}

func (c *checker) check(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		c.all = info.Size()
		c.begin("archive")
		_, err := c.archive(filepath.Dir(path), []string{filepath.Base(path)}, nil, nil)
		return err
	}
	f, err := openFolder(path)
	if errors.Is(err, jobdir.ErrNoCrawl) {
		return c.loose(path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return c.folder(f)
}

// loose checks a folder that holds WARC files and is no crawl folder.
func (c *checker) loose(path string) error {
	names, err := archiveFiles(path)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: %w, and it holds no WARC files", path, jobdir.ErrNoCrawl)
	}
	c.all = sizes(path, names)
	c.begin("archive")
	_, err = c.archive(path, names, nil, nil)
	return err
}

func sizes(dir string, names []string) (n int64) {
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			n += info.Size()
		}
	}
	return n
}

// begin starts the next part of the report.
func (c *checker) begin(name string) {
	c.rep.Parts = append(c.rep.Parts, CheckPart{Name: name})
	c.part = &c.rep.Parts[len(c.rep.Parts)-1]
}

// fault notes damage.
func (c *checker) fault(f Finding) {
	if f.Warning {
		c.part.Warnings++
	} else {
		c.part.Faults++
		c.rep.Faults++
		if c.rep.First == "" {
			c.rep.First = f.where()
		}
	}
	if len(c.part.Findings) < MaxFindings {
		f.Text = Clean(f.Text)
		c.part.Findings = append(c.part.Findings, f)
	}
}

func (c *checker) faultf(file, format string, args ...any) {
	c.fault(Finding{File: file, Text: fmt.Sprintf(format, args...)})
}

func (c *checker) faultAt(file string, offset int64, format string, args ...any) {
	c.fault(Finding{File: file, Offset: jobdir.Known(offset), Text: fmt.Sprintf(format, args...)})
}

func (c *checker) note(format string, args ...any) {
	c.rep.Notes = append(c.rep.Notes, Clean(fmt.Sprintf(format, args...)))
}

// where is the place of a finding in words.
func (f *Finding) where() string {
	s := f.File
	if n, ok := f.Offset.Get(); ok {
		s += fmt.Sprintf(": offset %d", n)
	}
	if f.Line > 0 {
		s += fmt.Sprintf(" (line %d)", f.Line)
	}
	return s
}

// counts are the records of an archive by type.
type counts map[warc.Type]int64

// archive reads every byte of WARC files, and counts their records. limits are the ends of files that are being
// written to, or were when the crawl was killed; scan says what else is to be done with a file.
func (c *checker) archive(dir string, names []string, limits map[string]int64, scan func(name string) warc.ScanOptions) (counts, error) {
	by, records, digests := counts{}, int64(0), int64(0)
	w := warc.NewChecker()
	var read int64
	for _, name := range names {
		var o warc.ScanOptions
		if scan != nil {
			o = scan(name)
		}
		rep, err := c.warc(w, filepath.Join(dir, name), name, limits, o)
		if err != nil {
			return nil, err
		}
		read += rep.Bytes
		records, digests = records+int64(rep.Records), digests+int64(rep.Digests)
		for t, n := range rep.ByType {
			by[t] += int64(n)
		}
	}
	c.part.Text = fmt.Sprintf("%s, %s, %s (%s), %s verified", count(len(names), "file"), bytesText(read), count(records, "record"), by, count(digests, "digest"))
	return by, nil
}

func (c *checker) warc(w *warc.Checker, path, name string, limits map[string]int64, o warc.ScanOptions) (warc.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return warc.Report{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return warc.Report{}, err
	}
	size := info.Size()
	if n, ok := limits[name]; ok {
		size = min(size, n)
	}
	faults, warnings := c.part.Faults, c.part.Warnings
	rep := w.CheckAt(&progressReader{r: f, c: c, name: name, from: c.rep.Bytes}, size, o)
	for _, p := range rep.Problems {
		c.fault(Finding{File: name, Offset: jobdir.Known(p.Offset), Warning: p.Severity == warc.Warning, Text: p.What})
	}
	unlisted := faults + int64(rep.Faults) - c.part.Faults
	c.part.Faults += unlisted
	c.rep.Faults += unlisted
	c.part.Warnings = warnings + int64(rep.Warnings)
	return rep, nil
}

// String lists the counts by type.
func (n counts) String() string {
	var types []string
	for t := range n {
		types = append(types, string(t))
	}
	slices.Sort(types)
	for i, t := range types {
		types[i] = fmt.Sprintf("%s %s", thousands(n[warc.Type(t)]), t)
	}
	return strings.Join(types, ", ")
}

// progressEvery is how many bytes are read between two reports of progress: a few each second.
const progressEvery = 64 << 20

// progressReader counts what is read of a file.
type progressReader struct {
	r    io.ReaderAt
	c    *checker
	name string
	from int64 // bytes of files read before
}

func (p *progressReader) ReadAt(b []byte, at int64) (int, error) {
	n, err := p.r.ReadAt(b, at)
	read := &p.c.rep.Bytes
	*read = max(*read, p.from+at+int64(n))
	if *read >= p.c.next {
		p.c.o.Progress(p.name, *read, p.c.all)
		p.c.next = *read + progressEvery
	}
	return n, err
}

// stream returns the file as a stream.
func (p *progressReader) stream(size int64) io.Reader { return io.NewSectionReader(p, 0, size) }
