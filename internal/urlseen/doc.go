// Package urlseen is the duplicate URL eliminator: it emits each URL once. A Cache stands in front, in
// the workers, and lets popular links die before they cost anything; the Sieve behind it is the authority,
// exact and on disk.
//
// # The sieve
//
// The set of URLs known is the union of disjoint parts, each key in exactly one of them:
//
//	active   in memory, and as chunks in the store (space Seen, under the partition of the key)
//	frozen   the same, being written as a run by the background; nothing is added
//	runs     sorted immutable files, listed by the manifest, a value in the store
//
// A key enters active with the batch that emits it. When active holds RecentKeys keys it becomes frozen; when
// its run is on disk (file and folder synced), the next batch adds the run to the manifest and removes the
// chunks of frozen, atomically. Runs of a size tier are merged into one when there are MaxRuns of
// them (size-tiered merging, as in LSM trees); the manifest exchanges them through a batch as well, and the old files
// are removed after that batch was committed.
//
// # Invariants
//
//   - At every instant, also across a crash, the set is exactly chunks in the store ∪ runs in the manifest.
//   - A run file in the manifest is complete and synced. A run file outside of it is garbage, removed by Open.
//   - No false negative ever, and no false positive beyond two URLs of a host that share a keyed 64-bit hash.
//   - A batch that is dropped instead of committed leaves no trace: the next Step forgets what it added.
//   - Memory is bounded by Options.Memory, whatever the number of URLs: when the filters of all runs do not
//     fit, the largest runs go without (and cost a block read per key); when the block indexes do not fit,
//     newer runs are written with larger blocks.
//
// # Concurrency
//
// Step, Applied, Verify, Link and Close belong to one goroutine. Contains, Known and Stats are safe for concurrent
// use until Close. At most two goroutines work in the background, one writing a run and one merging runs
// or building filters; both end before Close returns. Step waits for them when URLs arrive faster than runs
// can be written or merged: memory does not grow instead. Cache is safe for concurrent use.
//
// # What it does not do
//
// It does not canonicalise or hash URLs (weburl), does not keep them (the frontier does), does not forget any,
// and keeps no values: why a URL was skipped is a matter of other tables.
package urlseen
