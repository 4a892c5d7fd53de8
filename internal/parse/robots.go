package parse

import "strings"

// Robots is the set of what a page asks robots not to do.
type Robots uint8

// The requests of meta robots and X-Robots-Tag that concern a crawler.
const (
	NoIndex   Robots = 1 << iota // do not show the page in an index
	NoFollow                     // do not follow the links of the page
	NoArchive                    // do not show a copy of the page
	None      = NoIndex | NoFollow
)

// String returns the requests in lower case, separated by commas, or "all".
func (r Robots) String() string {
	var names []string
	for i, name := range []string{"noindex", "nofollow", "noarchive"} {
		if r&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if names == nil {
		return "all"
	}
	return strings.Join(names, ",")
}

// directive returns the requests of one word; "all", "index" and unknown ones ask for nothing.
func directive(word string) Robots {
	switch strings.ToLower(word) {
	case "noindex":
		return NoIndex
	case "nofollow":
		return NoFollow
	case "noarchive", "nocache":
		return NoArchive
	case "none":
		return None
	}
	return 0
}

// parseRobots reads the content of a meta robots element. Spaces separate like commas: "noindex nofollow"
// is common and means both.
func parseRobots(content string) (r Robots) {
	for _, word := range strings.FieldsFunc(content, func(c rune) bool { return strings.ContainsRune(",; \t\n\f\r", c) }) {
		r |= directive(word)
	}
	return r
}

// ParseRobotsHeader returns the union of the X-Robots-Tag values that concern the agent, a product token
// such as "decorum". A value may begin with the name of an agent and then concerns only that one:
// "googlebot: nofollow", "decorum: none". Directives with values, such as unavailable_after and max-snippet,
// are ignored.
func ParseRobotsHeader(values []string, agent string) (r Robots) {
	for _, value := range values {
		mine := true
		for part := range strings.SplitSeq(value, ",") {
			if name, rest, ok := strings.Cut(part, ":"); ok {
				name = strings.TrimSpace(name)
				if hasValue(name) {
					continue
				}
				if isAgent(name) {
					mine = name == "*" || strings.EqualFold(name, "robots") || agent != "" && strings.EqualFold(name, agent)
				}
				part = rest
			}
			if mine {
				r |= directive(strings.TrimSpace(part))
			}
		}
	}
	return r
}

// hasValue reports whether a directive is followed by a colon and a value.
func hasValue(name string) bool {
	return strings.EqualFold(name, "unavailable_after") || len(name) > 4 && strings.EqualFold(name[:4], "max-")
}

// isAgent reports whether the text before a colon can be the name of an agent. In the rest of a date,
// "25 Jun 2010 15", it cannot.
func isAgent(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t")
}
