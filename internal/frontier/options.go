package frontier

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"decorum/internal/store"
	"decorum/internal/weburl"
)

// Backs is the rule for B, the number of back queues, i.e. of hosts in hand. A positive value fixes B.
type Backs int

const (
	// Adaptive grows B while workers starve and hosts wait, and shrinks it by attrition. With a gap of k
	// times the duration of a fetch, T workers stay busy only with (1+k)T hosts in hand, and this finds them.
	Adaptive Backs = 0
	// Times3 is the rule of thumb of the book, B = 3T. With k = 10 it keeps workers busy 27 % of the time:
	// 3T hosts, each fetched for 1/(1+k) of the time.
	Times3 Backs = -1
)

// Options of a Frontier. A zero field means its default unless its comment says otherwise.
type Options struct {
	DB     *store.DB      // where queues and host states are kept; required
	Hasher *weburl.Hasher // assigns hosts to partitions; required

	Partitions int                     // P, fixed at creation; default 64
	PoliteKey  func(weburl.URL) string // who must not be disturbed; default the host, else the registrable domain

	Floor        time.Duration          // least rest between contacts of a host; zero is none, the usual value is 1s
	Factor       float64                // rest in durations of the last exchange; default 10, negative is none
	MaxFactorGap time.Duration          // limit of factor x duration alone; default 10 min
	Fast         func(host string) bool // hosts with neither floor nor factor; default none
	IPGap        time.Duration          // rest of an address; default 250 ms, negative is none
	FastAddr     func(netip.Addr) bool  // addresses that do not rest; still one contact at a time; default none

	Fronts  int       // F, the number of levels; default 8, at most 32
	Weights []float64 // share of each level at refill; default halving: 2^-level
	Backs   Backs     // default Adaptive
	Workers int       // T, the number of callers of Next; default 64
	Window  int       // most URLs of one host in memory; default 64

	Prioritize func(*Item) uint8 // level of an item that has none; default by depth and kind

	MaxPages  uint64 // pages to conclude in all; zero is no limit
	HostPages uint64 // pages to conclude per host; zero is no limit, the usual value is 100,000

	Retries     int           // attempts after the first; default 3, negative is none
	BackoffBase time.Duration // rest of a URL after its first failure, doubling; default 5 s
	HostBackoff time.Duration // rest of a host after its first failure, doubling; default 30 s
	BackoffMax  time.Duration // limit of both; default 1 h
	HostGiveUp  int           // host failures in a row that end it; default 10, negative is never
	LongestRest time.Duration // a host that asks for a longer one is given up: no crawl waits for ever; default 30 days

	MaxUncommitted int           // finished visits not yet durable beyond which leases stop; default 1024
	CommitDelay    time.Duration // longest wait of a finished visit for its group commit; default 250 ms, at most that

	Seed     uint64 // of the random choice of levels; same seed, same choices
	ReadOnly bool   // only Find, HostState and Snapshot will be called; nothing is written
}

// Limits of memory and of the work of one step.
const (
	// maxFronts bounds F; beyond it the last levels get less than one URL in 2^32.
	maxFronts = 32
	// maxCommitDelay is the bound on durability promised by DESIGN §7.
	maxCommitDelay = 250 * time.Millisecond
	// parkLimit ends the wait for an answer that never comes, e.g. because its host gave up.
	parkLimit = 2 * time.Minute
	// firstWindow is the least number of URLs of a host to hold in memory. At a gap of 250 ms or more, one
	// step in 250 ms keeps that filled.
	firstWindow = 4
	// refillScan bounds the URLs that one Refill moves, so that a dominant host delays a step by
	// milliseconds, not more (BenchmarkRefill: 1024 URLs take about 3 ms).
	refillScan = 1024
	// drainScan bounds the URLs of hosts given up or over budget that one Refill refuses.
	drainScan = 1024
	// hungerPause is the least time between two steps run only because workers starve: half of the 100 ms
	// within which PERF wants the first answer of the seen-set.
	hungerPause = 50 * time.Millisecond
	// maxHungerPause bounds the growth of that pause while starving steps bring nothing.
	maxHungerPause = 5 * time.Second
)

// EnsureDefaults fills zero fields.
func (o *Options) EnsureDefaults() {
	setDefault(&o.Partitions, 64)
	setDefault(&o.Factor, 10)
	setDefault(&o.MaxFactorGap, 10*time.Minute)
	setDefault(&o.IPGap, 250*time.Millisecond)
	setDefault(&o.Fronts, 8)
	setDefault(&o.Workers, 64)
	setDefault(&o.Window, 64)
	setDefault(&o.Retries, 3)
	setDefault(&o.BackoffBase, 5*time.Second)
	setDefault(&o.HostBackoff, 30*time.Second)
	setDefault(&o.BackoffMax, time.Hour)
	setDefault(&o.HostGiveUp, 10)
	setDefault(&o.LongestRest, 30*24*time.Hour)
	setDefault(&o.MaxUncommitted, 1024)
	setDefault(&o.CommitDelay, maxCommitDelay)
	if o.PoliteKey == nil {
		o.PoliteKey = weburl.URL.Host
	}
	if o.Fast == nil {
		o.Fast = func(string) bool { return false }
	}
	if o.FastAddr == nil {
		o.FastAddr = func(netip.Addr) bool { return false }
	}
	if o.Weights == nil {
		for i := range o.Fronts {
			o.Weights = append(o.Weights, 1/float64(uint64(1)<<min(i, maxFronts)))
		}
	}
	if o.Prioritize == nil {
		o.Prioritize = ByDepth
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports the first option that cannot work.
func (o *Options) Validate() error {
	switch {
	case o.DB == nil:
		return errors.New("frontier: no store given")
	case o.Hasher == nil:
		return errors.New("frontier: no hasher given")
	case o.Partitions < 1 || o.Partitions >= int(store.Global):
		return fmt.Errorf("frontier: %d partitions, want 1 to %d", o.Partitions, store.Global-1)
	case o.Fronts < 1 || o.Fronts > maxFronts:
		return fmt.Errorf("frontier: %d front queues, want 1 to %d", o.Fronts, maxFronts)
	case len(o.Weights) != o.Fronts:
		return fmt.Errorf("frontier: %d weights for %d front queues", len(o.Weights), o.Fronts)
	case o.Floor < 0:
		return fmt.Errorf("frontier: negative floor %v", o.Floor)
	case o.LongestRest < 0:
		return fmt.Errorf("frontier: negative longest rest %v", o.LongestRest)
	case o.Workers < 1:
		return fmt.Errorf("frontier: %d workers", o.Workers)
	case o.Window < 1:
		return fmt.Errorf("frontier: window of %d URLs", o.Window)
	case o.Backs < Times3:
		return fmt.Errorf("frontier: %d back queues", o.Backs)
	case o.CommitDelay < 0 || o.CommitDelay > maxCommitDelay:
		return fmt.Errorf("frontier: commit delay %v, want at most %v", o.CommitDelay, maxCommitDelay)
	case o.MaxUncommitted < 1:
		return fmt.Errorf("frontier: at most %d uncommitted visits", o.MaxUncommitted)
	}
	for i, w := range o.Weights {
		if !(w > 0) {
			return fmt.Errorf("frontier: weight %v of level %d, want more than 0: no level may starve", w, i+1)
		}
	}
	return nil
}

// ByDepth is the default prioritizer: seeds and sitemaps first, then one level per link away from the
// seed. What a page embeds belongs to the page, so it shares the level of the page.
func ByDepth(it *Item) uint8 {
	switch {
	case it.Kind == Sitemap || it.Depth == 0:
		return 1
	case it.Embed:
		return uint8(min(it.Depth, maxFronts))
	}
	return uint8(min(it.Depth+1, maxFronts))
}
