package urlfilter

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"decorum/internal/outcome"
	"decorum/internal/weburl"
)

const (
	// lookEvery is how often the time stamps of @files are looked at: soon enough for a person who has just
	// saved one, and one system call per file.
	lookEvery = 2 * time.Second
	// maxFileBytes and maxFilePatterns bound an @file; host blocklists have some 100,000 lines.
	maxFileBytes    = 32 << 20
	maxFilePatterns = 500_000
)

// rule is one reason to drop links, with its counter.
type rule struct {
	outcome outcome.Outcome
	name    string
	dropped *atomic.Uint64
}

type ruleKey struct {
	outcome outcome.Outcome
	name    string
}

// newRule returns a rule that goes on with the counter of an earlier rule of the same name. The caller
// holds mu, or is New.
func (f *Filter) newRule(o outcome.Outcome, name string) *rule {
	key := ruleKey{o, name}
	if f.counters[key] == nil {
		f.counters[key] = new(atomic.Uint64)
	}
	return &rule{o, name, f.counters[key]}
}

func (r *rule) drop() Verdict { return r.dropAs(r.name) }

func (r *rule) dropAs(detail string) Verdict {
	r.dropped.Add(1)
	return Verdict{Outcome: r.outcome, Rule: detail}
}

// rules is what can change in a running crawl. It never changes once published.
type rules struct {
	include, exclude, noTrap patternSet
	tldInclude, tldExclude   map[string]*rule
	extensions               map[string]*rule
	notIncluded              *rule
	notInTLD                 *rule
	files                    []fileStamp
}

// fileStamp is how a file looked when it was read.
type fileStamp struct {
	path    string
	changed time.Time
	size    int64
}

// compile builds the rules from the options. The caller holds mu, or is New.
func (f *Filter) compile() (*rules, error) {
	r := &rules{
		tldInclude:  f.suffixRules(f.opts.TLDInclude, outcome.Excluded, "tld-include "),
		tldExclude:  f.suffixRules(f.opts.TLDExclude, outcome.Excluded, "tld-exclude "),
		extensions:  f.suffixRules(f.opts.Extensions, outcome.Extension, "extension "),
		notIncluded: f.newRule(outcome.Excluded, "--include: no pattern matches"),
		notInTLD:    f.newRule(outcome.Excluded, "tld-include: no domain matches"),
	}
	for _, text := range f.opts.Exclude {
		if err := r.addPattern(&r.exclude, text, f.newRule(outcome.Excluded, "--exclude "+text)); err != nil {
			return nil, fmt.Errorf("exclude: %w", err)
		}
	}
	for _, text := range f.opts.Include {
		set, pattern := &r.include, text
		if bare, ok := strings.CutPrefix(text, noTrapPrefix); ok {
			set, pattern = &r.noTrap, bare
		}
		if err := r.addPattern(set, pattern, r.notIncluded); err != nil {
			return nil, fmt.Errorf("include: %w", err)
		}
	}
	return r, nil
}

func (r *rules) addPattern(set *patternSet, text string, rule *rule) error {
	stamp, err := set.add(text, rule, "")
	if err != nil {
		return err
	}
	if stamp.path != "" {
		r.files = append(r.files, stamp)
	}
	return nil
}

// suffixRules maps each dotted suffix, such as "com", "co.uk" or "tar.gz", to its rule.
func (f *Filter) suffixRules(list []string, o outcome.Outcome, prefix string) map[string]*rule {
	if len(list) == 0 {
		return nil
	}
	m := make(map[string]*rule, len(list))
	for _, s := range list {
		s = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(s), "."))
		m[s] = f.newRule(o, prefix+s)
	}
	return m
}

// check returns the verdict of the rules, in the order of the package comment.
func (r *rules) check(l Link) Verdict {
	if r.tldExclude != nil {
		if rule := suffixRule(r.tldExclude, l.URL.Host()); rule != nil {
			return rule.drop()
		}
	}
	if r.tldInclude != nil && suffixRule(r.tldInclude, l.URL.Host()) == nil {
		return r.notInTLD.drop()
	}
	if r.extensions != nil {
		if rule := suffixRule(r.extensions, fileName(l.URL)); rule != nil {
			return rule.drop()
		}
	}
	if p := r.exclude.find(l.URL); p != nil {
		return p.rule.dropAs(p.detail)
	}
	if !r.include.isEmpty() && !l.isSeed() && r.include.find(l.URL) == nil {
		return r.notIncluded.drop()
	}
	return Verdict{}
}

// suffixRule finds the rule for the shortest suffix of name that begins after a dot.
func suffixRule(m map[string]*rule, name string) *rule {
	for dot := len(name); dot > 0; {
		dot = strings.LastIndexByte(name[:dot], '.')
		if dot < 0 {
			break
		}
		if rule := m[name[dot+1:]]; rule != nil {
			return rule
		}
	}
	return nil
}

// fileName returns the last segment of the path in lower case, without path parameters.
func fileName(u weburl.URL) string {
	name := u.Path()[strings.LastIndexByte(u.Path(), '/')+1:]
	name, _, _ = strings.Cut(name, ";")
	return strings.ToLower(name)
}

// patternSet is a list of patterns. Those that name their host are found by it, so that a blocklist of
// hosts costs one look-up.
type patternSet struct {
	byHost map[string][]*pattern
	others []*pattern
}

func (s *patternSet) isEmpty() bool { return len(s.byHost) == 0 && len(s.others) == 0 }

// add adds a pattern or the patterns of an @file, whose stamp it returns.
func (s *patternSet) add(text string, rule *rule, from string) (fileStamp, error) {
	if path, ok := strings.CutPrefix(text, filePrefix); ok && from == "" {
		return s.addFile(path, rule)
	}
	p, err := compilePattern(text)
	if err != nil {
		return fileStamp{}, err
	}
	p.rule, p.detail = rule, rule.name
	if from != "" {
		p.detail = rule.name + ": " + text
	}
	if p.host == "" {
		s.others = append(s.others, p)
		return fileStamp{}, nil
	}
	if s.byHost == nil {
		s.byHost = map[string][]*pattern{}
	}
	s.byHost[p.host] = append(s.byHost[p.host], p)
	return fileStamp{}, nil
}

func (s *patternSet) addFile(path string, rule *rule) (fileStamp, error) {
	stamp, err := stampOf(path)
	if err != nil {
		return stamp, fmt.Errorf("pattern file: %w", err)
	}
	data, err := readLimited(path)
	if err != nil {
		return stamp, fmt.Errorf("pattern file: %w", err)
	}
	n := 0
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		if n++; n > maxFilePatterns {
			return stamp, fmt.Errorf("pattern file %s: more than %d patterns", path, maxFilePatterns)
		}
		if _, err := s.add(text, rule, path); err != nil {
			return stamp, fmt.Errorf("pattern file %s: %w", path, err)
		}
	}
	return stamp, nil
}

func readLimited(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("%s: more than %d bytes", path, maxFileBytes)
	}
	return data, err
}

func stampOf(path string) (fileStamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}, err
	}
	return fileStamp{path, info.ModTime(), info.Size()}, nil
}

func (s *patternSet) matches(u weburl.URL) bool { return s.find(u) != nil }

// find returns the first pattern that matches, or nil.
func (s *patternSet) find(u weburl.URL) *pattern {
	if s.isEmpty() {
		return nil
	}
	c := candidate{url: u.WithoutUserinfo().String(), u: u}
	if len(s.byHost) > 0 {
		for _, p := range s.byHost[u.Host()] {
			if p.matches(&c) {
				return p
			}
		}
	}
	for _, p := range s.others {
		if p.matches(&c) {
			return p
		}
	}
	return nil
}

// current returns the rules, read again when a file of patterns has changed.
func (f *Filter) current() *rules {
	r := f.rules.Load()
	if len(r.files) == 0 {
		return r
	}
	if now := time.Now(); now.UnixNano() >= f.nextLook.Load() && f.mu.TryLock() {
		defer f.mu.Unlock()
		f.nextLook.Store(now.Add(lookEvery).UnixNano())
		f.reload(r.files)
		r = f.rules.Load()
	}
	return r
}

// reload reads the files again if one has changed. A file that is wrong or gone leaves the rules as they
// are and is tried again. The caller holds mu.
func (f *Filter) reload(files []fileStamp) {
	changed := f.reloadErr != nil
	for _, old := range files {
		stamp, err := stampOf(old.path)
		changed = changed || err != nil || stamp != old
	}
	if !changed {
		return
	}
	r, err := f.compile()
	if f.reloadErr = err; err == nil {
		f.rules.Store(r)
	}
}
