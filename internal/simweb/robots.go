package simweb

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Paths of robots.txt files.
const (
	robotsPath      = "/robots.txt"
	movedRobotsPath = "/robots/rules.txt" // where RobotsMoved redirects to
)

// robotsFailures is how often a RobotsFlaky file fails first.
const robotsFailures = 2

// robotsText returns the text of the host's robots.txt file, as far as its kind has one.
func (w *Web) robotsText(i int32) string {
	h := &w.hosts[i]
	var b strings.Builder
	b.WriteString("# robots.txt of " + h.name + "\n")
	switch h.robots {
	case RobotsDenyAll:
		b.WriteString("User-agent: *\nDisallow: /\n")
	case RobotsAgent:
		fmt.Fprintf(&b, "User-agent: *\nDisallow: %s\n\nUser-agent: %s\nDisallow:\n", tempPath, w.opts.Agent)
	case RobotsDelay:
		b.WriteString("User-agent: *\nCrawl-delay: " + strconv.FormatFloat(h.delay.Seconds(), 'f', -1, 64) + "\nDisallow:\n")
	case RobotsParts, RobotsFlaky, RobotsMoved, RobotsSlow:
		b.WriteString("User-Agent: *   # all of them\r\nDisallow: " + privatePath + "\r\nAllow: " + openPath + "\r\n" +
			"disallow: /*/" + draftPrefix + "*.html$\r\nNoindex: /ignored/\r\n")
	case RobotsJunk:
		return "<!DOCTYPE html>\n<html><head><title>Welcome</title></head>\n<body><h1>Welcome</h1><p>Nothing to see: here.</p></body></html>\n"
	default:
		b.WriteString("User-agent: *\nAllow: /\n")
	}
	if h.sitemap {
		b.WriteString("\nSitemap: " + string(w.appendOrigin(nil, i)) + sitemapPath + "\n")
	}
	return b.String()
}

// rules is what a robots.txt file says to one agent.
type rules struct {
	list  []rule
	delay time.Duration
}

type rule struct {
	allow   bool
	pattern string
}

// parseRules reads the groups of the agent, or those of * (RFC 9309 §2.2.1).
func parseRules(text, agent string) rules {
	var named, star rules
	var isNamed, isStar, foundNamed, inRules bool
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		if key == "user-agent" {
			if inRules {
				isNamed, isStar, inRules = false, false, false
			}
			isNamed = isNamed || strings.EqualFold(productToken(value), agent)
			isStar = isStar || value == "*"
			foundNamed = foundNamed || isNamed
			continue
		}
		if key == "sitemap" {
			continue
		}
		inRules = true
		if isNamed {
			named.add(key, value)
		}
		if isStar {
			star.add(key, value)
		}
	}
	if foundNamed {
		return named
	}
	return star
}

func productToken(s string) string {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && s[i] != '-' && s[i] != '_' {
			return s[:i]
		}
	}
	return s
}

func (r *rules) add(key, value string) {
	switch key {
	case "allow", "disallow":
		if value != "" {
			r.list = append(r.list, rule{key == "allow", value})
		}
	case "crawl-delay":
		if f, err := strconv.ParseFloat(value, 64); err == nil && f > 0 {
			r.delay = time.Duration(f * float64(time.Second))
		}
	}
}

// allowed reports whether a target may be fetched: the longest matching pattern decides, allow on a tie.
func (r *rules) allowed(target string) bool {
	target = decodeUnreserved(target)
	best, allow := -1, true
	for _, rule := range r.list {
		n := len(rule.pattern)
		if (n > best || n == best && rule.allow) && matches(decodeUnreserved(rule.pattern), target) {
			best, allow = n, rule.allow
		}
	}
	return allow
}

// matches reports whether a pattern with * and a final $ matches a prefix of the target.
func matches(pattern, target string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(target, parts[0]) {
		return false
	}
	target = target[len(parts[0]):]
	for i, part := range parts[1:] {
		if anchored && i == len(parts)-2 {
			return strings.HasSuffix(target, part)
		}
		at := strings.Index(target, part)
		if at < 0 {
			return false
		}
		target = target[at+len(part):]
	}
	return !anchored || target == ""
}
