package node

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"decorum/internal/weburl"
)

// zone is a name server in memory. Of each name it has the answers to the first question, the second and so on, the last of which
// stays: addresses, separated by blanks, or "=" and the name it is an alias of; "!" is a failure and "?" silence. All live for a second.
type zone struct {
	names map[string][]string

	mu    sync.Mutex
	asked map[string]int // by name; guarded by mu
}

func newZone(names map[string][]string) *zone { return &zone{names: names, asked: map[string]int{}} }

func (z *zone) dial(_ context.Context, network, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		defer server.Close()
		buf := make([]byte, 2048)
		n, err := server.Read(buf)
		if err != nil || network != "udp" {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			return
		}
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		if z.answer(&m) {
			reply, _ := m.Pack()
			_, _ = server.Write(reply)
		}
		_, _ = server.Read(buf) // until the client hangs up
	}()
	return client, nil
}

// answer completes the reply, unless there is none.
func (z *zone) answer(m *dnsmessage.Message) bool {
	q := m.Questions[0]
	z.mu.Lock()
	defer z.mu.Unlock()
	name := strings.TrimSuffix(q.Name.String(), ".")
	z.asked[name+q.Type.String()]++
	nth := z.asked[name+q.Type.String()]
	for range 20 { // aliases
		answers := z.names[name]
		if answers == nil {
			m.RCode = dnsmessage.RCodeNameError
			return true
		}
		answer := answers[min(nth, len(answers))-1]
		switch answer {
		case "!":
			m.RCode = dnsmessage.RCodeServerFailure
			return true
		case "?":
			return false
		}
		h := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name + "."), Class: dnsmessage.ClassINET, TTL: 1}
		alias, ok := strings.CutPrefix(answer, "=")
		if ok {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(alias + ".")}})
			name = alias
			continue
		}
		for text := range strings.FieldsSeq(answer) {
			switch a := netip.MustParseAddr(text); {
			case a.Is4() && q.Type == dnsmessage.TypeA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
			case a.Is6() && q.Type == dnsmessage.TypeAAAA:
				m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
			}
		}
		return true
	}
	return true
}

// private are addresses that are refused, in every form in which a link can have them.
var private = []string{
	"127.0.0.1", "127.1", "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0x7f.0.0.1", "127.0.0.1.", "１２７.0.0.1", "127。0。0。1", "%31%32%37.0.0.1",
	"0.0.0.0", "0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "169.254.169.254", "2852039166", "100.100.100.200",
	"192.0.2.1", "198.18.0.1", "224.0.0.1", "255.255.255.255",
	"[::1]", "[::]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:a00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::1]", "[2002:7f00:1::]",
	"[fd00:ec2::254]", "[fe80::1]", "[fc00::1]", "[ff02::1]", "[2001:db8::1]",
}

// judgeDials fails the test if anything was dialed but the addresses and ports named.
func (s *stage) judgeDials(t *testing.T, allowed ...string) {
	t.Helper()
	for addr := range s.dials {
		if public := strings.HasPrefix(addr, "93.184.") && strings.HasSuffix(addr, ":80"); !public && !slices.Contains(allowed, addr) {
			t.Errorf("%s was dialed", addr)
		}
	}
}

// wantSkipped fails the test unless skipped.jsonl gives the reason for the URL.
func (s *stage) wantSkipped(t *testing.T, url, reason string) {
	t.Helper()
	if got := strings.Join(s.skipped(url), "; "); !strings.HasPrefix(got, reason+": ") {
		t.Errorf("%s is skipped as %q, want %s", url, got, reason)
	}
}

// However a page names a private address, it is not contacted, and skipped.jsonl says so.
func TestPrivateAddressesInLinks(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.cfg.Scope, s.seeds = "any", []string{"http://good.museum/"}
		var links []string
		for _, host := range private {
			links = append(links, "http://"+host+"/")
		}
		s.host("good.museum", site(map[string]act{"/": html(hrefs(links...))}))
		r := s.run()
		if n := len(s.skips()); r.Summary.Pages != 1 || n != 26 {
			t.Errorf("%d pages, %d skipped; want 1 page, and the 26 addresses that these forms are of", r.Summary.Pages, n)
		}
		for _, skip := range s.skips() {
			if skip.Reason != "address" || !strings.Contains(skip.Rule, "address") {
				t.Errorf("%s is skipped as %s: %s", skip.URL, skip.Reason, skip.Rule)
			}
		}
		for _, url := range []string{"http://127.0.0.1/", "http://[::1]/", "http://[::ffff:7f00:1]/", "http://169.254.169.254/", "http://0.0.0.0/"} {
			s.wantSkipped(t, url, "address")
		}
		s.judgeDials(t)
	})
}

// Every way from one URL to the next ends at a private address.
func TestPrivateAddressesOnEveryHop(t *testing.T) {
	const internal = "http://10.0.0.1"
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.cfg.Scope, s.seeds = "any", []string{"http://good.museum/"}
		home := `<link rel="canonical" href="http://10.0.0.1/canonical"><link rel="next" href="http://10.0.0.1/next"><link rel="stylesheet" href="http://10.0.0.1/style">
			<meta http-equiv="refresh" content="5; url=http://10.0.0.1/refresh"><img src="http://10.0.0.1/image"><iframe src="http://10.0.0.1/frame"></iframe>
			<img srcset="http://10.0.0.1/srcset 2x"><a href="/base">base</a><a href="/redirect">redirect</a><a href="/chain">chain</a><a href="/seemap">more</a>`
		header := asHTML + "Link: <http://10.0.0.1/link>; rel=next\r\nRefresh: 1; url=http://10.0.0.1/header\r\n"
		entries := `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://10.0.0.1/entry</loc></url></urlset>`
		index := `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://10.0.0.1/index</loc></sitemap></sitemapindex>`
		feed := `<rss version="2.0"><channel><item><link>http://10.0.0.1/feed</link></item></channel></rss>`
		s.host("good.museum", site(map[string]act{
			"/":            say(answer(200, header, home)),
			"/base":        html(`<base href="http://10.0.0.1/base/"><a href="below">below</a>`),
			"/redirect":    redirectTo("http://10.0.0.1/redirect"),
			"/chain":       redirectTo("http://other.museum/"),
			"/seemap":      html(hrefs("/feed.xml")),
			"/feed.xml":    say(answer(200, "Content-Type: application/rss+xml\r\n", feed)),
			"/sitemap.xml": say(answer(200, "Content-Type: text/xml\r\n", entries)),
			"/index.xml":   say(answer(200, "Content-Type: text/xml\r\n", index)),
			"/robots.txt":  say(answer(200, "", "Sitemap: http://10.0.0.1/sitemap\nSitemap: /sitemap.xml\nSitemap: /index.xml\n")),
		}))
		s.host("other.museum", site(map[string]act{"/": redirectTo("http://10.0.0.1/chain")}))
		s.run()
		for _, path := range []string{"canonical", "next", "style", "refresh", "image", "frame", "srcset", "base/below", "redirect", "chain", "link", "header", "entry", "feed"} {
			s.wantSkipped(t, internal+"/"+path, "address")
		}
		for _, path := range []string{"sitemap", "index"} {
			s.wantSkipped(t, internal+"/"+path, "scope")
		}
		s.judgeDials(t)
	})
}

// Names are no way around the policy: what counts is the address at the time of the contact.
func TestNamesOfPrivateAddresses(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.cfg.Scope, s.seeds = "any", []string{"http://good.museum/"}
		names := map[string][]string{
			"good.museum": {"93.184.0.1"}, "mixed.museum": {"10.0.0.1 93.184.0.2 192.168.0.1"}, "six.museum": {"2606:2800::1"},
			"loopback.museum": {"127.0.0.1"}, "metadata.museum": {"169.254.169.254"}, "six-loopback.museum": {"::1"}, "mapped.museum": {"::ffff:127.0.0.1"},
			"nat64.museum": {"64:ff9b::a00:1"}, "all.museum": {"10.0.0.1 192.168.0.1 ::1"},
			"alias.museum": {"=www.alias.museum"}, "www.alias.museum": {"=inside.museum"}, "inside.museum": {"10.0.0.7"},
			"127.0.0.1.nip.museum": {"127.0.0.1"},
		}
		s.dns = newZone(names).dial
		var links []string
		for name := range names {
			links = append(links, "http://"+name+"/")
		}
		page := func(w *wire, q hit) bool { return html("page of "+q.host)(w, q) }
		s.at("good.museum", netip.MustParseAddr("93.184.0.1"), site(map[string]act{"/": html(hrefs(links...))}))
		s.at("mixed.museum", netip.MustParseAddr("93.184.0.2"), site(map[string]act{"/": page}))
		s.at("six.museum", netip.MustParseAddr("2606:2800::1"), site(map[string]act{"/": page}))
		s.run()
		for name := range names {
			switch url := "http://" + name + "/"; name {
			case "good.museum", "mixed.museum", "six.museum":
				if p := s.pages()[url]; p.Outcome != "ok" {
					t.Errorf("%s is %q; %v", url, p.Outcome, s.skipped(url))
				}
			default:
				s.wantSkipped(t, url, "address")
			}
		}
		s.judgeDials(t, "[2606:2800::1]:80")
	})
}

// A name that turns to a private address while it is crawled (DNS rebinding) is not followed there, and not by a
// connection that was kept.
func TestRebinding(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.seeds = []string{"http://evil.museum/0", "http://good.museum/0"}
		s.dns = newZone(map[string][]string{"evil.museum": {"93.184.0.1", "127.0.0.1"}, "good.museum": {"93.184.0.2"}}).dial
		s.at("evil.museum", netip.MustParseAddr("93.184.0.1"), func(w *wire, q hit) bool {
			if q.target == "/robots.txt" {
				return say(answer(404, "", ""))(w, q)
			}
			var n int
			fmt.Sscanf(q.target, "/%d", &n)
			return html(fmt.Sprintf("page %d", n)+hrefs(fmt.Sprintf("/%d", n+1)))(w, q)
		})
		good := s.at("good.museum", netip.MustParseAddr("93.184.0.2"), goodSite())
		s.run()
		s.judgeGood(t, good)
		pages := s.pages()
		last := len(pages) - goodPages - 1 // the good host has one link that leads nowhere
		if last < 20 || last > 40 {
			t.Errorf("%d pages of the host before it moved; its address is good for 30 seconds", last)
		}
		s.wantSkipped(t, fmt.Sprintf("http://evil.museum/%d", last), "address")
		s.judgeDials(t)
	})
}

// Ports other than 80 and 443 are open to those who name them.
func TestPorts(t *testing.T) {
	for _, c := range []struct {
		name  string
		seed  string
		allow []uint16
		open  map[int]bool
	}{
		{"default", "http://good.museum/", nil, map[int]bool{80: true}},
		{"a seed with a port", "http://good.museum:8080/", nil, map[int]bool{80: true, 8080: true}},
		{"--allow-port", "http://good.museum/", []uint16{8081}, map[int]bool{80: true, 8081: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := newStage(t)
				s.cfg.Scope, s.cfg.AllowPort, s.seeds = "any", c.allow, []string{c.seed}
				ports := []int{22, 25, 80, 6379, 8080, 8081, 65535}
				var links, allowed []string
				for _, p := range ports {
					links = append(links, fmt.Sprintf("http://good.museum:%d/p", p), fmt.Sprintf("/to/%d", p))
				}
				good := s.host("good.museum", func(w *wire, q hit) bool {
					var port int
					switch n, _ := fmt.Sscanf(q.target, "/to/%d", &port); {
					case n == 1:
						return redirectTo(fmt.Sprintf("http://good.museum:%d/hop", port))(w, q)
					case q.target == "/robots.txt":
						return say(answer(404, "", ""))(w, q)
					case q.target == "/":
						return html(hrefs(links...))(w, q)
					}
					return html("page")(w, q)
				})
				s.run()
				for _, p := range ports {
					origin := fmt.Sprintf("http://good.museum:%d", p)
					if p == 80 {
						origin = "http://good.museum"
					}
					for _, path := range []string{"/p", "/hop"} {
						if c.open[p] {
							allowed = append(allowed, fmt.Sprintf("%v:%d", good.addr, p))
							if s.pages()[origin+path].Status != 200 {
								t.Errorf("%s%s was not visited: %v", origin, path, s.skipped(origin+path))
							}
						} else {
							s.wantSkipped(t, origin+path, "port")
						}
					}
				}
				s.judgeDials(t, allowed...)
			})
		})
	}
}

// --allow-net allows its network and nothing beside it; a private seed allows its own address alone.
func TestAllowNetIsPrecise(t *testing.T) {
	for _, c := range []struct {
		name string
		nets []string
		seed string
		open []string
	}{
		{"a network", []string{"10.1.2.0/24"}, "http://good.museum/", []string{"10.1.2.0", "10.1.2.3", "10.1.2.255", "[::ffff:10.1.2.4]"}},
		{"an address", []string{"10.1.2.3"}, "http://good.museum/", []string{"10.1.2.3"}},
		{"a mapped network", []string{"::ffff:10.1.2.0/120"}, "http://good.museum/", []string{"10.1.2.0", "10.1.2.3", "10.1.2.255", "[::ffff:10.1.2.4]"}},
		{"IPv6", []string{"fd00:1::/32"}, "http://good.museum/", []string{"[fd00:1::1]"}},
		{"a private seed", nil, "http://10.1.2.3/", []string{"10.1.2.3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := newStage(t)
				s.cfg.Scope, s.cfg.AllowNet, s.cfg.Delay, s.seeds = "any", c.nets, 0, []string{c.seed}
				hosts := []string{"10.1.2.0", "10.1.2.3", "10.1.2.255", "10.1.1.255", "10.1.3.0", "[::ffff:10.1.2.4]", "[::ffff:10.1.3.4]", "[fd00:1::1]", "[fd00:2::1]", "127.0.0.1"}
				var links, allowed []string
				for _, h := range hosts {
					links = append(links, "http://"+h+"/")
				}
				home := html(hrefs(links...))
				s.host("good.museum", site(map[string]act{"/": home}))
				for _, h := range hosts {
					addr := netip.MustParseAddr(strings.Trim(h, "[]")).Unmap()
					play := html("page of " + h)
					if "http://"+h+"/" == c.seed {
						play = home
					}
					s.at(h, addr, site(map[string]act{"/": play}))
				}
				s.run()
				for _, h := range hosts {
					u, err := weburl.Parse("http://" + h + "/")
					if err != nil {
						t.Fatal(err)
					}
					url, addr := u.String(), netip.MustParseAddr(strings.Trim(h, "[]")).Unmap()
					switch {
					case !slices.Contains(c.open, h):
						s.wantSkipped(t, url, "address")
					case s.pages()[url].Status != 200:
						t.Errorf("%s was not visited: %v", url, s.skipped(url))
					default:
						allowed = append(allowed, netip.AddrPortFrom(addr, 80).String())
					}
				}
				s.judgeDials(t, allowed...)
			})
		})
	}
}

// Names without addresses end, each in its way, and keep nobody waiting.
func TestNamesWithoutAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		outcome string // of the seed
	}{
		"no such name":    {nil, "dns_not_found"},
		"no address":      {[]string{" "}, "dns_not_found"},
		"failure":         {[]string{"!"}, "dns_failure"},
		"silence":         {[]string{"?"}, "dns_failure"},
		"alias in a loop": {[]string{"=evil.museum"}, "dns_failure"},
		"failure once":    {[]string{"!", "!", "!", "!", "93.184.0.1"}, "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := newStage(t)
				s.cfg.Concurrency, s.seeds = 2, []string{"http://evil.museum/", "http://good.museum/0"}
				names := map[string][]string{"good.museum": {"93.184.0.2"}}
				if c.answers != nil {
					names["evil.museum"] = c.answers
				}
				s.dns = newZone(names).dial
				s.at("evil.museum", netip.MustParseAddr("93.184.0.1"), site(map[string]act{"/": html("evil")}))
				good := s.at("good.museum", netip.MustParseAddr("93.184.0.2"), goodSite())
				s.run()
				s.judgeGood(t, good)
				if p := s.pages()["http://evil.museum/"]; p.Outcome != c.outcome {
					t.Errorf("the page is %q, want %q", p.Outcome, c.outcome)
				}
				if took := time.Since(s.start); took > 10*time.Minute {
					t.Errorf("the crawl took %v", took)
				}
			})
		})
	}
}
