// Package frontier holds the URLs that wait to be visited and hands them out so that no host is ever
// disturbed: F front queues for priority, B back queues for politeness, a table from host to back queue
// and a heap of next contact times (IR-book 20.2.3, after Mercator).
//
// # The life of a URL
//
//	Add -> waiting (front queue of its level) -> Refill -> ready (back queue of its host)
//	    -> Next: leased -> Done -> Settle: gone, or ready again for another attempt
//
// A URL is in exactly one of waiting and ready on disk; leased is memory only. A redirect target (Item.Head)
// goes straight to the head of its host's back queue. Urgent contacts (the hops of a robots.txt redirect)
// are in memory only: a crash forgets them, and the robots.txt is asked for again.
//
// # Two sides
//
// The scheduler (the goroutine of Run) owns everything about time: host table, heap, addresses, leases. The
// step side (one goroutine of the caller, in the order Collect, Settle, Add, Refill, commit, Applied) owns
// everything about disk: front queues, back queues, host records. They share no memory: Collect carries
// finished visits and needs to the step side, Applied carries loaded URLs to the scheduler. The step side
// reads the store only while no batch of its own is outstanding, so it sees all of its writes.
//
// # Guarantees
//
//   - A host has at most one lease, and a lease is one contact.
//   - Next contact >= end of the last exchange + max(floor, factor x duration, Crawl-delay, Retry-After,
//     back-off). Crawl-delay and Retry-After are never clipped; a host that asks for more than LongestRest is
//     given up, not contacted sooner. A host state outlives its back queue: emptying it and returning does not
//     shorten a rest. Neither does a restart, nor a wall clock that goes backwards; after an unclean stop each
//     host first waits one full gap.
//   - An address is contacted by one lease at a time and rests too. When it becomes free exactly one of the
//     hosts that wait for it is woken.
//   - URLs of one host leave in the order of Add within their level, apart from retries and heads.
//   - Every level is served: Refill picks a level at random by weight for each URL it takes.
//   - Next fails with ErrExhausted exactly when intake, waiting, ready, leased and uncommitted are all zero.
//   - No more than MaxPages pages are ever concluded; no more than HostPages of one host.
//   - With every host resting the process sleeps on one timer.
//
// All methods of Frontier are safe for concurrent use, except Collect, Settle, Add, Refill and Applied,
// which belong to the step goroutine.
//
// # Not here
//
// Whether a URL is new (urlseen), allowed (robots, urlfilter) or reachable (dns, fetch); the commit itself.
package frontier
