package node

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"decorum/internal/jobdir"
	"decorum/internal/outcome"
)

// What becomes of a URL, by what its server does.

func TestRedirects(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		pages := toySite{"/": linking("/chain/0", "/loop/1", "/self", "/away", "/endless/0", "/nowhere"),
			"/chain/3": linking("/end"), "/end": "end", "/loop/1": movedTo("/loop/2"), "/loop/2": movedTo("/loop/1"), "/self": movedTo("/self"),
			"/away": movedTo("http://b.museum/in"), "/nowhere": answering(302)}
		for i := range 3 {
			pages[fmt.Sprintf("/chain/%d", i)] = movedTo(fmt.Sprintf("/chain/%d", i+1))
		}
		for i := range 12 {
			pages[fmt.Sprintf("/endless/%d", i)] = movedTo(fmt.Sprintf("/endless/%d", i+1))
		}
		y.host("a.museum", pages)
		y.host("b.museum", toySite{"/in": "b"})
		y.crawl()
		got := y.pages()
		for path, want := range map[string]string{"/chain/0": "redirect", "/chain/3": "ok", "/end": "ok", "/loop/1": "redirect", "/loop/2": "redirect", "/self": "redirect",
			"/away": "redirect", "/nowhere": "bad_redirect", "/endless/10": "redirect"} {
			if o := got["http://a.museum"+path].Outcome; o != want {
				t.Errorf("%s: %q, want %q", path, o, want)
			}
		}
		if p := got["http://a.museum/chain/3"]; p.Hops != "LRRR" || p.Depth != 1 || p.Parent != "http://a.museum/chain/2" {
			t.Errorf("hops %q, depth %d, parent %s", p.Hops, p.Depth, p.Parent)
		}
		skipped := y.skipped()
		if why := skipped["http://b.museum/in"]; why != "scope" {
			t.Errorf("a redirect out of scope is skipped for %q", why)
		}
		if why := skipped["http://a.museum/endless/11"]; why != "redirect_limit" {
			t.Errorf("the eleventh redirect is skipped for %q", why)
		}
		targets := y.got()
		slices.Sort(targets)
		if n := len(slices.Compact(slices.Clone(targets))); n != len(targets) {
			t.Errorf("some URLs were asked for twice: %q", targets)
		}
	})
}

// A seed that moved within its domain is still the seed.
func TestSeedsThatMove(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://old.city.museum/", "http://gone.museum/", "http://page.museum/here")
		y.host("old.city.museum", toySite{"/": movedTo("http://new.city.museum/home")})
		y.host("new.city.museum", toySite{"/home": linking("/more"), "/more": "more"})
		y.host("gone.museum", toySite{"/": movedTo("http://taken.museum/")})
		y.host("taken.museum", toySite{"/": "somebody else"})
		y.host("page.museum", toySite{"/here": movedTo("http://www.page.museum/there")})
		y.host("www.page.museum", toySite{"/there": "there"})
		_, failed := y.crawl()
		y.expect("old.city.museum/", "new.city.museum/home", "new.city.museum/more", "gone.museum/", "page.museum/here", "www.page.museum/there")
		if failed != "" {
			t.Error(failed)
		}
	})
}

func TestSeedsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		seed   string
		page   any
		robots any
		want   string // in the explanation
	}{
		"not found":             {"http://a.museum/", nil, nil, "no such page"},
		"no such host":          {"http://nowhere.invalid/", nil, nil, "does not exist"},
		"refused":               {"http://down.museum/", nil, nil, "stayed unreachable"},
		"private":               {"http://lan.museum/", nil, nil, "--allow-net"},
		"barred":                {"http://a.museum/", "home", "User-agent: *\nDisallow: /\n", "Disallow: /"},
		"moved to another site": {"http://a.museum/", movedTo("http://elsewhere.museum/"), nil, "redirects elsewhere"},
		"moved to nothing":      {"http://a.museum/", movedTo("/none"), nil, "redirects elsewhere"},
		"robots fail":           {"http://a.museum/", "home", answering(500), "stayed unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				y := newToy(t, c.seed)
				y.host("a.museum", toySite{"/": c.page, "/robots.txt": c.robots})
				y.at("lan.museum", "10.0.0.1", toySite{"/": "lan"})
				y.cfg.Resolve = append(y.cfg.Resolve, "down.museum:93.184.9.9")
				if _, failed := y.crawl(); !strings.Contains(failed, c.want) || !strings.HasPrefix(failed, c.seed) {
					t.Errorf("%q", failed)
				}
			})
		})
	}
}

// A robots.txt that is redirected to a host which never answers does not keep a crawl going for ever, and no page is
// fetched without it. Other hosts are not in its way.
func TestRobotsRedirectedToADeadHost(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/", "http://b.museum/")
		y.host("a.museum", toySite{"/": "home", "/robots.txt": movedTo("http://down.museum/robots.txt")})
		y.host("b.museum", toySite{"/": linking("/1"), "/1": "1"})
		y.cfg.Resolve = append(y.cfg.Resolve, "down.museum:93.184.9.9")
		start := time.Now()
		r, _ := y.crawl()
		y.expect("b.museum/", "b.museum/1")
		if y.skipped()["http://a.museum/"] != "gave_up" || r.Summary.QueuedLeft != 0 {
			t.Errorf("%v, %d left", y.skipped(), r.Summary.QueuedLeft)
		}
		if took := time.Since(start); took > 24*time.Hour || len(y.log) > 30 {
			t.Errorf("%d contacts in %v", len(y.log), took)
		}
	})
}

// failing answers with a status the first times, then with a page.
func failing(times, code int, after string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if times--; times >= 0 {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(code)
		}
		fmt.Fprintf(w, "page after all %d", code)
	}
}

func TestRetries(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/", "http://limited.museum/")
		y.host("a.museum", toySite{"/": linking("/twice", "/always", "/teapot"), "/twice": failing(2, 500, ""), "/always": failing(100, 502, ""), "/teapot": failing(100, 418, "")})
		y.host("limited.museum", toySite{"/": failing(1, 429, "100")})
		r, _ := y.crawl()
		attempts := map[string][]int{}
		for _, f := range y.fetches() {
			attempts[f.URL] = append(attempts[f.URL], f.Attempt)
		}
		for u, want := range map[string][]int{"http://a.museum/twice": {1, 2, 3}, "http://a.museum/always": {1, 2, 3, 4}, "http://a.museum/teapot": {1}, "http://limited.museum/": {1, 2}} {
			if !slices.Equal(attempts[u], want) {
				t.Errorf("%s: attempts %v, want %v", u, attempts[u], want)
			}
		}
		pages := y.pages() // each once
		for u, want := range map[string]string{"http://a.museum/twice": "ok", "http://a.museum/always": "server_error", "http://a.museum/teapot": "client_error", "http://limited.museum/": "ok"} {
			if p := pages[u]; p.Outcome != want || p.Attempt != len(attempts[u]) {
				t.Errorf("%s: %s at attempt %d", u, p.Outcome, p.Attempt)
			}
		}
		if n := r.Summary.Outcomes["ok"]; n != 3 || r.Summary.Outcomes["server_error"] != 1 || r.Summary.Pages != 5 {
			t.Errorf("%+v", r.Summary.Outcomes)
		}
	})
}

// A server that asks for rest gets it, with everything else on the host.
func TestRetryAfterRestsTheHost(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		y.host("a.museum", toySite{"/": linking("/1", "/2", "/3"), "/1": failing(1, 503, "300"), "/2": failing(1, 503, "300"), "/3": failing(1, 503, "300")})
		y.crawl()
		var last visitor
		refused := map[string]bool{}
		for _, v := range y.log {
			if len(last.target) == 2 && !refused[last.target] { // /1, /2 or /3 for the first time
				refused[last.target] = true
				if gap := v.start.Sub(last.end); gap < 300*time.Second {
					t.Errorf("%s came %v after the host had asked for 300 s", v.target, gap)
				}
			}
			last = v
		}
		if len(y.got()) != 7 {
			t.Errorf("%q", y.got())
		}
	})
}

func TestBodiesOfAllSizes(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		huge := linking("/from-huge") + strings.Repeat("<p>a very long page</p>\n", 150_000) // 3.6 MB: beyond memory, in a spool file
		packed := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, huge+linking("/from-packed"))
			z.Close()
		}
		too := func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, linking("/from-cut"))
			w.Write(bytes.Repeat([]byte("<p>longer than allowed</p>"), 300_000))
		}
		y.host("a.museum", toySite{"/": linking("/huge", "/packed", "/cut", "/empty", "/204", "/304", "/empty2"), "/huge": huge, "/packed": packed, "/cut": too,
			"/empty": "", "/empty2": "", "/204": answering(204), "/304": answering(304), "/from-huge": "1", "/from-packed": "2", "/from-cut": "3"})
		y.cfg.MaxBody = 4 << 20
		y.crawl()
		pages := y.pages()
		for path, want := range map[string]string{"/huge": "ok", "/packed": "ok", "/cut": "ok", "/empty": "ok", "/empty2": "ok", "/204": "ok", "/304": "not_modified",
			"/from-huge": "ok", "/from-packed": "ok", "/from-cut": "ok"} {
			if p := pages["http://a.museum"+path]; p.Outcome != want || (p.Truncated == "length") != (path == "/cut") {
				t.Errorf("%s: %q, truncated %q", path, p.Outcome, p.Truncated)
			}
		}
		if n := pages["http://a.museum/huge"].BytesBody.Or(0); n != int64(len(huge)) {
			t.Errorf("%d bytes of %d", n, len(huge))
		}
		if n := pages["http://a.museum/cut"].BytesBody.Or(0); n != 4<<20 {
			t.Errorf("cut at %d", n)
		}
	})
}

// Bodies that together are many times the memory for them pass one after the other, and nobody waits for ever.
func TestBodiesBeyondMemory(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t)
		noise := make([]byte, 7<<20)
		r := rand.NewChaCha8([32]byte{1})
		for i := range 6 {
			name := fmt.Sprintf("h%d.museum", i)
			y.seeds = append(y.seeds, "http://"+name+"/")
			y.host(name, toySite{"/": func(w http.ResponseWriter, _ *http.Request) {
				r.Read(noise)
				w.Write(noise)
			}})
		}
		y.cfg.Memory = 64 << 20 // 16 MiB for bodies: less than two of these, decoded and received
		if r, _ := y.crawl(); r.Summary.Outcomes["ok"] != 6 {
			t.Errorf("%v", r.Summary.Outcomes)
		}
	})
}

// S4-11: whatever is dropped is accounted for, also when a page has more of it than is listed.
func TestDroppedLinksAreAllCounted(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		const foreign = 3000
		refs := []string{"mailto:a@b.museum", "http://[broken/", "http://a.museum:port/", "/in"}
		for i := range foreign {
			refs = append(refs, "http://h"+strconv.Itoa(i)+".museum/")
		}
		y.host("a.museum", toySite{"/": linking(refs...), "/in": linking("http://[broken/")})
		r, _ := y.crawl()
		if got := r.Summary.Skipped; got["scope"] != foreign || got["bad_url"] != 2 {
			t.Errorf("%v", got)
		}
		counted := map[string]int64{}
		for rec, err := range jobdir.Records[jobdir.SkipRecord](bytes.NewReader(y.read(jobdir.SkippedName))) {
			if err != nil {
				t.Fatal(err)
			}
			counted[rec.Reason] += max(rec.Count, 1)
		}
		if counted["scope"] != foreign || counted["bad_url"] != 2 {
			t.Errorf("skipped.jsonl accounts for %v", counted)
		}
	})
}

// what the meter says is what the records and the server say.
func TestNumbersAreTheTruth(t *testing.T) {
	virtually(t, func(t *testing.T) {
		y := newToy(t, "http://a.museum/")
		y.host("a.museum", toySite{"/": linking("/1", "/2", "/dup", "/none", "/err", "http://down.museum/", "http://out.example.museum:81/"),
			"/1": "one", "/2": movedTo("/1"), "/dup": "one", "/err": failing(1, 500, "")})
		y.cfg.Scope, y.cfg.Retries = "any", 1
		y.cfg.Resolve = append(y.cfg.Resolve, "down.museum:93.184.9.9", "out.example.museum:93.184.9.8")
		r, _ := y.crawl()
		sum := r.Summary
		outcomes, status, wire, body := map[string]int64{}, map[string]int64{}, int64(0), int64(0)
		for _, p := range y.pages() {
			outcomes[p.Outcome]++
			body += p.BytesBody.Or(0)
		}
		for _, f := range y.fetches() {
			wire += f.BytesWire.Or(0)
			if f.Status > 0 {
				status[fmt.Sprintf("%dxx", f.Status/100)]++
			}
		}
		skips := map[string]int64{}
		for _, why := range y.skipped() {
			skips[why]++
		}
		for what, pair := range map[string][2]any{"outcomes": {outcomes, sum.Outcomes}, "status": {status, sum.Status}, "skipped": {skips, sum.Skipped},
			"bytes received": {wire, sum.BytesWire}, "bytes of bodies": {body, sum.BytesBody}, "exchanges": {int64(len(y.fetches())), sum.Fetches}, "pages": {int64(len(y.pages())), sum.Pages}} {
			if fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) {
				t.Errorf("%s: %v in the records, %v in the summary", what, pair[0], pair[1])
			}
		}
		if len(y.fetches()) < len(y.log) {
			t.Errorf("%d exchanges recorded, %d served", len(y.fetches()), len(y.log))
		}
		if outcomes[outcome.Duplicate.String()] != 1 || sum.Skipped["port"] != 1 || sum.QueuedLeft != 0 {
			t.Errorf("%v, %v, %d left", outcomes, sum.Skipped, sum.QueuedLeft)
		}
	})
}
