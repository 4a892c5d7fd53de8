package store

import (
	"math/rand/v2"
	"slices"
	"time"
)

// inode is a file or a folder. A file has data (what is seen), disk (what is durable) and the changes between the two;
// a folder the same of its names.
type inode struct {
	data, disk []byte
	changes    []change
	mod        time.Time

	names, durable map[string]*inode // nil in files
	edits          []edit
}

// change is a write at an offset, or a cut to a length.
type change struct {
	at    int64
	bytes []byte
	cut   bool
}

// edit is a change of names: each gets a file, or with nil disappears, all at once.
type edit []binding

type binding struct {
	name string
	node *inode
}

func newFolder() *inode { return &inode{names: map[string]*inode{}, durable: map[string]*inode{}} }

func (n *inode) isDir() bool { return n.names != nil }

func (e edit) apply(to map[string]*inode) {
	for _, b := range e {
		if b.node == nil {
			delete(to, b.name)
		} else {
			to[b.name] = b.node
		}
	}
}

func (c change) apply(b []byte) []byte {
	end := c.at + int64(len(c.bytes))
	if grow := end - int64(len(b)); grow > 0 {
		b = slices.Grow(b, int(grow))
		clear(b[len(b):end])
		b = b[:end]
	}
	if c.cut {
		return b[:c.at]
	}
	copy(b[c.at:], c.bytes)
	return b
}

// Survival is how much of what was not synced is on the disk after the loss of power.
type Survival uint8

// The kinds of survival. Names and bytes may fare differently: see Image.
const (
	Nothing    Survival = iota // as kind as it is rare: the last sync of everything
	Everything                 // the process was killed, the system goes on
	Prefix                     // in the order in which it was done, up to some point
	Anything                   // in no order, torn
	survivals
)

// Image returns a disk as the loss of power may have left it: what is durable, and of the rest what chance says. It is
// whole and durable itself. c stays as it is, so that several fates of one moment can be looked at.
func (c *CrashFS) Image(r *rand.Rand) *CrashFS {
	return c.ImageOf(r, Survival(r.IntN(int(survivals))), Survival(r.IntN(int(survivals))))
}

// ImageOf is Image with a chosen survival of bytes and of names.
func (c *CrashFS) ImageOf(r *rand.Rand, bytes, names Survival) *CrashFS {
	c.mu.Lock()
	defer c.mu.Unlock()
	after := NewCrashFS()
	m := imager{r: r, bytes: bytes, names: names, done: map[*inode]*inode{}}
	after.root = m.node(c.root)
	return after
}

// imager makes one image. Files of several names stay one file.
type imager struct {
	r            *rand.Rand
	bytes, names Survival
	done         map[*inode]*inode
}

func (m *imager) node(n *inode) *inode {
	if to := m.done[n]; to != nil {
		return to
	}
	to := &inode{mod: n.mod}
	m.done[n] = to
	if !n.isDir() {
		to.data = m.content(n)
		to.disk = slices.Clone(to.data)
		return to
	}
	to.names, to.durable = map[string]*inode{}, map[string]*inode{}
	survived := m.entries(n)
	for _, name := range sortedNames(survived) { // in order, for chance to be repeatable
		to.names[name] = m.node(survived[name])
		to.durable[name] = to.names[name]
	}
	return to
}

func sortedNames(m map[string]*inode) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// entries returns the names of a folder.
func (m *imager) entries(n *inode) map[string]*inode {
	out := make(map[string]*inode, len(n.durable))
	for name, child := range n.durable {
		out[name] = child
	}
	upTo := m.upTo(m.names, len(n.edits))
	lost := map[string]bool{}
	for i, e := range n.edits {
		dropped := i >= upTo || m.names == Anything && m.r.IntN(2) == 0
		for _, b := range e {
			dropped = dropped || lost[b.name]
		}
		if !dropped {
			e.apply(out)
			continue
		}
		for _, b := range e {
			lost[b.name] = true // later changes of this name would not be in order
		}
	}
	return out
}

// upTo is how many of n changes are on disk at the most.
func (m *imager) upTo(how Survival, n int) int {
	switch how {
	case Nothing:
		return 0
	case Prefix:
		return m.r.IntN(n + 1)
	}
	return n
}

// sector is what a disk writes whole.
const sector = 512

// content returns the bytes of a file.
func (m *imager) content(n *inode) []byte {
	b := slices.Clone(n.disk)
	upTo := m.upTo(m.bytes, len(n.changes))
	for i, ch := range n.changes {
		switch {
		case m.bytes == Anything:
			b = m.torn(b, ch)
		case i < upTo:
			b = ch.apply(b)
		case i == upTo && m.bytes == Prefix && !ch.cut: // torn in the middle
			ch.bytes = ch.bytes[:m.r.IntN(len(ch.bytes)+1)]
			b = ch.apply(b)
		}
	}
	return b
}

// torn applies some of a change, or none. Where the file has grown without its bytes there are zeros, or what was on the
// disk before.
func (m *imager) torn(b []byte, ch change) []byte {
	switch m.r.IntN(4) {
	case 0:
		return b
	case 1:
		return ch.apply(b)
	}
	if ch.cut {
		return b
	}
	stale := m.r.IntN(2) == 0
	for at := 0; at < len(ch.bytes); {
		end := min(at+sector-int(ch.at+int64(at))%sector, len(ch.bytes))
		piece := change{at: ch.at + int64(at), bytes: ch.bytes[at:end]}
		switch {
		case m.r.IntN(2) == 0:
			b = piece.apply(b)
		case stale && piece.at >= int64(len(b)):
			piece.bytes = slices.Clone(piece.bytes)
			for i := range piece.bytes {
				piece.bytes[i] = byte(m.r.Uint32())
			}
			b = piece.apply(b)
		}
		at = end
	}
	return b
}
