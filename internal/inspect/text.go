package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Clean makes text of unknown origin fit for a terminal: control characters, characters that change the
// direction of writing, and bytes that are not UTF-8 are shown as escapes.
func Clean(s string) string {
	plain := func(r rune) bool { return r == ' ' || r != utf8.RuneError && unicode.IsPrint(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case plain(r):
			b.WriteRune(r)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == utf8.RuneError:
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

// clip shortens text to n runes.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// writeJSON writes a report as one indented JSON object that begins with its version and type, as records do.
func writeJSON(w io.Writer, kind string, report any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(report); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "{\n  \"v\": 1,\n  \"type\": %q,%s", kind, b.Bytes()[len("{"):])
	return err
}

// count writes a number with its noun: "1 page", "12,000 pages".
func count[T int | int64 | uint64](n T, noun string) string {
	if n != 1 {
		switch {
		case strings.HasSuffix(noun, "y") && !strings.HasSuffix(noun, "ey"):
			noun = strings.TrimSuffix(noun, "y") + "ies"
		case strings.HasSuffix(noun, "h"):
			noun += "es"
		default:
			noun += "s"
		}
	}
	return thousands(int64(n)) + " " + noun
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bytesText writes a number of bytes in a unit that fits.
func bytesText(n int64) string {
	const unit = 1000
	if n < unit {
		return count(n, "byte")
	}
	f, units := float64(n), "kMGTPE"
	i := -1
	for f >= unit && i < len(units)-1 {
		f /= unit
		i++
	}
	return fmt.Sprintf("%.1f %cB", f, units[i])
}

// millis writes a number of milliseconds as a duration: "950ms", "2.5s", "1h0m0s".
func millis(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

// timeText is how times are shown: UTC, to the second.
func timeText(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}
