package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/html"
)

// reach adds to want every URL of the site that a crawler finds from its front page: an independent reading of the
// files with a DOM and net/url, sharing no code with the crawler.
func reach(s site, port int, want map[string]bool) {
	base := &url.URL{Scheme: "http", Host: fmt.Sprintf("%s:%d", s.addr, port), Path: "/"}
	queue := []*url.URL{base}
	want[key(base)] = true
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		for _, ref := range links(s, u) {
			v, err := u.Parse(strings.TrimSpace(ref))
			if err != nil || v.Host != base.Host || v.Scheme != "http" || s.disallowed != "" && strings.HasPrefix(v.Path, s.disallowed) {
				continue
			}
			v.Fragment = ""
			if k := key(v); !want[k] {
				want[k] = true
				queue = append(queue, v)
			}
		}
	}
}

// key is one form for every spelling of a URL.
func key(u *url.URL) string {
	path := u.Path
	if path == "" {
		path = "/"
	}
	k := u.Host + path
	if u.RawQuery != "" {
		k += "?" + u.RawQuery
	}
	return k
}

// links reads the file behind a URL; a folder without a slash is a redirect to the same with one.
func links(s site, u *url.URL) []string {
	name := filepath.Join(s.root, filepath.FromSlash(u.Path))
	st, err := os.Stat(name)
	if err != nil {
		return nil
	}
	if st.IsDir() {
		if !strings.HasSuffix(u.Path, "/") {
			return []string{u.Path + "/"}
		}
		name = filepath.Join(name, "index.html")
	}
	if filepath.Ext(name) != ".html" {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	doc, err := html.Parse(f)
	if err != nil {
		return nil
	}
	return collect(doc, nil)
}

// linkAttributes says which attributes of which elements are links.
var linkAttributes = map[string][]string{
	"a": {"href"}, "area": {"href"}, "link": {"href"}, "iframe": {"src"}, "frame": {"src"}, "img": {"src"}, "script": {"src"},
	"source": {"src"}, "video": {"src", "poster"}, "audio": {"src"}, "embed": {"src"}, "object": {"data"}, "body": {"background"},
}

func collect(n *html.Node, refs []string) []string {
	if n.Type == html.ElementNode {
		for _, name := range linkAttributes[n.Data] {
			for _, a := range n.Attr {
				if a.Key == name {
					refs = append(refs, a.Val)
				}
			}
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		refs = collect(c, refs)
	}
	return refs
}
