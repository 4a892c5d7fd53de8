package web

import (
	"fmt"
	"time"
)

// Bound answers "why is it not faster?".
type Bound struct {
	Kind string `json:"kind"` // one of the kinds below
	Text string `json:"text"` // one sentence for a person
}

// Kinds of Bound.
const (
	BoundStarting   = "starting"
	BoundPoliteness = "politeness" // hosts rest; more speed would be rude
	BoundBackoff    = "backoff"    // all hosts left rest after failures
	BoundCPU        = "cpu"
	BoundDisk       = "disk" // finished visits wait to become durable
	BoundDNS        = "dns"
	BoundWorkers    = "workers" // hosts are due, no worker is free
	BoundLinks      = "links"   // the queues are empty until new links are sorted into them
	BoundPaused     = "paused"
	BoundFinishing  = "finishing"
	BoundNothing    = "nothing" // nothing is left to fetch
)

// Thresholds of Bound.
const (
	cpuBusy   = 0.9 // part of the cores: the collector and the kernel take the rest
	dnsHeavy  = 0.5 // part of a visit's time
	longQueue = 10 * time.Second
)

// bound finds what holds the crawl back. What a person can change comes before what the web asks for.
func bound(s *Status, maxUncommitted int, dnsShare float64) Bound {
	q, h, m := &s.Queues, &s.Hosts, &s.Machine
	switch {
	case s.State == Ended:
		return Bound{BoundFinishing, "the crawl has ended"}
	case s.State == Finishing:
		return Bound{BoundFinishing, "finishing " + plural(q.Leased, "request") + " under way"}
	case s.Paused != "":
		return Bound{BoundPaused, pausedText(s.Paused, q.Leased)}
	case q.Uncommitted >= maxUncommitted:
		return Bound{BoundDisk, fmt.Sprintf("bound by disk: %s wait to be durable, commits take %s (p95)", plural(q.Uncommitted, "visit"), millis(s.Commit.P95))}
	case m.CPU >= cpuBusy*float64(m.Cores):
		return Bound{BoundCPU, fmt.Sprintf("bound by CPU: %.1f of %s busy", m.CPU, plural(m.Cores, "core"))}
	case h.Due > 0 && m.Workers > 0 && q.Leased >= m.Workers:
		return Bound{BoundWorkers, fmt.Sprintf("bound by workers: all %d are busy and %s due; raise --concurrency", m.Workers, areHosts(h.Due))}
	case dnsShare >= dnsHeavy && q.Leased > 0:
		return Bound{BoundDNS, fmt.Sprintf("bound by DNS: %.0f%% of the time of a visit is spent on resolving names", dnsShare*100)}
	case h.WithURLs == 0:
		return quiet(s)
	}
	return polite(s)
}

func pausedText(why string, leased int) string {
	if leased > 0 {
		return fmt.Sprintf("%s; %s still under way", why, plural(leased, "request"))
	}
	return why
}

// quiet tells why no host has anything to fetch.
func quiet(s *Status) Bound {
	switch {
	case s.State == Starting:
		return Bound{BoundStarting, "starting: no host contacted yet"}
	case s.Queued+uint64(s.Queues.Intake) > 0:
		return Bound{BoundLinks, "new links are being sorted into the queues"}
	}
	return Bound{BoundNothing, "nothing is left to fetch"}
}

// polite tells which hosts the crawl waits for.
func polite(s *Status) Bound {
	h, b := &s.Hosts, Bound{BoundPoliteness, "bound by politeness: "}
	switch {
	case h.BackingOff == h.WithURLs:
		b = Bound{BoundBackoff, "every host left failed and is given time: "}
	case s.State == Waiting:
		b.Text = "waiting on politeness, not stuck: "
	}
	b.Text += plural(h.WithURLs, "host") + " left"
	if s.State == Waiting {
		b.Text += ", next due in " + seconds(h.NextDue.Sub(s.Time))
	}
	if l := s.Longest; l != nil && l.ETAMS >= longQueue.Milliseconds() && l.Queued > 1 {
		b.Text += fmt.Sprintf("; longest %s %s URLs x %s ≈ %s", Clean(l.Host), Count(l.Queued), seconds(time.Duration(l.GapMS)*time.Millisecond), millis(l.ETAMS))
	}
	return b
}

func areHosts(n int) string {
	if n == 1 {
		return "1 host is"
	}
	return Count(uint64(n)) + " hosts are"
}

// millis writes a number of milliseconds as a duration.
func millis(ms int64) string { return Brief(time.Duration(ms) * time.Millisecond) }
