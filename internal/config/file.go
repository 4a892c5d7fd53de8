package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// Origin says where a value came from.
type Origin string

const (
	FromDefault Origin = "default"
	FromFile    Origin = "file"
	FromEnv     Origin = "environment"
	FromFlag    Origin = "flag"
	FromFolder  Origin = "crawl folder"
)

// perRun options belong to one run of the program, not to the crawl: they are never stored, so that a resumed crawl
// does not start over, stay quiet or send a secret because an earlier run did.
var perRun = map[string]bool{"fresh": true, "quiet": true, "verbose": true, "dry-run": true, "progress": true, "log-format": true,
	"output": true, "token": true, "header": true, "auth": true, "cookies": true, "dir": true, "seeds": true, "listen": true, "fail-on": true, argument: true}

// fixed options make the crawl what it is: a folder continues only with the same values.
var fixed = map[string]string{
	"keep-session-ids": "it decides which URLs are the same",
	"keep-tracking":    "it decides which URLs are the same",
	"polite-by":        "it decides which queue a URL is in",
	"front-queues":     "waiting URLs are stored by level",
}

// Values is options by flag name.
type Values map[string]any

// Source finds values for flags not given on the command line and remembers where each came from. It implements the
// resolver of cmd/decorum.
type Source struct {
	File, Folder Values
	origins      map[string]Origin
}

// ReadFile reads a TOML file of options; the keys are the names of flags, with - or _. A key that is no flag is an
// error.
func ReadFile(path string) (Values, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := toml.Unmarshal(raw, &m); err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return nil, fmt.Errorf("%s:%d: %s", path, pe.Position.Line, pe.Message)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	known, out := flagTypes(), Values{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		name := strings.ReplaceAll(k, "_", "-")
		t, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("%s: unknown option %q; `decorum config print` lists all", path, k)
		}
		out[name] = asWritten(m[k], t)
	}
	return out, nil
}

// asWritten turns a value of a file into what the command line would have: text for all but lists, so that a size
// or duration may be a bare number and a fraction is no whole number.
func asWritten(v any, t reflect.Type) any {
	list, isList := v.([]any)
	switch {
	case !isList:
		return fmt.Sprint(v)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		texts := make([]any, len(list))
		for i, e := range list {
			texts[i] = fmt.Sprint(e)
		}
		return texts
	}
	return list
}

// Lookup returns the value of a flag that was not given, as the file has it, and remembers its origin.
func (s *Source) Lookup(flag string) (any, bool) {
	if s.origins == nil {
		s.origins = map[string]Origin{}
	}
	if v, ok := env(flag); ok {
		s.origins[flag] = FromEnv
		return v, true
	}
	if v, ok := s.File[flag]; ok {
		s.origins[flag] = FromFile
		return v, true
	}
	if v, ok := s.Folder[flag]; ok && !perRun[flag] {
		s.origins[flag] = FromFolder
		return v, true
	}
	return nil, false
}

// Note records the origin of a flag given on the command line.
func (s *Source) Note(flag string, o Origin) {
	if s.origins == nil {
		s.origins = map[string]Origin{}
	}
	s.origins[flag] = o
}

// Origin tells where the value of a flag came from.
func (s *Source) Origin(flag string) Origin {
	if o, ok := s.origins[flag]; ok {
		return o
	}
	return FromDefault
}

func text(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	parts := make([]string, len(list))
	for i, e := range list {
		parts[i] = fmt.Sprint(e)
	}
	return strings.Join(parts, ",")
}

// Entry is one option with its value as text.
type Entry struct {
	Name, Help string
	Value      any
}

// Entries lists the options by name.
func (c *Crawl) Entries() []Entry {
	var out []Entry
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		out = append(out, Entry{flagName(f), f.Tag.Get("help"), v.Field(i).Interface()})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// flagTypes are the flags that may stand in a file: all but the arguments, which are no flags.
func flagTypes() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, e := range new(Crawl).Entries() {
		if e.Name != argument {
			types[e.Name] = reflect.TypeOf(e.Value)
		}
	}
	return types
}

// argument is the name of the field that holds what is no flag: the seeds of the command line.
const argument = "url"

// flagName is the name the command line gives a field: its tag, or the words of the field joined by dashes.
func flagName(f reflect.StructField) string {
	if n := f.Tag.Get("name"); n != "" {
		return n
	}
	var b strings.Builder
	for i, r := range f.Name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('-')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// Encode writes the options that belong to the crawl as TOML, for the crawl folder: all that are set, and those at zero
// whose default is another.
func (c *Crawl) Encode() ([]byte, error) {
	m, standard := map[string]any{}, Default()
	defaults := standard.Entries()
	for i, e := range c.Entries() {
		if !perRun[e.Name] && !(isZero(e.Value) && isZero(defaults[i].Value)) {
			m[strings.ReplaceAll(e.Name, "-", "_")] = withoutSecret(e)
		}
	}
	var b bytes.Buffer
	b.WriteString("# The options of this crawl. The same command resumes; flags override what stands here.\n")
	if err := toml.NewEncoder(&b).Encode(m); err != nil {
		return nil, fmt.Errorf("config: encode: %w", err)
	}
	return b.Bytes(), nil
}

func isZero(v any) bool { return reflect.ValueOf(v).IsZero() }

// Conflict reports the first option that differs from the stored one although the crawl depends on it.
func (c *Crawl) Conflict(stored Values) error {
	for _, e := range c.Entries() {
		why, isFixed := fixed[e.Name]
		if !isFixed {
			continue
		}
		old, ok := stored[e.Name]
		if !ok {
			old = reflect.Zero(reflect.TypeOf(e.Value)).Interface()
		}
		if text(old) != fmt.Sprint(e.Value) {
			return bad("--"+e.Name, "the crawl in this folder was started with %v and cannot continue with %v: %s; use --fresh or another --dir", old, e.Value, why)
		}
	}
	return nil
}
