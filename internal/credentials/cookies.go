package credentials

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"decorum/internal/weburl"
)

// Jar is a fixed set of cookies. It answers requests by the rules of RFC 6265 §5.4, and takes in nothing.
type Jar struct {
	byDomain map[string][]crumb
}

// crumb is one cookie.
type crumb struct {
	pair     string // as sent: name=value
	path     string
	hostOnly bool // not for the hosts below its domain
	secure   bool // over https alone
	expires  int64
	order    int // in the file
}

// session is the expiry of a cookie that has none.
const session = 0

// Limits of a file of cookies.
const (
	maxCookies    = 100_000 // a browser keeps some 3,000
	maxCookieLine = 64 << 10
	maxCookiePair = 8 << 10 // browsers stop at 4 KiB, servers refuse whole headers of 8 KiB
)

// ReadCookies reads cookies in the Netscape format that browsers' exporters, curl and wget write: a cookie on each line, with
// domain, whether it counts for the hosts below, path, whether it is for https alone, expiry in seconds since 1970 (0:
// none), name and value, divided by tabs. Lines that begin with # are comments, except #HttpOnly_. Errors name the line and
// never what it holds.
func ReadCookies(r io.Reader) (*Jar, error) {
	j := &Jar{byDomain: map[string][]crumb{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxCookieLine)
	cookies := 0
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		line = strings.TrimPrefix(line, "#HttpOnly_")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if cookies++; cookies > maxCookies {
			return nil, fmt.Errorf("more than %d cookies", maxCookies)
		}
		if err := j.add(line, cookies); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("a line is longer than %d bytes", maxCookieLine)
	} else if err != nil {
		return nil, err
	}
	return j, nil
}

// Fields of a line.
const (
	fieldDomain = iota
	fieldBelow
	fieldPath
	fieldSecure
	fieldExpires
	fieldName
	fieldValue
	fieldCount
)

func (j *Jar) add(line string, order int) error {
	f := strings.Split(line, "\t")
	if len(f) == fieldCount-1 {
		f = append(f, "") // a cookie without a value
	}
	if len(f) != fieldCount {
		return fmt.Errorf("%d fields divided by tabs where a cookie in Netscape format has %d: domain, TRUE or FALSE, path, TRUE or FALSE, expiry, name, value",
			len(f), fieldCount)
	}
	domain, err := canonicalHost(strings.TrimPrefix(f[fieldDomain], "."))
	if err != nil {
		return errors.New("the first field is no domain")
	}
	c := crumb{pair: f[fieldName] + "=" + f[fieldValue], path: f[fieldPath], order: order}
	below, err := truth(f[fieldBelow])
	if err != nil {
		return fmt.Errorf("the second field %w", err)
	}
	c.hostOnly = !below || isSuffix(domain)
	if c.secure, err = truth(f[fieldSecure]); err != nil {
		return fmt.Errorf("the fourth field %w", err)
	}
	if c.expires, err = expiry(f[fieldExpires]); err != nil {
		return fmt.Errorf("the fifth field %w", err)
	}
	if f[fieldName] == "" {
		c.pair = f[fieldValue]
	}
	if err := c.validate(); err != nil {
		return err
	}
	if c.path == "" || c.path[0] != '/' {
		c.path = "/" // RFC 6265 §5.2.4, §5.1.4
	}
	j.byDomain[domain] = append(j.byDomain[domain], c)
	return nil
}

func (c *crumb) validate() error {
	switch {
	case strings.ContainsFunc(c.pair, func(r rune) bool { return r < ' ' || r == 0x7f || r == ';' }):
		return errors.New("name or value has a semicolon or a control character")
	case c.pair == "":
		return errors.New("neither name nor value")
	case len(c.pair) > maxCookiePair:
		return fmt.Errorf("the cookie is longer than %d bytes", maxCookiePair)
	}
	return nil
}

// isSuffix reports whether strangers share the domain, such as co.uk: its cookie would reach them all, so it counts for the
// very host alone (RFC 6265 §5.3, step 5). The same goes for an address, which has no hosts below it.
func isSuffix(domain string) bool {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	u, err := weburl.Parse("https://" + domain + "/")
	return suffix == domain || err != nil || u.IsIP()
}

func truth(s string) (bool, error) {
	switch strings.ToUpper(s) {
	case "TRUE":
		return true, nil
	case "FALSE":
		return false, nil
	}
	return false, errors.New("is neither TRUE nor FALSE")
}

// expiry reads seconds since 1970; some exporters write fractions.
func expiry(s string) (int64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, errors.New("is no number of seconds")
	}
	if f <= 0 {
		return session, nil
	}
	return int64(min(math.Ceil(f), 1<<53)), nil
}

// Header returns the value of the Cookie field for a request of u, or "". Cookies with longer paths come first, others in the
// order of the file.
func (j *Jar) Header(u weburl.URL, now time.Time) string {
	if len(j.byDomain) == 0 {
		return ""
	}
	var found []crumb
	host := u.Host()
	for domain := host; domain != ""; _, domain, _ = strings.Cut(domain, ".") {
		for _, c := range j.byDomain[domain] {
			if (domain == host || !c.hostOnly) && c.matches(u, now) {
				found = append(found, c)
			}
		}
	}
	slices.SortFunc(found, func(a, b crumb) int {
		return cmp.Or(cmp.Compare(len(b.path), len(a.path)), cmp.Compare(a.order, b.order))
	})
	var b strings.Builder
	for i, c := range found {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.pair)
	}
	return b.String()
}

// matches tests all but the domain.
func (c *crumb) matches(u weburl.URL, now time.Time) bool {
	return (!c.secure || u.Scheme() == "https") && (c.expires == session || now.Unix() < c.expires) && c.covers(u.Path())
}

// covers reports whether the request's path is the cookie's or lies below it (RFC 6265 §5.1.4).
func (c *crumb) covers(path string) bool {
	rest, ok := strings.CutPrefix(path, c.path)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(c.path, "/"))
}
