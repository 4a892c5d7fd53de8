package node

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// number reads the number between prefix and suffix.
func number(target, prefix, suffix string) (int, bool) {
	rest, ok := strings.CutPrefix(target, prefix)
	rest, ok2 := strings.CutSuffix(rest, suffix)
	n, err := strconv.Atoi(rest)
	return n, ok && ok2 && err == nil && strconv.Itoa(n) == rest
}

// words are n words that only the seed has in this order.
func words(n int, seed string) string {
	var b strings.Builder
	for i := range n {
		x := id(16, seed+strconv.Itoa(i))
		for _, c := range x[:5] {
			b.WriteByte("bdfglmnprstvkzaeiou"[int(c)%19])
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// numbered is a site of n pages, each linked from the one before and listed by a page of a hundred.
func numbered(n int, path func(i int) string, body func(i int) string) generator {
	index := map[string]int{}
	for i := range n {
		index[path(i)] = i
	}
	return func(target string) string {
		i, ok := index[target]
		if !ok {
			return ""
		}
		links := hrefs(path(max(0, i-1)), path(min(n-1, i+1)))
		if i%100 == 0 {
			for j := i; j < min(n, i+101); j++ {
				links += hrefs(path(j))
			}
		}
		// The text of a link tells nothing, so that all there is to learn of a page is its body.
		return body(i) + strings.NewReplacer(">"+path(i), ">here").Replace(anchors(links))
	}
}

// anchors replaces the texts of links.
func anchors(links string) string {
	var b strings.Builder
	for line := range strings.Lines(links) {
		if open := strings.Index(line, "\">"); open >= 0 {
			line = line[:open+2] + "go</a></p>\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

// tree is a documentation tree with three pages in each of its directories, of which the deepest is at 14.
func tree(target string) string {
	path, ok := strings.CutPrefix(target, "/docs/")
	depth := strings.Count(path, "/")
	if !ok || depth > 13 || strings.Contains(path, "//") {
		return ""
	}
	dir := path[:strings.LastIndexByte(path, '/')+1]
	names := []string{"org", "example", "core", "internal", "java", "util", "concurrent", "package-summary", "class-use", "main", "resources", "api", "impl", "test", "doc"}
	links := []string{"/docs/" + dir + "index.html", "/docs/" + dir + "use.html", "/docs/" + dir + names[depth] + "/"}
	if depth%3 == 0 {
		links = append(links, "/docs/"+dir+"other-"+names[depth]+"/")
	}
	return "<h1>" + path + "</h1>" + words(20, target) + boilerplate + hrefs(links...)
}

// closure returns all targets that links lead to from the entry.
func closure(t *testing.T, site generator, entry string) (all []string) {
	href := regexp.MustCompile(`href="([^"]*)"`)
	seen := map[string]bool{}
	todo := []string{strings.ReplaceAll(entry, "&amp;", "&")}
	for len(todo) > 0 {
		target := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		body := site(target)
		if body == "" || seen[target] {
			continue
		}
		seen[target], all = true, append(all, target)
		for _, m := range href.FindAllStringSubmatch(body, -1) {
			todo = append(todo, strings.ReplaceAll(m[1], "&amp;", "&"))
		}
	}
	return all
}

// Legitimate sites of every kind that resembles a trap lose not one page.
func TestHonestSitesLoseNothing(t *testing.T) {
	day := func(i int) time.Time { return time.Date(2019, 1, 1+i, 0, 0, 0, 0, time.UTC) }
	topics := numbered(800, func(i int) string { return fmt.Sprintf("/viewtopic.php?f=%d&t=%d", i%10, i) }, func(i int) string {
		return "<h1>" + words(3, strconv.Itoa(i)) + "</h1><p>" + words(8, strconv.Itoa(-i)) + hrefs(fmt.Sprintf("/posting.php?mode=reply&amp;f=%d&amp;t=%d", i%10, i))
	})
	for _, c := range []struct {
		name  string
		entry string
		site  generator
	}{
		{"documentation tree", "/docs/", tree},
		{"archive by day", "/2019/01/01/", numbered(800, func(i int) string { return day(i).Format("/2006/01/02/") },
			func(i int) string {
				return "<h1>" + day(i).Format("2 January 2006") + "</h1><p>" + words(6, strconv.Itoa(i))
			})},
		{"archive by day, in a long frame", "/2019/01/01/", numbered(800, func(i int) string { return day(i).Format("/2006/01/02/") },
			func(i int) string {
				return boilerplate + "<h1>" + day(i).Format("2 January 2006") + "</h1><p>" + words(6, strconv.Itoa(i))
			})},
		{"paged list", "/list?page=0", numbered(5000, func(i int) string { return fmt.Sprintf("/list?page=%d", i) }, func(i int) string {
			body := ""
			for j := range 10 {
				body += fmt.Sprintf("<li>Record %d\n", 700_000+10*i+j)
			}
			return body
		})},
		{"paged list, in a long frame", "/list?page=0&amp;sort=up", numbered(800, func(i int) string { return fmt.Sprintf("/list?page=%d&sort=up", i) }, func(i int) string {
			return boilerplate + "<ul><li>" + words(3, strconv.Itoa(2*i)) + "<li>" + words(3, strconv.Itoa(2*i+1)) + "</ul>"
		})},
		{"shop, in a long frame", "/product/0", numbered(800, func(i int) string { return fmt.Sprintf("/product/%d", i) }, func(i int) string {
			return boilerplate + fmt.Sprintf("<h1>%s</h1><p>price %d.%02d", words(2, strconv.Itoa(i)), i%200, i%97)
		})},
		{"pictures without words", "/photo/0.html", numbered(700, func(i int) string { return fmt.Sprintf("/photo/%d.html", i) }, func(i int) string {
			return fmt.Sprintf("<img src=\"/images/%d.jpg\">", i)
		})},
		{"files without words", "/get/0", numbered(700, func(i int) string { return fmt.Sprintf("/get/%d", i) }, func(i int) string {
			return fmt.Sprintf("<p>Download: <a href=\"/files/%d.zip\">file</a>", i)
		})},
		{"tables of numbers", "/data/0", numbered(800, func(i int) string { return fmt.Sprintf("/data/%d", i) }, func(i int) string {
			body := "<table>"
			for j := range 12 {
				body += fmt.Sprintf("<tr><td>%d</td><td>%d.%d</td></tr>", j, (i*7919+j*104729)%1000, (i+j*31)%10)
			}
			return body + "</table>"
		})},
		{"documents by hash", "/doc/" + id(16, "0"), numbered(800, func(i int) string { return "/doc/" + id(16, strconv.Itoa(i)) }, func(i int) string {
			return "<h1>" + words(2, strconv.Itoa(i)) + "</h1>"
		})},
		{"videos by identifier", "/watch?v=" + id(36, "0"), numbered(800, func(i int) string { return "/watch?v=" + id(36, strconv.Itoa(i)) }, func(i int) string {
			return boilerplate + "<h1>" + words(2, strconv.Itoa(i)) + "</h1>"
		})},
		{"a stretch of sold out articles", "/article/0", numbered(800, func(i int) string { return fmt.Sprintf("/article/%d", i) }, func(i int) string {
			if i > 400 && i < 650 {
				return "<h1>Sold out</h1>"
			}
			return "<h1>" + words(2, strconv.Itoa(i)) + "</h1>"
		})},
		{"forum", "/viewtopic.php?f=0&amp;t=0", func(target string) string {
			if strings.HasPrefix(target, "/posting.php?mode=reply") {
				return "<h1>You must log in to reply</h1>"
			}
			return topics(target)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, func(t *testing.T) {
				s := newStage(t)
				s.cfg.FastHost, s.cfg.IPGap, s.seeds = []string{"good.museum"}, 0, []string{"http://good.museum/"}
				good := s.host("good.museum", func(w *wire, q hit) bool {
					switch {
					case q.target == "/":
						return html("home"+hrefs(c.entry))(w, q)
					case strings.HasSuffix(q.target, ".jpg"), strings.HasSuffix(q.target, ".zip"):
						return say(answer(200, "Content-Type: application/octet-stream\r\n", "\x00"+q.target))(w, q)
					}
					if body := c.site(q.target); body != "" {
						return html(body)(w, q)
					}
					return say(answer(404, "", ""))(w, q)
				})
				r := s.run()
				all := closure(t, c.site, c.entry)
				for _, target := range all {
					// One page that says that one must log in is enough.
					if good.count(target) != 1 && !strings.HasPrefix(target, "/posting") {
						t.Errorf("%s was visited %d times; of %d pages %d were; skipped %v", target, good.count(target), len(all), r.Summary.Pages, r.Summary.Skipped)
						break
					}
				}
				if len(all) < 369 || good.count("/images/699.jpg")+good.count("/files/699.zip") != strings.Count(c.name, "without words") {
					t.Errorf("%d pages", len(all))
				}
			})
		})
	}
}
