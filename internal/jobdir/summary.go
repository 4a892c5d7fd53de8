package jobdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// EndReason is why a run ended.
type EndReason string

// The reasons.
const (
	EndExhausted   EndReason = "exhausted" // nothing left to fetch
	EndMaxPages    EndReason = "max_pages"
	EndMaxTime     EndReason = "max_time"
	EndMaxBytes    EndReason = "max_bytes"
	EndInterrupted EndReason = "interrupted"
	EndDisk        EndReason = "disk"
	EndError       EndReason = "error"
)

// MaxSummaryHosts is how many hosts a summary lists.
const MaxSummaryHosts = 100

// Summary is summary.json: what a crawl did so far, over all of its runs, and how to go on.
type Summary struct {
	V             int       `json:"v"`
	Type          string    `json:"type"`
	Format        int       `json:"format"` // FormatVersion
	Tool          string    `json:"tool"`
	Started       time.Time `json:"started"`
	Ended         time.Time `json:"ended"`
	WallMS        int64     `json:"wall_ms"` // sum over the runs
	Runs          int       `json:"runs"`
	EndReason     EndReason `json:"end_reason"`
	EndDetail     string    `json:"end_detail,omitempty"`
	Resume        string    `json:"resume,omitempty"` // command; empty when there is nothing left
	ExitCode      int       `json:"exit_code"`
	Seeds         int64     `json:"seeds"`
	Pages         int64     `json:"pages"`
	Fetches       int64     `json:"fetches"`     // exchanges of any kind
	Found         int64     `json:"found"`       // distinct URLs
	QueuedLeft    int64     `json:"queued_left"` // still to fetch
	HostsLeft     int64     `json:"hosts_left"`  // with URLs still to fetch
	HostsTotal    int64     `json:"hosts_total"`
	BytesWire     int64     `json:"bytes_wire"`
	BytesBody     int64     `json:"bytes_body"`
	BytesArchived int64     `json:"bytes_archived"`
	WARCFiles     int       `json:"warc_files"`

	Outcomes map[string]int64 `json:"outcomes"` // by outcome.Outcome, of visited and failed URLs
	Skipped  map[string]int64 `json:"skipped"`  // by reason
	Status   map[string]int64 `json:"status"`   // "2xx" and so on

	Hosts []HostSummary `json:"hosts"` // the largest, at most MaxSummaryHosts
}

// HostSummary is one host of a summary.
type HostSummary struct {
	Host       string `json:"host"`
	Pages      int64  `json:"pages"`
	Failed     int64  `json:"failed"`
	Skipped    int64  `json:"skipped"`
	QueuedLeft int64  `json:"queued_left"`
	BytesWire  int64  `json:"bytes_wire"`
	GapMS      int64  `json:"gap_ms"` // in force at the end
	GapReason  string `json:"gap_reason,omitempty"`
}

// WriteSummary replaces summary.json. Version, type and format are filled in; hosts beyond MaxSummaryHosts
// are left out.
func (d *Dir) WriteSummary(s Summary) error {
	s.V, s.Type, s.Format = recordVersion, "summary", FormatVersion
	s.Started, s.Ended = s.Started.UTC().Truncate(time.Millisecond), s.Ended.UTC().Truncate(time.Millisecond)
	s.Hosts = append([]HostSummary{}, s.Hosts[:min(len(s.Hosts), MaxSummaryHosts)]...) // [] rather than null
	for _, m := range []*map[string]int64{&s.Outcomes, &s.Skipped, &s.Status} {
		if *m == nil {
			*m = map[string]int64{}
		}
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return d.WriteFile(SummaryName, append(b, '\n'))
}

// ReadSummary reads summary.json; ok is false when no run has ended yet.
func (d *Dir) ReadSummary() (s Summary, ok bool, err error) {
	b, err := readFile(d.fs, d.Summary())
	if errors.Is(err, fs.ErrNotExist) {
		return Summary{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		return Summary{}, false, fmt.Errorf("read summary %s: %w", d.Summary(), err)
	}
	return s, true, nil
}
