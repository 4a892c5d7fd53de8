package web

import (
	"fmt"
	"strings"
	"time"
)

// maxReasons is how many reasons for skipping are named in a line.
const maxReasons = 6

// Block is the live block: the status as lines for a terminal of the given width; longer lines move together, and
// are cut if that is not enough. Its first rune is a dot, which may be coloured. Of the hints as many stand at
// the right of the last line as there is room for.
func (s *Status) Block(width int, hints ...string) []string {
	lines := []string{
		"● " + columnsOf(string(s.State), Elapsed(s.elapsed()), plural(s.Pages, "page"),
			Rate(s.Rates.Pages)+"/s now  "+Rate(s.Rates.PagesAverage)+" avg", Bytes(s.Bytes.Wire)+"  "+Bytes(uint64(s.Rates.Bytes))+"/s", s.memory()),
		"  " + columnsOf("found "+Count(s.Found), "queued "+s.queued(), s.skipped()),
		"  " + s.hosts(),
		"  " + columnsOf(s.responses(), s.latency()),
		"  " + s.Bound.Text,
	}
	lines = append(lines, withHints("  "+s.storage(), width, hints))
	for i, line := range lines {
		if Columns(line) > width {
			lines[i] = Cut(strings.ReplaceAll(line, "   ", "  "), width)
		}
	}
	return lines
}

// hintColumn is where hints begin unless the line is longer.
const hintColumn = 62

func withHints(line string, width int, hints []string) string {
	for n := len(hints); n > 0; n-- {
		hint := strings.Join(hints[:n], " · ")
		if room := width - Columns(line) - Columns(hint); room >= 3 {
			return line + strings.Repeat(" ", min(room, max(3, hintColumn-Columns(line)))) + hint
		}
	}
	return line
}

// Line is the status as one line of a log.
func (s *Status) Line() string {
	parts := []string{Elapsed(s.elapsed()), string(s.State), plural(s.Pages, "page"), Rate(s.Rates.Pages) + "/s", Bytes(s.Bytes.Wire), "queued " + s.queued()}
	if s.Skipped > 0 {
		parts = append(parts, "skipped "+Count(s.Skipped))
	}
	if s.Responses.None > 0 {
		parts = append(parts, "errors "+Count(s.Responses.None))
	}
	return strings.Join(append(parts, s.Bound.Text), " · ")
}

func (s *Status) elapsed() time.Duration { return time.Duration(s.ElapsedMS) * time.Millisecond }

// columnsOf joins what is not empty with the space of the block.
func columnsOf(parts ...string) string {
	var b strings.Builder
	for i, p := range parts {
		if p == "" {
			continue
		}
		if i == 1 && len(parts) > 3 {
			b.WriteString("  ") // the state and its time belong together
		} else if b.Len() > 0 {
			b.WriteString("   ")
		}
		b.WriteString(p)
	}
	return b.String()
}

func (s *Status) memory() string {
	if s.Machine.RSS == 0 {
		return ""
	}
	return "RSS " + Bytes(s.Machine.RSS)
}

func (s *Status) queued() string {
	if s.Hosts.WithURLs == 0 {
		return Count(s.Queued)
	}
	return Count(s.Queued) + " (" + plural(s.Hosts.WithURLs, "host") + ")"
}

// skipped is "skipped 295: robots 201 scope 60 trap 22".
func (s *Status) skipped() string {
	text := "skipped " + Count(s.Skipped)
	for i, r := range s.Reasons() {
		if i == 0 {
			text += ":"
		}
		if i == maxReasons {
			return text + " …"
		}
		text += " " + r.Name + " " + Count(r.Count)
	}
	return text
}

func (s *Status) hosts() string {
	h := &s.Hosts
	text := fmt.Sprintf("hosts  %s fetching  %s ready  %s resting", number(h.Fetching), number(h.Due), number(h.Resting))
	for _, more := range []struct {
		n    int
		what string
	}{{h.BackingOff, "backing off"}, {h.Address, "waiting for their address"}, {h.Parked, "waiting for robots.txt"}, {h.GivenUp, "given up"}} {
		if more.n > 0 {
			text += "  " + number(more.n) + " " + more.what
		}
	}
	if !h.NextDue.IsZero() && h.Due == 0 {
		text += "   next due in " + seconds(h.NextDue.Sub(s.Time))
	}
	return text
}

func number(n int) string { return Count(uint64(max(n, 0))) }

func (s *Status) responses() string {
	r := &s.Responses
	text := fmt.Sprintf("status 2xx %s  3xx %s  4xx %s  5xx %s", Count(r.S2xx), Count(r.S3xx), Count(r.S4xx), Count(r.S5xx))
	if r.None > 0 {
		text += "  err " + Count(r.None)
	}
	return text
}

func (s *Status) latency() string {
	if s.Fetches == 0 {
		return ""
	}
	return "p50 " + millis(s.Latency.FetchP50) + "  p95 " + millis(s.Latency.FetchP95)
}

// storage is "disk 61 GB free · WARC 3 files · committed 0.1s ago".
func (s *Status) storage() string {
	var parts []string
	if s.Machine.DiskFree > 0 {
		parts = append(parts, "disk "+Bytes(s.Machine.DiskFree)+" free")
	}
	if s.Machine.ArchiveFiles > 0 {
		parts = append(parts, "WARC "+plural(s.Machine.ArchiveFiles, "file"))
	}
	if !s.Commit.Last.IsZero() {
		parts = append(parts, "committed "+seconds(s.Time.Sub(s.Commit.Last))+" ago")
	}
	return strings.Join(parts, " · ")
}
