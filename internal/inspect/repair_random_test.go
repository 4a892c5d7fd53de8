package inspect_test

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"decorum/internal/jobdir"
)

var repairs = flag.Int("repairs", 4, "how many folders to damage at random")

// TestRepairOfRandomDamage does to the files of a folder whatever comes to mind. After a repair it is sound, and after going
// on no page is missing.
func TestRepairOfRandomDamage(t *testing.T) {
	s := crawledSite(t, small())
	want := pageURLs(t, s.dir)
	for seed := range *repairs {
		rnd := rand.New(rand.NewPCG(uint64(seed), 77))
		dir := copyOf(t, s.dir)
		var done []string
		for range 1 + rnd.IntN(4) {
			done = append(done, hurt(t, dir, rnd))
		}
		r := mustRepair(t, dir)
		if !r.OK {
			t.Errorf("seed %d: %v\n%s", seed, done, repairText(r))
			continue
		}
		if again := mustRepair(t, dir); !again.OK || len(again.Actions) > 0 {
			t.Errorf("seed %d: %v: a second repair:\n%s", seed, done, repairText(again))
		}
		s.resume(t, dir)
		if missing := missingFrom(pageURLs(t, dir), want); missing != "" {
			t.Errorf("seed %d: %v: after going on %s is missing", seed, done, missing)
		}
		if c := mustCheck(t, dir); !c.OK {
			t.Errorf("seed %d: %v: after going on %s", seed, done, checkText(c))
		}
		os.RemoveAll(dir)
	}
}

// hurt damages one file and says how.
func hurt(t *testing.T, dir string, rnd *rand.Rand) string {
	archive, _ := firstWARC(t, dir)
	rel, _ := filepath.Rel(dir, archive)
	files := []string{rel, rel, rel, jobdir.PagesName, jobdir.FetchesName, jobdir.SkippedName, jobdir.LinksName, jobdir.IndexPartName, jobdir.IndexName, jobdir.SummaryName}
	name := files[rnd.IntN(len(files))]
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || len(raw) == 0 {
		return "nothing"
	}
	at, n := rnd.IntN(len(raw)), 1+rnd.IntN(2000)
	n = min(n, len(raw)-at)
	noise := make([]byte, n)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	var what string
	switch rnd.IntN(6) {
	case 0:
		what, raw[at] = "flip", raw[at]^byte(1<<rnd.IntN(8))
	case 1:
		what = "noise"
		copy(raw[at:], noise)
	case 2:
		what = "zeros"
		clear(raw[at : at+n])
	case 3:
		what, raw = "cut", raw[:at]
	case 4:
		what, raw = "less", slices.Delete(raw, at, at+n)
	case 5:
		what, raw = "more", slices.Insert(raw, at, noise...)
	}
	if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return what + " " + name
}
