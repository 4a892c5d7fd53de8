package robots

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// index finds the longest matching rule without trying them all: 0.4 to 0.5 us on a file of 230 rules, no
// allocation (BenchmarkCheck). Rules are filed under their literal
// prefix, the text before the first wildcard. The prefixes of a target are all found from one binary
// search: they are its greatest lower bound among the sorted prefixes, and that one's chain of parents.
type index struct {
	nodes []node // sorted by prefix
}

type node struct {
	prefix string
	parent int // the longest other prefix that is a prefix of this one, or -1
	best   int // length of the longest pattern here or at an ancestor
	rules  []rule
}

// newIndex files the rules.
func newIndex(list []rule) *index {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b rule) int {
		return cmp.Or(strings.Compare(literal(a.pattern), literal(b.pattern)), precedence(a, b))
	})
	x := &index{}
	for _, r := range list {
		prefix := literal(r.pattern)
		if n := len(x.nodes); n == 0 || x.nodes[n-1].prefix != prefix {
			x.file(prefix, r)
			continue
		}
		last := &x.nodes[len(x.nodes)-1]
		if last.rules[len(last.rules)-1].pattern != r.pattern { // else a repeat, or an overruled Disallow
			last.rules = append(last.rules, r)
		}
	}
	return x
}

// file adds a node. The parent is found up the chain of the node before: prefixes come sorted.
func (x *index) file(prefix string, first rule) {
	parent := len(x.nodes) - 1
	for parent >= 0 && !strings.HasPrefix(prefix, x.nodes[parent].prefix) {
		parent = x.nodes[parent].parent
	}
	n := node{prefix: prefix, parent: parent, best: len(first.pattern), rules: []rule{first}}
	if parent >= 0 {
		n.best = max(n.best, x.nodes[parent].best)
	}
	x.nodes = append(x.nodes, n)
}

// precedence orders rules: the longer first, then Allow (RFC 9309 §2.2.2), then same patterns together,
// the earlier line first.
func precedence(a, b rule) int {
	return cmp.Or(
		cmp.Compare(len(b.pattern), len(a.pattern)),
		cmp.Compare(boolInt(b.allow), boolInt(a.allow)),
		strings.Compare(a.pattern, b.pattern),
		cmp.Compare(a.line, b.line))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// check returns what the first rule in order of precedence among those that match target says.
func (x *index) check(target string) Verdict {
	at := sort.Search(len(x.nodes), func(i int) bool { return x.nodes[i].prefix > target }) - 1
	if at < 0 {
		return Verdict{Allowed: true}
	}
	common := commonPrefix(x.nodes[at].prefix, target)
	var found *rule
	for ; at >= 0; at = x.nodes[at].parent {
		n := &x.nodes[at]
		if found != nil && n.best < len(found.pattern) {
			break
		}
		if len(n.prefix) <= common {
			found = n.find(target[len(n.prefix):], found)
		}
	}
	if found == nil {
		return Verdict{Allowed: true}
	}
	return Verdict{Allowed: found.allow, Rule: found.text, Line: found.line}
}

// find returns the first rule of the node that matches rest, what follows its prefix, unless it does not
// precede found.
func (n *node) find(rest string, found *rule) *rule {
	for i := range n.rules {
		r := &n.rules[i]
		if found != nil && precedence(*r, *found) >= 0 {
			return found
		}
		if matchRest(rest, r.pattern[len(n.prefix):]) {
			return r
		}
	}
	return found
}

// literal returns the text of a pattern before its first special character: `*`, or `$` at the end.
func literal(pattern string) string {
	if i := strings.IndexByte(pattern, '*'); i >= 0 {
		return pattern[:i]
	}
	return strings.TrimSuffix(pattern, "$")
}

// matchRest matches s against a pattern that is empty, "$", or begins with `*`. Each literal between two
// wildcards is taken where it first occurs: with `*` alone that never needs to be undone, so the time is
// linear in s.
func matchRest(s, pattern string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	if pattern == "" {
		return !anchored || s == ""
	}
	for {
		pattern = strings.TrimLeft(pattern, "*")
		i := strings.IndexByte(pattern, '*')
		if i < 0 {
			return lastLiteral(s, pattern, anchored)
		}
		at := strings.Index(s, pattern[:i])
		if at < 0 {
			return false
		}
		s, pattern = s[at+i:], pattern[i:]
	}
}

// lastLiteral matches what follows the last wildcard; "" means that nothing does.
func lastLiteral(s, want string, anchored bool) bool {
	if want != "" && anchored {
		return strings.HasSuffix(s, want)
	}
	return strings.Contains(s, want)
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
