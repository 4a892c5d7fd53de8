package simweb

import (
	"fmt"
	"strconv"
	"strings"
)

// Traps are endless. Each answers 200 with little text and links that only lead further in:
//
//	/trap/calendar/2026/05/     the months before and after
//	/trap/session/1f2e3d/list   the same list under new session ids
//	/trap/deep/a/b/a/...        always one directory deeper
//	/trap/query?b=2&a=1         the same parameters in any order, and one more

// appendTrapEntry appends the path of the first page of a trap.
func (w *Web) appendTrapEntry(b []byte, x uint64) []byte {
	switch x >> 8 % 4 {
	case 0:
		return append(b, "/trap/calendar/2026/01/"...)
	case 1:
		return append(strconv.AppendUint(append(b, "/trap/session/"...), x, 16), "/list"...)
	case 2:
		return append(b, "/trap/deep/down/"...)
	}
	return append(b, "/trap/query?color=red&size=1"...)
}

// trapPage returns a page of a trap, and false when no trap has the path.
func (w *Web) trapPage(target string) (string, bool) {
	kind, rest, ok := strings.Cut(strings.TrimPrefix(target, TrapPrefix), "/")
	if !ok {
		kind, rest, ok = strings.Cut(kind, "?")
	}
	if !ok {
		return "", false
	}
	var hrefs []string
	title := "Filter"
	switch kind {
	case "calendar":
		var year, month int
		if n, _ := fmt.Sscanf(rest, "%d/%d/", &year, &month); n != 2 || month < 1 || month > 12 {
			return "", false
		}
		title = fmt.Sprintf("Events of %d-%02d", year, month)
		hrefs = []string{calendarPath(year, month-1), calendarPath(year, month+1), calendarPath(year+1, month)}
	case "session":
		id, _, _ := strings.Cut(rest, "/")
		title = "List"
		for i := range uint64(3) {
			hrefs = append(hrefs, fmt.Sprintf("/trap/session/%x/list", w.hash(saltTrap, i, hashString(id))))
		}
	case "deep":
		title = "Directory"
		for _, d := range [...]string{"down", "more"} {
			hrefs = append(hrefs, "/trap/deep/"+strings.TrimSuffix(rest, "/")+"/"+d+"/")
		}
	case "query":
		hrefs = permutations(rest)
	default:
		return "", false
	}
	return trapHTML(title, hrefs), true
}

func calendarPath(year, month int) string {
	year, month = year+(month+11)/12-1, (month+11)%12+1
	return fmt.Sprintf("/trap/calendar/%d/%02d/", year, month)
}

// permutations returns a query rotated, and with one more parameter.
func permutations(query string) []string {
	params := strings.Split(query, "&")
	rotated := append(params[1:len(params):len(params)], params[0])
	more := fmt.Sprintf("%s&f%d=1", query, len(params))
	return []string{"/trap/query?" + strings.Join(rotated, "&"), "/trap/query?" + more}
}

func trapHTML(title string, hrefs []string) string {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html>\n<html><head><title>" + title + "</title></head>\n<body><h1>" + title +
		"</h1>\n<p>Nothing is planned so far. Please look at the other pages.</p>\n<p><a href=\"/\">home</a></p>\n<ul>\n")
	for _, href := range hrefs {
		b.WriteString("<li><a href=\"" + strings.ReplaceAll(href, "&", "&amp;") + "\">go on</a></li>\n")
	}
	b.WriteString("</ul></body></html>\n")
	return b.String()
}

func hashString(s string) uint64 {
	x := uint64(len(s))
	for i := range len(s) {
		x = mix(x ^ uint64(s[i]))
	}
	return x
}
