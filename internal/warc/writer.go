package warc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Errors of a Writer. Test with errors.Is.
var (
	// ErrPoisoned: an earlier fsync or clean-up failed, so what is on disk is not known. Open again.
	ErrPoisoned = errors.New("writer failed earlier and must be opened again")
	// ErrShort: the file is shorter than the position, so records that the state knows are gone.
	ErrShort = errors.New("archive file is shorter than its committed length")
)

// WriterOptions configure a Writer.
type WriterOptions struct {
	Dir string // the folder of the files; made if absent
	// Prefix of file names: letters, digits, dot, dash and underscore. Default "decorum".
	Prefix string
	// MaxFileSize in bytes: the records of one Append open a new file rather than pass it; records larger
	// than it have a file of their own. Default 1 GB, the size the standard recommends.
	MaxFileSize int64
	Info        Info // for the warcinfo record of each file
	Encoder     EncoderOptions
	FS          FS // default: the operating system's
}

// DefaultMaxFileSize is 1 GB (ISO 28500:2017, annex on size of files).
const DefaultMaxFileSize = 1 << 30

// EnsureDefaults replaces zero values.
func (o *WriterOptions) EnsureDefaults() {
	if o.Prefix == "" {
		o.Prefix = "decorum"
	}
	if o.MaxFileSize == 0 {
		o.MaxFileSize = DefaultMaxFileSize
	}
	if o.FS == nil {
		o.FS = osFS{}
	}
	o.Encoder.EnsureDefaults()
}

// Validate reports an option outside of its range.
func (o *WriterOptions) Validate() error {
	if o.MaxFileSize < 0 {
		return fmt.Errorf("MaxFileSize %d is negative", o.MaxFileSize)
	}
	for _, c := range []byte(o.Prefix) {
		if !strings.ContainsRune("-_.", rune(c)) && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') {
			return fmt.Errorf("prefix %q is not safe in a file name", o.Prefix)
		}
	}
	return o.Encoder.Validate()
}

// Position is the end of the archive: everything before it is whole. The zero Position is "no archive
// yet". A Position without a File is "no file yet, the next has this serial".
type Position struct {
	File   string `json:"file,omitempty"` // base name
	Offset int64  `json:"offset,omitempty"`
	Serial int    `json:"serial,omitempty"` // of File
}

// Place is where one record lies.
type Place struct {
	File   string // base name
	Offset int64
	Length int64
}

// Writer appends members to numbered files <prefix>-<yyyymmddhhmmss>-<serial>.warc.gz.
type Writer struct {
	o       WriterOptions
	enc     *Encoder
	file    File
	pos     Position
	begun   bool // the warcinfo of this run is in the file
	dirty   bool // the file has bytes that are not synced
	created bool // the folder has names that are not synced
	bad     error
	buf     []byte
}

// OpenWriter opens the archive at a position that a Writer gave earlier and that was committed: the file
// is cut back to it and files of higher serial are removed, because nothing that lies behind the commit
// is known to the state. With the zero Position nothing is removed: existing files keep their names and
// serials go on after them. So commit Position() once before the first Append, and a crash between the two
// leaves nothing behind.
func OpenWriter(o WriterOptions, at Position) (*Writer, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("open archive %s: %w", o.Dir, err)
	}
	w := &Writer{o: o, enc: NewEncoder(o.Encoder), pos: at}
	if err := w.recover(); err != nil {
		return nil, fmt.Errorf("open archive %s: %w", o.Dir, err)
	}
	return w, nil
}

// recover brings the folder back to w.pos.
func (w *Writer) recover() error {
	if err := w.o.FS.MkdirAll(w.o.Dir, 0o755); err != nil {
		return err
	}
	files, err := w.list()
	if err != nil {
		return err
	}
	if w.pos == (Position{}) {
		w.pos.Serial = 1
		for _, serial := range files {
			w.pos.Serial = max(w.pos.Serial, serial+1)
		}
		return nil
	}
	for name, serial := range files {
		if name != w.pos.File && serial >= w.pos.Serial {
			if err := w.o.FS.Remove(w.path(name)); err != nil {
				return err
			}
		}
	}
	if w.pos.File != "" {
		if err := w.reopen(); err != nil {
			return err
		}
	}
	return w.o.FS.SyncDir(w.o.Dir)
}

// list returns the serials of the archive's files by name.
func (w *Writer) list() (map[string]int, error) {
	entries, err := w.o.FS.ReadDir(w.o.Dir)
	if err != nil {
		return nil, err
	}
	files := map[string]int{}
	for _, e := range entries {
		if serial, ok := w.serial(e.Name()); ok {
			files[e.Name()] = serial
		}
	}
	return files, nil
}

// serial reads the serial out of a file name that this writer would give.
func (w *Writer) serial(name string) (int, bool) {
	rest, ok := strings.CutPrefix(name, w.o.Prefix+"-")
	if !ok {
		return 0, false
	}
	rest, ok = strings.CutSuffix(rest, w.suffix())
	if !ok {
		return 0, false
	}
	stamp, number, ok := strings.Cut(rest, "-")
	if _, err := strconv.ParseUint(stamp, 10, 64); !ok || err != nil || len(stamp) != 14 {
		return 0, false
	}
	serial, err := strconv.ParseUint(number, 10, 31)
	return int(serial), err == nil
}

func (w *Writer) suffix() string {
	if w.o.Encoder.Plain {
		return ".warc"
	}
	return ".warc.gz"
}

func (w *Writer) path(name string) string { return filepath.Join(w.o.Dir, name) }

// reopen cuts the current file back and opens it for appending.
func (w *Writer) reopen() error {
	name := w.path(w.pos.File)
	info, err := w.o.FS.Stat(name)
	if err != nil {
		return err
	}
	if info.Size() < w.pos.Offset {
		return fmt.Errorf("%s: %w: %d < %d", w.pos.File, ErrShort, info.Size(), w.pos.Offset)
	}
	if info.Size() > w.pos.Offset {
		if err := w.o.FS.Truncate(name, w.pos.Offset); err != nil {
			return err
		}
	}
	if w.file, err = w.o.FS.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	if err := w.file.Sync(); err != nil { // makes the cut durable
		return errors.Join(err, w.file.Close())
	}
	return nil
}

// Append writes the members of group, which is their bytes one after the other, into one file, and
// returns where each lies. Nothing is durable before Sync. When writing fails (a full disk) the file is
// cut back to where it was: the writer is as before and the same group can be tried again.
func (w *Writer) Append(group []byte, members ...Member) ([]Place, error) {
	if w.bad != nil {
		return nil, w.bad
	}
	var sum int64
	for _, m := range members {
		sum += m.Length
	}
	if sum != int64(len(group)) {
		return nil, fmt.Errorf("append to archive: %d bytes given, members have %d", len(group), sum)
	}
	if err := w.append(group); err != nil {
		return nil, fmt.Errorf("append to archive: %w", err)
	}
	places := make([]Place, len(members))
	at := w.pos.Offset - sum
	for i, m := range members {
		places[i] = Place{File: w.pos.File, Offset: at, Length: m.Length}
		at += m.Length
	}
	return places, nil
}

func (w *Writer) append(group []byte) error {
	if w.file != nil && w.pos.Offset > 0 && w.pos.Offset+int64(len(group)) > w.o.MaxFileSize {
		if err := w.finishFile(); err != nil {
			return err
		}
	}
	if w.file == nil {
		if err := w.create(); err != nil {
			return err
		}
	}
	if !w.begun {
		if err := w.writeInfo(); err != nil {
			return err
		}
	}
	return w.write(group)
}

// finishFile syncs and closes the current file; the next Append makes a new one.
func (w *Writer) finishFile() error {
	if err := w.Sync(); err != nil {
		return err
	}
	err := w.file.Close()
	w.file, w.begun = nil, false
	w.pos = Position{Serial: w.pos.Serial + 1}
	return err
}

func (w *Writer) create() error {
	stamp := time.Now().UTC().Format("20060102150405")
	name := fmt.Sprintf("%s-%s-%05d%s", w.o.Prefix, stamp, w.pos.Serial, w.suffix())
	f, err := w.o.FS.OpenFile(w.path(name), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	w.file, w.created = f, true
	w.pos.File, w.pos.Offset = name, 0
	return nil
}

func (w *Writer) writeInfo() error {
	r := Record{Type: Warcinfo, Date: time.Now(), Filename: w.pos.File, Body: AppendFields(nil, w.o.Info.Fields()...)}
	var err error
	if w.buf, _, err = w.enc.Append(w.buf[:0], &r); err != nil {
		return err
	}
	if err = w.write(w.buf); err != nil {
		return err
	}
	w.begun = true
	return nil
}

func (w *Writer) write(b []byte) error {
	w.dirty = true
	if _, err := w.file.Write(b); err != nil {
		if cut := w.o.FS.Truncate(w.path(w.pos.File), w.pos.Offset); cut != nil {
			w.poison(cut)
		}
		return err
	}
	w.pos.Offset += int64(len(b))
	return nil
}

func (w *Writer) poison(cause error) {
	if w.bad == nil {
		w.bad = fmt.Errorf("%w: %w", ErrPoisoned, cause)
	}
}

// Sync makes everything appended so far durable, and the names of files made since the last Sync. After
// an error the writer is of no more use.
func (w *Writer) Sync() error {
	if w.bad != nil {
		return w.bad
	}
	if w.dirty {
		if err := w.file.Sync(); err != nil {
			w.poison(err)
			return fmt.Errorf("sync %s: %w", w.pos.File, err)
		}
		w.dirty = false
	}
	if w.created {
		if err := w.o.FS.SyncDir(w.o.Dir); err != nil {
			w.poison(err)
			return fmt.Errorf("sync folder %s: %w", w.o.Dir, err)
		}
		w.created = false
	}
	return nil
}

// Position returns the end of what was appended: what to commit after Sync.
func (w *Writer) Position() Position { return w.pos }

// Close syncs and closes the current file.
func (w *Writer) Close() error {
	err := w.Sync()
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
		w.file = nil
	}
	w.poison(fs.ErrClosed)
	return err
}
