package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"decorum/internal/crawler"
	"decorum/internal/jobdir"
	"decorum/internal/store"
)

// Facts are what a crawl is from its creation on, as the program keeps them in the store.
type Facts struct {
	Secret     [16]byte  `json:"secret"`     // of the fingerprints
	Partitions int       `json:"partitions"` // P, fixed for ever
	Created    time.Time `json:"created"`
	Runs       int       `json:"runs"`  // starts of the program
	Seeds      []string  `json:"seeds"` // of all runs
}

// ReadFacts reads the facts of a crawl; ok is false in a store that holds none.
func ReadFacts(db *store.DB) (f Facts, ok bool, err error) {
	raw, ok, err := db.Get(store.Key{Partition: store.Global, Space: store.Meta, ID: []byte("crawl")})
	if err != nil || !ok {
		return f, false, err
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, false, fmt.Errorf("state: facts of the crawl: %w", err)
	}
	if f.Partitions < 1 || f.Partitions >= int(store.Global) {
		return f, false, fmt.Errorf("state: facts of the crawl: %d partitions", f.Partitions)
	}
	return f, true, nil
}

// folder is a crawl folder being looked at.
type folder struct {
	*jobdir.Dir
	lock     io.Closer // nil when a crawl holds it, or the disk cannot be written
	inUse    error     // who holds the folder; nil: nobody
	db       *store.DB // nil when in use or damaged
	broken   error     // why the state could not be opened
	facts    Facts
	progress crawler.Progress
	clean    bool // the last run ended in good order: files end where the state says
}

// openFolder opens a folder to look at. A state that cannot be opened is no error: it is noted.
func openFolder(path string) (*folder, error) {
	dir, err := jobdir.Open(path, jobdir.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	f := &folder{Dir: dir}
	held, err := jobdir.Open(path, jobdir.Options{})
	switch {
	case errors.Is(err, jobdir.ErrInUse):
		f.inUse = err
		if held := (*jobdir.InUseError)(nil); errors.As(err, &held) {
			f.inUse = held // without what we were doing when we noticed
		}
		return f, nil
	case err == nil: // any other error: a disk that cannot be written, so nobody else crawls into it either
		f.lock = held
	}
	f.openState(true)
	return f, nil
}

// openToRepair opens a folder to change it. It fails when a crawl is using it.
func openToRepair(path string) (*folder, error) {
	dir, err := jobdir.Open(path, jobdir.Options{ReadOnly: true}) // which makes nothing
	if err != nil {
		return nil, err
	}
	f := &folder{Dir: dir}
	held, err := jobdir.Open(path, jobdir.Options{})
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	f.lock = held
	f.openState(false)
	return f, nil
}

func (f *folder) openState(readOnly bool) {
	if _, f.broken = os.Stat(f.Path(stateName)); f.broken != nil { // Open would make it
		return
	}
	if f.db, f.broken = store.Open(store.Options{Dir: f.Path(stateName), ReadOnly: readOnly}); f.broken != nil {
		f.db = nil
		return
	}
	var known bool
	if f.facts, known, f.broken = ReadFacts(f.db); f.broken != nil {
		return
	}
	if !known {
		f.broken = errors.New("state: no crawl in the store")
		return
	}
	if f.progress, f.broken = crawler.ReadProgress(f.db); f.broken != nil {
		return
	}
	if s, ok, err := f.ReadSummary(); err == nil && ok {
		f.clean = s.Runs == f.facts.Runs
	}
}

const (
	stateName = jobdir.StateName + "/db"
	seenName  = jobdir.StateName + "/seen"
)

// committed reports whether the ends of the files are known from the state.
func (f *folder) committed() bool { return f.db != nil && f.broken == nil }

func (f *folder) Close() error {
	var errs []error
	if f.db != nil {
		errs = append(errs, f.db.Close())
	}
	if f.lock != nil {
		errs = append(errs, f.lock.Close())
	}
	return errors.Join(append(errs, f.Dir.Close())...)
}

// stream is a file of the folder, open up to its committed end, or up to its end where that is not known.
type stream struct {
	*io.SectionReader
	file *os.File
	size int64 // of the file
	end  int64 // committed, or -1
}

// errShort says that a stream has lost bytes that the state knows.
var errShort = errors.New("shorter than the state says")

// open opens a stream of the folder. A file that is not there is empty.
func (f *folder) open(name string) (*stream, error) {
	s := &stream{end: -1}
	if f.committed() {
		s.end = f.progress.Streams[name]
	}
	file, err := os.Open(f.Path(name))
	if errors.Is(err, os.ErrNotExist) {
		s.SectionReader = io.NewSectionReader(eof{}, 0, 0)
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.file, s.size = file, info.Size()
	n := s.size
	if s.end >= 0 && !f.clean {
		n = min(n, s.end) // what a crash left behind is not part of the crawl
	}
	s.SectionReader = io.NewSectionReader(file, 0, n)
	return s, nil
}

// length compares the length of the file with what the state says; clean files end exactly there.
func (s *stream) length(clean bool) error {
	switch {
	case s.end < 0:
		return nil
	case s.size < s.end:
		return fmt.Errorf("%w: %d bytes of %d", errShort, s.size, s.end)
	case clean && s.size > s.end:
		return fmt.Errorf("longer than the state says: %d bytes, not %d", s.size, s.end)
	}
	return nil
}

func (s *stream) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// eof is an empty file.
type eof struct{}

func (eof) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
