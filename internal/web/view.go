package web

import (
	"strconv"
	"strings"
	"time"
)

// View is a Status in words and formatted numbers, as the page shows it. The server renders it into the page, and
// sends it again with each event, so that numbers look the same with and without JavaScript.
type View struct {
	State   State      `json:"state"`
	Bound   string     `json:"bound"`
	Tiles   []Tile     `json:"tiles"`
	Hosts   [][]string `json:"hosts"` // rows of HostColumns
	Phases  Bars       `json:"phases"`
	Levels  Bars       `json:"levels"`
	Skipped Bars       `json:"skipped"`
}

// Tile is a number with its name.
type Tile struct {
	Name string `json:"name"`
	Text string `json:"text"`
	Note string `json:"note"`
}

// Share is a count among others.
type Share struct {
	Name string `json:"name"`
	N    uint64 `json:"n"`
	Text string `json:"text"`
}

// Bars is a list of shares with the number that fills a bar.
type Bars []Share

// Most returns the largest count, at least 1.
func (b Bars) Most() uint64 {
	most := uint64(1)
	for _, s := range b {
		most = max(most, s.N)
	}
	return most
}

// HostColumns are the heads of the table of hosts.
func (View) HostColumns() []string {
	return []string{"Host", "State", "Queued", "Gap", "Why", "Status", "Pages", "Errors", "Next due", "ETA"}
}

func (s *Status) view() View {
	v := View{State: s.State, Bound: s.Bound.Text, Tiles: s.tiles(), Hosts: [][]string{}, Phases: s.phases()}
	for i := range s.Rows {
		v.Hosts = append(v.Hosts, s.Rows[i].cells(s.Time))
	}
	for i, n := range s.Queues.Levels {
		v.Levels = append(v.Levels, share("level "+strconv.Itoa(i+1), n))
	}
	v.Levels = append(v.Levels, share("in hand", s.Queues.Ready))
	for _, r := range ranked(s.SkippedBy) {
		v.Skipped = append(v.Skipped, share(r.Name, r.Count))
	}
	return v
}

func share(name string, n uint64) Share { return Share{name, n, Count(n)} }

func (s *Status) tiles() []Tile {
	r := &s.Responses
	tiles := []Tile{
		{"Pages", Count(s.Pages), Rate(s.Rates.Pages) + "/s now, " + Rate(s.Rates.PagesAverage) + " on average"},
		{"Queued", Count(s.Queued), plural(s.Hosts.WithURLs, "host") + ", " + Count(s.Found) + " URLs found"},
		{"Received", Bytes(s.Bytes.Wire), Bytes(uint64(s.Rates.Bytes)) + "/s"},
		{"Skipped", Count(s.Skipped), reasonsShort(s.Reasons())},
		{"Errors", Count(r.None), Count(r.S4xx) + " 4xx, " + Count(r.S5xx) + " 5xx"},
		{"Fetch time", millis(s.Latency.FetchP50), "median; 95% take less than " + millis(s.Latency.FetchP95)},
		{"Under way", number(s.Queues.Leased), s.nextDue()},
		{"Archive", Bytes(s.Bytes.Archived), s.archiveNote()},
	}
	if s.Fetches == 0 {
		tiles[5].Text, tiles[5].Note = "–", "nothing fetched yet"
	}
	if m := &s.Machine; m.RSS > 0 {
		tiles = append(tiles, Tile{"Memory", Bytes(m.RSS), "CPU " + strconv.FormatFloat(m.CPU, 'f', 1, 64) + " of " + plural(m.Cores, "core")})
	}
	return append(tiles, Tile{"Running", Elapsed(s.elapsed()), "run " + strconv.Itoa(max(s.Run, 1)) + " of this crawl"})
}

func reasonsShort(list []Reason) string {
	var parts []string
	for _, r := range list[:min(len(list), 2)] {
		parts = append(parts, Count(r.Count)+" "+r.Name)
	}
	if len(parts) == 0 {
		return "nothing so far"
	}
	return strings.Join(parts, ", ")
}

func (s *Status) nextDue() string {
	switch h := &s.Hosts; {
	case h.Due > 0:
		return areHosts(h.Due) + " due"
	case !h.NextDue.IsZero():
		return "next host due in " + seconds(h.NextDue.Sub(s.Time))
	}
	return "no host waits"
}

func (s *Status) archiveNote() string {
	note := plural(s.Machine.ArchiveFiles, "file")
	if s.Machine.DiskFree > 0 {
		note += ", " + Bytes(s.Machine.DiskFree) + " of disk free"
	}
	return note
}

func (s *Status) phases() Bars {
	h := &s.Hosts
	var out Bars
	for _, p := range []struct {
		name string
		n    int
	}{{"fetching", h.Fetching}, {"ready", h.Due}, {"resting", h.Resting}, {"backing off", h.BackingOff}, {"waiting for their address", h.Address},
		{"waiting for robots.txt", h.Parked}, {"idle", h.Idle}, {"given up", h.GivenUp}} {
		if p.n > 0 || p.name == "fetching" || p.name == "resting" {
			out = append(out, share(p.name, uint64(max(p.n, 0))))
		}
	}
	return out
}

// cells is the row of a host.
func (h *Host) cells(now time.Time) []string {
	status := ""
	if h.LastStatus > 0 {
		status = strconv.Itoa(h.LastStatus)
	} else if h.Failures > 0 {
		status = "error"
	}
	due := "now"
	if h.Phase == "fetching" {
		due = "under way"
	} else if d := h.Due.Sub(now); !h.Due.IsZero() && d > 0 {
		due = "in " + seconds(d)
	}
	eta := ""
	if h.Queued > 0 {
		eta = millis(h.ETAMS)
	}
	phase := strings.ReplaceAll(h.Phase, "_", " ")
	if h.Phase == "due" {
		phase = "ready"
	}
	return []string{h.Host, phase, Count(h.Queued), millis(h.GapMS), strings.ReplaceAll(h.GapReason, "_", " "), status,
		Count(h.Pages), Count(h.Errors), due, eta}
}
