package jobdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"decorum/internal/weburl"
)

// FormatVersion is the version of the folder this package writes. A change that an older program would
// misread raises it.
const FormatVersion = 1

// Errors of Open. Test with errors.Is.
var (
	ErrInUse    = errors.New("the crawl folder is in use")
	ErrNewer    = errors.New("the crawl folder was written by a newer version")
	ErrNotCrawl = errors.New("not a crawl folder, and not empty")
	ErrNoCrawl  = errors.New("no crawl folder here")
)

// InUseError says which process holds the folder. It is ErrInUse.
type InUseError struct {
	Path string
	PID  int // 0 when unknown
}

func (e *InUseError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s: %v by another process", e.Path, ErrInUse)
	}
	return fmt.Sprintf("%s: %v by process %d", e.Path, ErrInUse, e.PID)
}

// Unwrap makes an InUseError match ErrInUse.
func (e *InUseError) Unwrap() error { return ErrInUse }

// Options configure Open. The zero value is the default.
type Options struct {
	FS FS // default: the operating system's
	// Tool is name and version of the program, noted in a new folder. Default "decorum".
	Tool string
	// ReadOnly opens an existing folder without its lock and changes nothing in it: for looking into a
	// folder that a crawl may be writing at the time.
	ReadOnly bool
}

// EnsureDefaults replaces zero values.
func (o *Options) EnsureDefaults() {
	if o.FS == nil {
		o.FS = osFS{}
	}
	if o.Tool == "" {
		o.Tool = "decorum"
	}
}

// Validate reports an option outside of its range; all values are fine.
func (o *Options) Validate() error { return nil }

// Dir is an open crawl folder.
type Dir struct {
	root string
	fs   FS
	lock io.Closer // nil when read-only
}

// Root returns the folder itself.
func (d *Dir) Root() string { return d.root }

// The names of the parts of the folder, relative to it; streams are opened by them.
const (
	ArchiveName     = "archive"
	StateName       = "state"
	CheckpointsName = "checkpoints"
	PagesName       = "pages/pages.jsonl"
	SkippedName     = "skipped.jsonl"
	FetchesName     = "fetches.jsonl"
	LinksName       = "links.jsonl"
	IndexName       = "indexes/index.cdxj"
	IndexPartName   = IndexName + partSuffix
	SummaryName     = "summary.json"
	ConfigName      = "decorum.toml"

	lockName   = "state/lock"
	formatName = "state/format.json"
)

// Path returns where a part of the folder lies, by its name.
func (d *Dir) Path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

// Where the parts of the folder lie.
func (d *Dir) Archive() string     { return d.Path(ArchiveName) }
func (d *Dir) State() string       { return d.Path(StateName) }
func (d *Dir) Checkpoints() string { return d.Path(CheckpointsName) }
func (d *Dir) Pages() string       { return d.Path(PagesName) }
func (d *Dir) Skipped() string     { return d.Path(SkippedName) }
func (d *Dir) Fetches() string     { return d.Path(FetchesName) }
func (d *Dir) Links() string       { return d.Path(LinksName) }
func (d *Dir) Index() string       { return d.Path(IndexName) }
func (d *Dir) Summary() string     { return d.Path(SummaryName) }
func (d *Dir) Config() string      { return d.Path(ConfigName) }

// Open opens the crawl folder at path, making it when there is nothing or an empty folder.
func Open(path string, o Options) (*Dir, error) {
	o.EnsureDefaults()
	d := &Dir{root: path, fs: o.FS}
	open := d.openNew
	if o.ReadOnly {
		open = d.openReadOnly
	}
	if err := open(o); err != nil {
		return nil, fmt.Errorf("open crawl folder: %w", errors.Join(err, d.Close()))
	}
	return d, nil
}

func (d *Dir) openReadOnly(Options) error {
	err := d.checkFormat()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", d.root, ErrNoCrawl)
	}
	return err
}

func (d *Dir) openNew(o Options) error {
	if err := d.mayWrite(); err != nil {
		return err
	}
	if err := d.fs.MkdirAll(d.State(), 0o755); err != nil {
		return err
	}
	lock, err := lockFile(d.fs, d.Path(lockName))
	if err != nil {
		var held *InUseError
		if errors.As(err, &held) {
			held.Path = d.root
		}
		return err
	}
	d.lock = lock
	err = d.checkFormat()
	if errors.Is(err, fs.ErrNotExist) {
		err = d.begin(o.Tool)
	} else if err == nil {
		err = d.fs.SyncDir(d.State()) // who wrote it may have been killed before that
	}
	if err != nil {
		return err
	}
	for _, name := range [...]string{ArchiveName, CheckpointsName, filepath.Dir(PagesName), filepath.Dir(IndexName)} {
		if err := d.fs.MkdirAll(d.Path(name), 0o755); err != nil {
			return err
		}
	}
	return errors.Join(d.fs.SyncDir(d.root), d.fs.SyncDir(filepath.Dir(filepath.Clean(d.root))))
}

// mayWrite tells whether the folder is ours, new, or one whose making was interrupted.
func (d *Dir) mayWrite() error {
	entries, err := d.fs.ReadDir(d.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	foreign := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != StateName })
	if _, err := d.fs.Stat(d.Path(formatName)); !foreign || err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", d.root, ErrNotCrawl)
}

// format is the content of state/format.json.
type format struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Tool    string    `json:"tool"`
	Created time.Time `json:"created"`
}

const formatText = "decorum-crawl"

// maxSmallFile bounds files that are read whole: format and summary.
const maxSmallFile = 16 << 20

func (d *Dir) checkFormat() error {
	b, err := readFile(d.fs, d.Path(formatName))
	if err != nil {
		return err
	}
	var f format
	switch err := json.Unmarshal(b, &f); {
	case err != nil || f.Format != formatText || f.Version < 1:
		return fmt.Errorf("%s: %w: %s is damaged", d.root, ErrNotCrawl, formatName)
	case f.Version > FormatVersion:
		return fmt.Errorf("%s: %w: format %d (%s), this program knows %d", d.root, ErrNewer, f.Version, f.Tool, FormatVersion)
	}
	return nil
}

// begin makes the folder ours, once its name is durable: each folder that is new is a name in the one above it. The other parts
// come later, because without the format they would look like somebody else's.
func (d *Dir) begin(tool string) error {
	for at := filepath.Dir(d.State()); ; at = filepath.Dir(at) {
		err := d.fs.SyncDir(at)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EINVAL) {
			err = nil // nothing of ours is in there
		}
		if err != nil {
			return err
		}
		if at == filepath.Dir(at) {
			return d.writeFormat(tool)
		}
	}
}

func (d *Dir) writeFormat(tool string) error {
	b, err := json.Marshal(format{formatText, FormatVersion, tool, time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return d.WriteFile(formatName, append(b, '\n'))
}

// WriteFile replaces a file of the folder by one with the given content, durably: after a crash there is
// the old one or the new one, whole.
func (d *Dir) WriteFile(name string, content []byte) error {
	path := d.Path(name)
	if err := writeFile(d.fs, path, content); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// ArchiveFiles returns the base names of the archive's files, in order.
func (d *Dir) ArchiveFiles() ([]string, error) {
	entries, err := d.fs.ReadDir(d.Archive())
	if err != nil {
		return nil, fmt.Errorf("list archive: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".warc.gz") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Close gives back the lock.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}

// tmpSuffix marks a file that is being written and will be renamed.
const tmpSuffix = ".tmp"

func writeFile(fsys FS, path string, content []byte) error {
	tmp := path + tmpSuffix
	f, err := fsys.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, fsys.Remove(tmp))
	}
	return fsys.SyncDir(filepath.Dir(path))
}

func readFile(fsys FS, path string) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSmallFile+1))
	if err == nil && len(b) > maxSmallFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxSmallFile)
	}
	return b, err
}

// maxHostInName leaves room for suffixes within the 255 bytes a file name may have.
const maxHostInName = 200

// DirFor returns the default folder of a crawl that begins at seed: ./<host>.crawl, with the port when it
// is not the scheme's own. Every name is valid on every common file system.
func DirFor(seed weburl.URL) string {
	host := strings.Trim(seed.Host(), "[].")
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		case r == ':':
			return '-'
		}
		return '_'
	}, host)
	if len(name) > maxHostInName {
		h := fnv.New64a()
		io.WriteString(h, host)
		name = fmt.Sprintf("%s-%016x", name[:maxHostInName], h.Sum64())
	}
	first, _, _ := strings.Cut(name, ".")
	if isDevice(first) {
		name = "_" + name // Windows opens the device for con.anything
	}
	if !isDefaultPort(seed) {
		name += "_" + strconv.Itoa(int(seed.Port()))
	}
	return "." + string(filepath.Separator) + name + ".crawl"
}

// isDevice tells whether Windows reserves a name, whatever follows its first dot.
func isDevice(name string) bool {
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '0' && name[3] <= '9'
}
