package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"decorum/internal/config"
)

// hostilePage is a page that is hard to read. It must be read as far as a browser would, and the crawl goes on.
type hostilePage struct {
	name    string
	body    string
	mime    string   // default text/html
	links   []string // paths of pages of the host that must be visited because of it
	nothing []string // paths that must not be
	skipped string   // "URL reason: rule", in skipped.jsonl; $ is the page
	count   int64    // links_out, when not 0
}

func hostilePages() []hostilePage {
	const link = `<a href="/before">before</a>`
	var million strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&million, "<a href=/l/%d>", i)
	}
	mega := strings.Repeat("x", 1<<20)
	raw := func(tag string) hostilePage {
		return hostilePage{name: "unclosed " + tag, body: link + "<" + tag + ">" + `<a href="/inside-` + tag + `">inside</a>`, links: []string{"/before"},
			nothing: []string{"/inside-" + tag}}
	}
	return []hostilePage{
		{name: "a million links", body: million.String(), skipped: "$ link_limit: 990000 further links", count: 10000},
		{name: "a URL of 1 MB", body: `<a href="/` + mega + `">long</a><a href="/behind-a-long-url">b</a>`, links: []string{"/behind-a-long-url"},
			skipped: "/" + mega[:199] + " bad_url: URL is longer than 4096 bytes"},
		{name: "10 MB in one line", body: strings.Repeat("words without a line end ", 10<<20/25-10) + `<a href="/end-of-the-line">`, links: []string{"/end-of-the-line"}},
		{name: "nesting 100,000 deep", body: strings.Repeat("<div><b>", 100_000) + `<a href="/deep">deep</a>` + strings.Repeat("</b></div>", 100_000) + `<a href="/up-again">up</a>`,
			links: []string{"/deep", "/up-again"}},
		{name: "nested tables and lists", body: strings.Repeat("<table><tr><td><ul><li>", 20_000) + `<a href="/in-tables">x</a>`, links: []string{"/in-tables"}},
		{name: "nested foreign content", body: strings.Repeat("<svg><foreignObject><math>", 20_000) + `<a href="/in-svg">x</a>`, links: []string{"/in-svg"}},
		{name: "attributes of 1 MB", body: `<a title="` + mega + `" ` + mega + `=1 href="/big-attribute" class='` + mega + `'>x</a>`, links: []string{"/big-attribute"}},
		{name: "100,000 attributes", body: `<a ` + strings.Repeat("a=1 ", 100_000) + `href="/many-attributes">x</a>`, links: []string{"/many-attributes"}},
		{name: "unclosed attribute", body: link + `<a href="/never` + mega, links: []string{"/before"}},
		{name: "unclosed comment", body: link + `<!-- <a href="/in-comment">x</a>`, links: []string{"/before"}, nothing: []string{"/in-comment"}},
		{name: "a million comments", body: strings.Repeat("<!--", 1_000_000) + link},
		raw("script"), raw("style"), raw("textarea"), raw("title"), raw("plaintext"), raw("xmp"), raw("noembed"),
		{name: "unclosed noscript", body: link + `<noscript><a href="/in-noscript">x</a>`, links: []string{"/before", "/in-noscript"}},
		{name: "unclosed template", body: link + `<template><a href="/in-template">x</a>`, links: []string{"/before"}},
		{name: "a million <", body: strings.Repeat("<", 1_000_000) + link},
		{name: "a million &", body: strings.Repeat("&", 1_000_000) + `<a href="/` + strings.Repeat("&amp;", 100) + `x">`},
		{name: "binary as HTML", body: "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + strings.Repeat("\x00\x01\x02<a href=/in-image>", 1000), nothing: []string{"/in-image"}},
		{name: "noise as HTML", body: strings.Repeat("\x00\xff\xfe\x07\x1b", 50_000)},
		{name: "HTML as octet-stream", body: "<!DOCTYPE html><html>" + link + `<a href="/in-a-stream">x</a>`, mime: "application/octet-stream", links: []string{"/in-a-stream"}},
		{name: "HTML as image", body: "<!DOCTYPE html><html>" + link + `<a href="/in-a-jpeg">x</a>`, mime: "image/jpeg"},
		{name: "UTF-16 without a mark", body: "<\x00a\x00 \x00h\x00r\x00e\x00f\x00=\x00/\x00u\x00>\x00", mime: "text/html; charset=utf-16le", links: []string{"/u"}},
		{name: "a charset of 1 MB", body: `<meta charset="` + mega + `">` + link, links: []string{"/before"}},
		{name: "a refresh to itself", body: `<meta http-equiv=refresh content="0; url=?">` + link},
		{name: "a million sitemap entries", body: `<?xml version="1.0"?><urlset>` + strings.Repeat("<url><loc>http://evil.museum/s</loc></url>", 60_000), mime: "text/xml",
			skipped: "$ sitemap_limit: more than 50000 URLs"},
		{name: "an XML bomb", body: `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><urlset><url><loc>http://evil.museum/&b;</loc></url></urlset>`,
			mime: "text/xml"},
		{name: "empty", body: ""},
	}
}

func TestHostilePages(t *testing.T) {
	virtually(t, func(t *testing.T) {
		s := newStage(t)
		s.cfg.MaxBody, s.cfg.Exclude = config.Size(32<<20), []string{"/l/*"}
		s.cfg.FastHost, s.seeds = []string{"evil.museum"}, []string{"http://evil.museum/", "http://good.museum/0"}
		cases := hostilePages()
		pages, links := map[string]act{}, []string{}
		for i, p := range cases {
			if p.mime == "" {
				p.mime = "text/html"
			}
			links = append(links, fmt.Sprintf("/page/%c%c", 'a'+i%26, 'a'+i/26))
			pages[links[i]] = say(answer(200, "Content-Type: "+p.mime+"\r\n", p.body))
		}
		pages["/"] = html(hrefs(links...))
		for _, p := range cases {
			for _, path := range append(p.links, p.nothing...) {
				pages[path] = html("found " + path)
			}
		}
		s.host(evilHost, site(pages))
		good := s.host("good.museum", goodSite())
		s.run()
		s.judgeGood(t, good)
		visited := s.pages()
		for i, p := range cases {
			r := visited["http://evil.museum"+links[i]]
			if n, _ := r.BytesBody.Get(); r.Outcome != "ok" || r.Truncated != "" || n != int64(len(p.body)) {
				t.Errorf("%s: %s, %d bytes of %d, truncated %q", p.name, r.Outcome, n, len(p.body), r.Truncated)
			}
			if n, _ := r.LinksOut.Get(); p.count > 0 && n != p.count {
				t.Errorf("%s: %d links, want %d", p.name, n, p.count)
			}
			for _, path := range p.links {
				if visited["http://evil.museum"+path].Outcome != "ok" {
					t.Errorf("%s: %s was not visited", p.name, path)
				}
			}
			for _, path := range p.nothing {
				if visited["http://evil.museum"+path].Outcome != "" {
					t.Errorf("%s: %s was visited", p.name, path)
				}
			}
			if url, reason, ok := strings.Cut(strings.ReplaceAll(p.skipped, "$", "http://evil.museum"+links[i]), " "); ok {
				if got := strings.Join(s.skipped(url), "; "); !strings.HasPrefix(got, reason) {
					t.Errorf("%s: %.80s is skipped as %q, want %q", p.name, url, got, reason)
				}
			}
		}
		if took := time.Since(s.start); took > time.Minute {
			t.Errorf("the crawl took %v", took)
		}
	})
}
