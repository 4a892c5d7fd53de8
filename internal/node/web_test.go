package node

import (
	"context"
	"os"
	"strings"
	"testing"

	"decorum/internal/jobdir"
	"decorum/internal/simweb"
	"decorum/internal/store"
	"decorum/internal/web"
)

// TestLiveNodeCanBeAsked runs a small crawl in real time, asks it through its crawl folder before and after, and holds
// what it says against the summary.
func TestLiveNodeCanBeAsked(t *testing.T) {
	o := simweb.Plain()
	o.Hosts, o.Pages = 3, 20
	s := newSim(t, o)
	s.fs = store.OS()                                            // where other processes look
	s.cfg.Delay, s.cfg.IPGap, s.cfg.Listen = 0, 0, "127.0.0.1:0" // no rest for hosts on local addresses
	n := s.open()
	defer n.Close()
	live, err := n.Live(LiveOptions{Feed: web.NewFeed()})
	if err != nil {
		t.Fatal(err)
	}
	found, ok, err := web.ReadLive(s.dir)
	if err != nil || !ok || found.PID != os.Getpid() || !strings.HasPrefix(live.Page(), found.URL+"?token=") {
		t.Fatalf("%+v %v %v, page %s", found, ok, err, live.Page())
	}
	if info, err := os.Stat(s.dir + "/" + web.LiveName); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the token: %v %v", info, err)
	}
	st, err := found.Status(t.Context(), 0)
	if err != nil || st.State != web.Starting || st.Run != 1 || st.Dir != s.dir {
		t.Errorf("before: %+v %v", st, err)
	}
	r, err := n.Run(context.Background(), context.Background())
	if err != nil || r.Reason != jobdir.EndExhausted {
		t.Fatalf("%+v %v", r, err)
	}
	if st, err = found.Status(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	sum := &r.Summary
	for what, pair := range map[string][2]uint64{"pages": {st.Pages, uint64(sum.Pages)}, "fetches": {st.Fetches, uint64(sum.Fetches)}, "found": {st.Found, uint64(sum.Found)},
		"queued": {st.Queued, uint64(sum.QueuedLeft)}, "bytes": {st.Bytes.Wire, uint64(sum.BytesWire)}, "2xx": {st.Responses.S2xx, uint64(sum.Status["2xx"])}} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %d on the screen, %d in the summary", what, pair[0], pair[1])
		}
	}
	if err := live.Close(); err != nil {
		t.Error(err)
	}
	if _, ok, _ := web.ReadLive(s.dir); ok {
		t.Error("the file stays behind")
	}
}

// TestExcludeIsKept: a rule added to a running crawl is in its options afterwards.
func TestExcludeIsKept(t *testing.T) {
	s := newSim(t, simweb.Plain())
	n := s.open()
	defer n.Close()
	if _, err := n.exclude("re:("); err == nil {
		t.Error("took a broken pattern")
	}
	if text, err := n.exclude("*/print/*"); err != nil || !strings.Contains(text, "*/print/*") {
		t.Errorf("%q %v", text, err)
	}
	if raw := s.read(jobdir.ConfigName); strings.Count(string(raw), "*/print/*") != 1 {
		t.Errorf("%s", raw)
	}
}

// TestTakenPortIsNoReasonNotToCrawl: the live page is left out when its address cannot be had.
func TestTakenPortIsNoReasonNotToCrawl(t *testing.T) {
	s := newSim(t, simweb.Plain())
	s.cfg.Listen, s.cfg.Token = "203.0.113.7:7070", "x" // TEST-NET-3: nobody's address
	n := s.open()
	defer n.Close()
	live, err := n.Live(LiveOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if live.Page() != "" || live.Status(0).Run != 1 {
		t.Errorf("page %q", live.Page())
	}
	if err := live.Close(); err != nil {
		t.Error(err)
	}
}
