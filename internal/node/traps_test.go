package node

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"decorum/internal/simweb"
	"decorum/internal/weburl"
)

// generator answers a target with the body of a page, or "" for none. A trap does for endless targets.
type generator func(target string) string

// lost is a part of the trap's navigation that is the same on all pages: enough words for near-duplicates to be looked for.
var boilerplate = strings.Repeat("<p>All the words of a menu, a long side bar and of a footer that no page of this site does without</p>\n", 12)

// id is a different identifier for each text, in base 16 or 36.
func id(base int, text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	x := h.Sum64()
	if base == 16 {
		return fmt.Sprintf("%016x", x)
	}
	return strconv.FormatUint(x, 36) + strconv.FormatUint(x*0x9e3779b97f4a7c15>>8, 36)
}

// calendar has a page for each month, for ever.
func calendar(prefix, around string) generator {
	return func(target string) string {
		var year, month int
		if n, _ := fmt.Sscanf(strings.TrimPrefix(target, prefix), "%d/%d/", &year, &month); n != 2 {
			return ""
		}
		first := time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC)
		days, to := "", func(t time.Time) string { return fmt.Sprintf("%s%d/%02d/", prefix, t.Year(), t.Month()) }
		for i := range first.AddDate(0, 1, -1).Day() {
			days += fmt.Sprintf("<td>%v %d", (first.Weekday()+time.Weekday(i))%7, i+1)
		}
		return fmt.Sprintf("<title>%s</title><h1>%s %d</h1><table>%s</table><p>No events%s%s", target, first.Month(), year, days, around,
			hrefs(to(first.AddDate(0, -1, 0)), to(first.AddDate(0, 1, 0)), to(first.AddDate(1, 0, 0))))
	}
}

// sessions has the same list under a new session id with each link.
func sessions(base int, prefix, suffix, around string) generator {
	return func(target string) string {
		rest, ok := strings.CutPrefix(target, prefix)
		if !ok {
			return ""
		}
		body := "<h1>List</h1><p>Welcome</p>" + around
		for i := range 3 {
			body += "<a href=\"" + prefix + id(base, rest+strconv.Itoa(i)) + suffix + "\">go on</a>"
		}
		return body
	}
}

// facets is a shop in which each of twelve filters can be set to one of four values, in any combination, by links that keep what is set.
func facets(target string) string {
	_, query, ok := strings.Cut(target, "/shop?")
	if !ok {
		return ""
	}
	set := map[string]string{}
	for p := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(p, "=")
		set[name] = value
	}
	body := "<h1>Shop</h1>"
	for i := range 12 {
		name := "filter" + string(rune('a'+i))
		for _, value := range []string{"red", "green", "blue", "grey"} {
			with := maps.Clone(set)
			with[name] = value
			var params []string
			for _, n := range slices.Sorted(maps.Keys(with)) {
				params = append(params, n+"="+with[n])
			}
			body += "<p><a href=\"/shop?" + strings.Join(params, "&amp;") + "\">" + name + " " + value + "</a></p>\n"
		}
	}
	x := id(16, query)
	for i := range 8 { // some of the forty articles there are
		body += fmt.Sprintf("<p><a href=\"/real/%d\">article %d</a></p>\n", (int(x[i])*7+int(x[i+8]))%40, (int(x[i])*7+int(x[i+8]))%40)
	}
	return body
}

// permutations links to its query in other orders, and with one parameter more.
func permutations(target string) string {
	_, query, ok := strings.Cut(target, "/q?")
	if !ok {
		return ""
	}
	params := strings.Split(query, "&")
	rotated := append(slices.Clone(params[1:]), params[0])
	return "<h1>" + query + "</h1>" + hrefs("/q?"+strings.Join(rotated, "&amp;"), "/q?"+strings.Join(params, "&amp;")+fmt.Sprintf("&amp;f%d=x", len(params)))
}

// below is a directory whose every page has the same relative links, so that they lead ever deeper.
func below(prefix string, refs ...string) generator {
	return func(target string) string {
		if !strings.HasPrefix(target, prefix) {
			return ""
		}
		return "<h1>Directory " + target + "</h1>" + hrefs(refs...)
	}
}

// trapSite plays the trap beside forty real pages.
func trapSite(trap generator, entry string) act {
	home := "<h1>home</h1>" + hrefs(entry)
	for i := range 40 {
		home += hrefs(fmt.Sprintf("/real/%d", i))
	}
	return func(w *wire, q hit) bool {
		var n int
		switch k, _ := fmt.Sscanf(q.target, "/real/%d", &n); {
		case q.target == "/":
			return html(home)(w, q)
		case k == 1 && n < 40:
			return html(fmt.Sprintf("real page %d of %s %s", n, q.host, hrefs(fmt.Sprintf("/real/%d", n+1))))(w, q)
		}
		if body := trap(q.target); body != "" && q.target != "/robots.txt" {
			return html(body)(w, q)
		}
		return say(answer(404, "", ""))(w, q)
	}
}

// Each trap ends within the number of visits given, for the reason given, and the rest of the host is crawled. The page
// budget of the host is far away.
func TestTrapsEnd(t *testing.T) {
	for _, c := range []struct {
		name   string
		entry  string
		trap   generator
		reason string
		most   int // visits
	}{
		{"calendar by path", "/cal/2026/05/", calendar("/cal/", ""), "trap_pattern", 800},
		{"calendar by path, long pages", "/cal/2026/05/", calendar("/cal/", boilerplate), "trap_pattern", 800},
		{"calendar by query", "/cal?ym=2026/05/", calendar("/cal?ym=", ""), "trap_pattern", 800},
		{"hexadecimal session ids in the path", "/s/0123abcd/list", sessions(16, "/s/", "/list", ""), "trap_pattern", 250},
		{"the same, long pages", "/s/0123abcd/list", sessions(16, "/s/", "/list", boilerplate), "trap_pattern", 250},
		{"base 36 session ids in the path", "/s/x/list", sessions(36, "/s/", "/list", ""), "trap_pattern", 250},
		{"session ids in an unknown parameter", "/list?tok=0123abcd", sessions(16, "/list?tok=", "", ""), "trap_pattern", 250},
		{"session ids in the file name", "/list-0123abcd.html", sessions(16, "/list-", ".html", ""), "trap_pattern", 250},
		{"faceted search", "/shop?filtera=red", facets, "trap_pattern", 2500},
		{"query permutations", "/q?a=1&amp;b=2&amp;c=3", permutations, "trap_query", 800},
		{"ever deeper relative links", "/deep/x/", below("/deep/", "more/"), "trap_repeat", 10},
		{"ever deeper, by turns", "/deep/x/", below("/deep/", "down/", "more/"), "trap_repeat", 700},
		{"missing slash", "/dir/page", below("/dir", "dir/page", "other/page"), "trap_repeat", 700},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := newStage(t)
				s.cfg.HostPages, s.cfg.FastHost, s.cfg.IPGap, s.seeds = 4000, []string{"evil.museum"}, 0, []string{"http://evil.museum/"}
				evil := s.host(evilHost, trapSite(c.trap, c.entry))
				r := s.run()
				if r.Summary.Skipped[c.reason] == 0 || r.Summary.Skipped["host_budget"] > 0 {
					t.Errorf("skipped %v, want %s", r.Summary.Skipped, c.reason)
				}
				if n := int(r.Summary.Pages) - 42; n > c.most {
					t.Errorf("%d visits of the trap, want at most %d", n, c.most)
				}
				for i := range 40 {
					if evil.count(fmt.Sprintf("/real/%d", i)) != 1 {
						t.Errorf("real page %d was not visited", i)
					}
				}
				for _, skip := range s.skips() {
					if skip.Count > 0 {
						continue // stands for many
					}
					if u, err := weburl.Parse(skip.URL); err != nil || strings.HasPrefix(u.Path(), "/real/") || skip.Rule == "" {
						t.Errorf("skipped: %+v", skip)
					}
				}
				t.Logf("%d visits of the trap, skipped %v, %v", r.Summary.Pages-42, r.Summary.Skipped, time.Since(s.start))
			})
		})
	}
}

// A wildcard in the DNS has no end: within the scope of a domain the budget of hosts is one, within that of a host there is nothing to
// crawl. A university with many hosts loses none.
func TestSubdomains(t *testing.T) {
	wildcard := func(w *wire, q hit) bool {
		body := "<h1>Welcome to " + q.host + "</h1>"
		for i := range 3 {
			body += "<a href=\"http://" + id(16, q.host+strconv.Itoa(i)) + ".evil.museum/\">visit us</a>"
		}
		return html(body)(w, q)
	}
	university := func(w *wire, q hit) bool {
		n, ok := number(q.host, "institute-", ".evil.museum")
		if !ok && q.host != "evil.museum" {
			return say(answer(404, "", ""))(w, q)
		}
		body := boilerplate + "<h1>" + words(3, q.host+q.target) + "</h1>"
		if n < 300 {
			body += hrefs("/staff", fmt.Sprintf("http://institute-%d.evil.museum/", n+1), fmt.Sprintf("http://institute-%d.evil.museum/", 2*n))
		}
		return html(body)(w, q)
	}
	for _, c := range []struct {
		name, scope string
		play        act
		least, most int64 // pages
		reason      string
	}{
		{"wildcard in the scope of a host", "host", wildcard, 1, 1, "scope"},
		{"wildcard in the scope of a domain", "domain", wildcard, 1000, 3000, "trap_hosts"},
		{"university", "domain", university, 602, 1300, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := newStage(t)
				s.cfg.Scope, s.cfg.IPGap, s.seeds = c.scope, 0, []string{"http://evil.museum/", "http://good.museum/0"}
				s.host(evilHost, func(w *wire, q hit) bool {
					if q.target == "/robots.txt" {
						return say(answer(404, "", ""))(w, q)
					}
					return c.play(w, q)
				})
				s.cfg.Resolve = append(s.cfg.Resolve, "*."+s.cfg.Resolve[0])
				good := s.host("good.museum", goodSite())
				r := s.run()
				s.judgeGood(t, good)
				if n := r.Summary.Pages - goodPages - 1; n < c.least || n > c.most {
					t.Errorf("%d pages, want %d to %d; skipped %v", n, c.least, c.most, r.Summary.Skipped)
				}
				if c.reason != "" && r.Summary.Skipped[c.reason] == 0 || c.reason == "" && r.Summary.Skipped["trap_hosts"] > 0 {
					t.Errorf("skipped %v, want %s", r.Summary.Skipped, c.reason)
				}
				t.Logf("%d pages of %d hosts, skipped %v, %v", r.Summary.Pages, r.Summary.HostsTotal, r.Summary.Skipped, time.Since(s.start))
			})
		})
	}
}

// A rule of the operator keeps a path from being taken for a trap; then the budget of the host is what ends it.
func TestTrapsAreOverridden(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.cfg.HostPages, s.cfg.FastHost, s.cfg.IPGap, s.seeds = 600, []string{"evil.museum"}, 0, []string{"http://evil.museum/"}
		s.cfg.Include = []string{"no-trap:/cal/*"}
		s.host(evilHost, trapSite(calendar("/cal/", ""), "/cal/2026/05/"))
		if r := s.run(); r.Summary.Pages != 600 || r.Summary.Skipped["trap_pattern"] > 0 || r.Summary.Skipped["host_budget"] == 0 {
			t.Errorf("%d pages, skipped %v", r.Summary.Pages, r.Summary.Skipped)
		}
	})
}

// The traps of the demonstration web end by themselves, and no other page is lost, not even of their host.
func TestTrapsOfTheDemo(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newSim(t, simweb.Demo())
		s.cfg.Delay = 0
		r := s.crawl()
		if n := r.Summary.Skipped; n["host_budget"] > 0 || n["trap_pattern"] == 0 || n["trap_query"] == 0 {
			t.Errorf("skipped %v", n)
		}
		if missing, _, _ := s.web.Compare(s.visited(), "decorum"); len(missing) > 0 {
			t.Errorf("%d pages are missing: %q", len(missing), missing)
		}
		if r.Summary.Pages > 3000 {
			t.Errorf("%d pages of a web of 300 and four traps", r.Summary.Pages)
		}
		t.Logf("%d pages, skipped %v", r.Summary.Pages, r.Summary.Skipped)
	})
}
