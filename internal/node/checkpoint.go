package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"decorum/internal/config"
	"decorum/internal/crawler"
	"decorum/internal/jobdir"
	"decorum/internal/store"
	"decorum/internal/urlseen"
)

// Checkpoints of a crawl folder.
//
// A checkpoint is a crawl folder of its own, checkpoints/<time>-<number>, that shows one instant between two steps:
// copied anywhere, it is resumed like any other. It is put together under a name that ends in .tmp, synced, and
// renamed; what still has such a name when the crawl folder is opened was interrupted, and is removed.
//
// What never changes again has a second name in it and takes no room: tables of the store, runs of the seen-set, finished
// archive files, the sorted index. What still grows is copied up to its end at that instant, because to open a
// checkpoint is to write behind that end: the archive file being written and the streams. The copying happens
// while the crawl goes on; between the two steps there are only links and a flush of the store.
//
// Removing a checkpoint takes names away, so what other checkpoints or the crawl itself share stays whole.

// unfinished ends the name of a checkpoint that is being made or removed.
const unfinished = ".tmp"

// checkpointName has a number, so that their order does not depend on the clock.
var checkpointName = regexp.MustCompile(`^\d{8}T\d{6}Z-(\d{4,9})$`)

// checkpointer makes and removes the checkpoints of one folder.
type checkpointer struct {
	fs   store.FS
	open jobdir.Options // how crawl folders are opened, with their locks
	dir  *jobdir.Dir
	db   *store.DB
	seen *urlseen.Sieve
	keep int                                       // how many, at least 1
	room func(bytes int64) error                   // nil: not asked
	log  func(format string, a ...any)             // for what does not make a checkpoint fail
	pace func(context.Context, func() error) error // runs a function while nothing is written to the folder
}

// checkpoint is one in the making.
type checkpoint struct {
	*checkpointer
	ctx      context.Context
	name     string
	progress crawler.Progress
	archive  []string // files at the instant shown
	begun    bool     // there is something to remove if it fails
}

// ErrCheckpointing says that a checkpoint is being made already.
var ErrCheckpointing = errors.New("another checkpoint is being made")

// Checkpoint makes a checkpoint of the running crawl and returns its folder; the oldest beyond those to keep are removed.
// One is made at a time: meanwhile others fail with ErrCheckpointing. It is safe to call from any goroutine, between Run
// and Close.
func (n *Node) Checkpoint(ctx context.Context) (folder string, err error) {
	if !n.checkpointing.TryLock() {
		return "", fmt.Errorf("checkpoint: %w", ErrCheckpointing)
	}
	defer n.checkpointing.Unlock()
	k := n.checkpointer()
	k.db, k.seen, k.keep, k.room, k.pace = n.db, n.parts.Seen, n.opt.Config.Checkpoints, n.hasRoom, n.crawl.Between
	return k.make(ctx)
}

// checkpointer returns one for the node's folder, good for removing.
func (n *Node) checkpointer() *checkpointer {
	fs := n.opt.FS
	if fs == nil {
		fs = store.OS()
	}
	return &checkpointer{fs: fs, open: n.folderOptions(), dir: n.dir, log: n.opt.Log}
}

// hasRoom tells whether a copy leaves what --min-free asks for.
func (n *Node) hasRoom(bytes int64) error {
	free, err := n.opt.Free(n.dir.Root())
	if least := uint64(n.opt.Config.MinFree) + uint64(bytes); err == nil && n.opt.Config.MinFree > 0 && free < least {
		return fmt.Errorf("it takes %d MiB, and %d MiB are free, of which --min-free keeps %d", bytes>>20, free>>20, n.opt.Config.MinFree>>20)
	}
	return nil
}

// CheckpointFolder makes a checkpoint of a folder into which no crawl runs.
func CheckpointFolder(ctx context.Context, dir, version string, keep int) (folder string, err error) {
	if _, err := jobdir.Open(dir, jobdir.Options{ReadOnly: true}); err != nil {
		return "", err // Open would make a new folder
	}
	n := &Node{opt: Options{Dir: dir, Version: version, Config: config.Crawl{Checkpoints: keep}, Log: func(string, ...any) {}}}
	defer func() { err = errors.Join(err, n.closeAll()) }()
	if err := n.openFolder(); err != nil {
		return "", err
	}
	db, err := store.Open(store.Options{Dir: n.dir.Path("state/db")})
	if err != nil {
		return "", err
	}
	n.closeLater(db)
	facts, _, err := loadFacts(db)
	if err != nil {
		return "", err
	}
	seen, err := urlseen.Open(urlseen.Options{DB: db, Dir: n.dir.Path("state/seen"), Partitions: facts.Partitions, ReadOnly: true})
	if err != nil {
		return "", err
	}
	n.closeLater(seen)
	k := n.checkpointer()
	k.db, k.seen, k.keep, k.pace = db, seen, keep, func(_ context.Context, do func() error) error { return do() }
	return k.make(ctx)
}

// make makes a checkpoint, and removes old ones.
func (k *checkpointer) make(ctx context.Context) (folder string, err error) {
	name, err := k.newName(time.Now())
	if err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	c := &checkpoint{checkpointer: k, ctx: ctx, name: name}
	if err := c.write(); err != nil {
		if c.begun {
			err = errors.Join(err, k.fs.RemoveAll(c.path("")))
		}
		return "", fmt.Errorf("checkpoint %s: %w", name, err)
	}
	if err := k.prune(); err != nil {
		k.log("old checkpoints: %v", err)
	}
	return filepath.Join(k.dir.Checkpoints(), name), nil
}

// write is the order of things: state and ends of files at one instant, files up to these ends, names, one rename.
func (c *checkpoint) write() error {
	if err := c.pace(c.ctx, c.snapshot); err != nil {
		return err
	}
	if err := c.copy(); err != nil {
		return err
	}
	for _, dir := range c.folders() {
		if err := store.SyncDir(c.fs, c.path(dir)); err != nil {
			return err
		}
	}
	if err := c.fs.Rename(c.path(""), filepath.Join(c.dir.Checkpoints(), c.name)); err != nil {
		return err
	}
	return store.SyncDir(c.fs, c.dir.Checkpoints())
}

// folders are those of a checkpoint, inner ones first.
func (*checkpoint) folders() []string {
	return []string{"state/seen", jobdir.StateName, jobdir.ArchiveName, path.Dir(jobdir.PagesName), path.Dir(jobdir.IndexName), ""}
}

// path is where a part of the folder lies in the checkpoint being made.
func (c *checkpoint) path(name string) string {
	return filepath.Join(c.dir.Checkpoints(), c.name+unfinished, filepath.FromSlash(name))
}

// snapshot takes what must be of one instant. The crawl's commits wait for it.
func (c *checkpoint) snapshot() (err error) {
	c.begun = true
	for _, dir := range c.folders() {
		if err := c.fs.MkdirAll(c.path(dir), 0o755); err != nil {
			return err
		}
	}
	if c.progress, err = crawler.ReadProgress(c.db); err != nil {
		return err
	}
	if err := c.db.Checkpoint(c.path("state/db")); err != nil {
		return err
	}
	if err := c.seen.Link(c.path("state/seen")); err != nil {
		return err
	}
	if c.archive, err = c.dir.ArchiveFiles(); err != nil {
		return err
	}
	return c.snapshotReplaced()
}

// snapshotReplaced takes the files that are replaced whole: those of the last run that ended, and the options.
func (c *checkpoint) snapshotReplaced() error {
	if err := c.ifThere(jobdir.IndexName, func(name string) error {
		return store.LinkOrCopy(c.fs, c.dir.Path(name), c.path(name))
	}); err != nil {
		return err
	}
	small, err := c.stateFiles()
	if err != nil {
		return err
	}
	for _, name := range append(small, jobdir.SummaryName, jobdir.ConfigName) {
		if err := c.ifThere(name, c.copyWhole); err != nil {
			return err
		}
	}
	return nil
}

// stateFiles are the small files in the state folder, but for those of a running process.
func (c *checkpoint) stateFiles() ([]string, error) {
	names, err := c.fs.List(c.dir.State())
	if err != nil {
		return nil, err
	}
	var files []string
	for _, name := range names {
		info, err := c.fs.Stat(filepath.Join(c.dir.State(), name))
		if err == nil && !info.IsDir() && name != "lock" && !strings.HasPrefix(name, "live.json") && !strings.HasSuffix(name, unfinished) {
			files = append(files, path.Join(jobdir.StateName, name))
		}
	}
	return files, nil
}

func (c *checkpoint) ifThere(name string, take func(name string) error) error {
	_, err := c.fs.Stat(c.dir.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return take(name)
}

// copyWhole copies a file that may be edited in place.
func (c *checkpoint) copyWhole(name string) error {
	info, err := c.fs.Stat(c.dir.Path(name))
	if err != nil {
		return err
	}
	return c.copyPrefix(name, info.Size())
}

func (c *checkpoint) copyPrefix(name string, size int64) error {
	return store.CopyPrefix(c.ctx, c.fs, c.dir.Path(name), c.path(name), size)
}

// copy takes the archive and the streams up to their ends. The crawl may go on meanwhile: before these ends nothing
// changes.
func (c *checkpoint) copy() error {
	at := c.progress.Archive
	bytes := at.Offset
	for _, end := range c.progress.Streams {
		bytes += end
	}
	if c.room != nil {
		if err := c.room(bytes); err != nil {
			return err
		}
	}
	for _, name := range c.finished() {
		name = path.Join(jobdir.ArchiveName, name)
		if err := errors.Join(store.LinkOrCopy(c.fs, c.dir.Path(name), c.path(name)), c.ctx.Err()); err != nil {
			return err
		}
	}
	if at.File != "" {
		if err := c.copyPrefix(path.Join(jobdir.ArchiveName, at.File), at.Offset); err != nil {
			return err
		}
	}
	for name, end := range c.progress.Streams {
		if err := c.copyPrefix(name, end); err != nil {
			return err
		}
	}
	return nil
}

// finished are the archive files before the one being written. Those behind it, which a crash has left, are not part of
// the crawl.
func (c *checkpoint) finished() []string {
	if i := slices.Index(c.archive, c.progress.Archive.File); i >= 0 {
		return c.archive[:i]
	}
	return c.archive
}

// list returns the names of the checkpoints from the oldest on, and of those that are unfinished.
func (k *checkpointer) list() (names, broken []string, err error) {
	all, err := k.fs.List(k.dir.Checkpoints())
	if err != nil {
		return nil, nil, err
	}
	for _, name := range all {
		switch {
		case checkpointName.MatchString(name):
			names = append(names, name)
		case strings.HasSuffix(name, unfinished):
			broken = append(broken, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return numberOf(a) - numberOf(b) })
	return names, broken, nil
}

// numberOf reads the number of a checkpoint's name.
func numberOf(name string) int {
	n, _ := strconv.Atoi(checkpointName.FindStringSubmatch(name)[1]) // at most nine digits
	return n
}

// newName names the next checkpoint.
func (k *checkpointer) newName(now time.Time) (string, error) {
	names, _, err := k.list()
	if err != nil {
		return "", err
	}
	number := 1
	if len(names) > 0 {
		number += numberOf(names[len(names)-1])
	}
	return fmt.Sprintf("%s-%04d", now.UTC().Format("20060102T150405Z"), number), nil
}

// prune removes the oldest checkpoints beyond those to keep.
func (k *checkpointer) prune() error {
	names, _, err := k.list()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names[:max(0, len(names)-max(1, k.keep))] {
		errs = append(errs, k.remove(filepath.Join(k.dir.Checkpoints(), name)))
	}
	return errors.Join(errs...)
}

// remove removes a checkpoint, unless somebody crawls into it. It is no checkpoint any more from the first moment on.
func (k *checkpointer) remove(folder string) error {
	held, err := jobdir.Open(folder, k.open)
	if errors.Is(err, jobdir.ErrInUse) {
		return nil
	}
	if err == nil {
		if err := held.Close(); err != nil {
			return err
		}
	}
	if err := k.fs.Rename(folder, folder+unfinished); err != nil {
		return err
	}
	return k.fs.RemoveAll(folder + unfinished)
}

// removeUnfinished removes what was interrupted.
func (k *checkpointer) removeUnfinished() error {
	_, broken, err := k.list()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range broken {
		errs = append(errs, k.fs.RemoveAll(filepath.Join(k.dir.Checkpoints(), name)))
	}
	return errors.Join(errs...)
}
