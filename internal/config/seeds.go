package config

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"decorum/internal/weburl"
)

// Seed is where a crawl begins.
type Seed struct {
	URL     weburl.URL
	Sitemap bool // read as a sitemap: written sitemap:URL
}

// String returns the seed as it is written in a list of seeds.
func (s Seed) String() string {
	if s.Sitemap {
		return "sitemap:" + s.URL.String()
	}
	return s.URL.String()
}

// ParseSeed reads one seed. A name without scheme is taken for https.
func ParseSeed(text string) (Seed, error) {
	text = strings.TrimSpace(text)
	rest, sitemap := strings.CutPrefix(text, "sitemap:")
	if !strings.Contains(rest, "://") {
		rest = "https://" + rest
	}
	u, err := weburl.Parse(rest)
	if err != nil {
		return Seed{}, fmt.Errorf("seed %q: %w", withoutUser(text), err)
	}
	if u != u.WithoutUserinfo() {
		return Seed{}, fmt.Errorf("seed %q: user and password would stand in every record; write --auth USER:PASS@%s", withoutUser(text), u.Host())
	}
	if !strings.Contains(u.Host(), ".") && !u.IsIP() && u.Host() != "localhost" && !strings.Contains(text, "://") {
		return Seed{}, fmt.Errorf("seed %q: no such command, and not a host name; write https://%s/ if you mean a host", text, text)
	}
	return Seed{URL: u, Sitemap: sitemap}, nil
}

// withoutUser leaves out what may be a password.
func withoutUser(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	return "...@" + text[at+1:]
}

// ReadSeeds collects the seeds of the command line, of files, and of standard input where an argument is "-".
// All bad lines are reported at once.
func (c *Crawl) ReadSeeds(stdin io.Reader) ([]Seed, error) {
	r := seedReader{known: map[string]bool{}}
	for _, arg := range c.Seeds {
		if arg == "-" {
			r.lines("standard input", stdin)
			continue
		}
		r.add(arg, "")
	}
	for _, name := range c.SeedFile {
		f, err := os.Open(name)
		if err != nil {
			return nil, bad("--seeds", "%v", err)
		}
		r.lines(name, f)
		f.Close()
	}
	return r.seeds, r.err()
}

// maxSeedErrors is how many bad seeds are named; a file of another kind has a million.
const maxSeedErrors = 10

type seedReader struct {
	seeds  []Seed
	known  map[string]bool
	errors []string
	bad    int
}

func (r *seedReader) lines(name string, in io.Reader) {
	s := bufio.NewScanner(in)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		line, _, _ := strings.Cut(s.Text(), " #")
		if line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff")); line != "" && line[0] != '#' {
			r.add(line, fmt.Sprintf("%s:%d: ", name, n))
		}
	}
	if err := s.Err(); err != nil {
		r.bad++
		r.errors = append(r.errors, fmt.Sprintf("%s: %v", name, err))
	}
}

func (r *seedReader) add(text, where string) {
	s, err := ParseSeed(text)
	if err != nil {
		if r.bad++; len(r.errors) < maxSeedErrors {
			r.errors = append(r.errors, where+err.Error())
		}
		return
	}
	if !r.known[s.String()] {
		r.known[s.String()] = true
		r.seeds = append(r.seeds, s)
	}
}

func (r *seedReader) err() error {
	if r.bad == 0 {
		return nil
	}
	if more := r.bad - len(r.errors); more > 0 {
		r.errors = append(r.errors, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%s", strings.Join(r.errors, "\n"))
}
