package web

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Count writes a number with commas between thousands.
func Count(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes writes an amount of bytes in decimal units, as disks and networks are sold: 182 MB.
func Bytes(n uint64) string {
	f, unit := float64(n), "B"
	for _, u := range [...]string{"kB", "MB", "GB", "TB", "PB"} {
		if f < 999.5 {
			break
		}
		f, unit = f/1000, u
	}
	if unit == "B" || f >= 9.95 {
		return fmt.Sprintf("%.0f %s", f, unit)
	}
	return fmt.Sprintf("%.1f %s", f, unit)
}

// Rate writes a number of things per second.
func Rate(perSecond float64) string {
	switch {
	case perSecond < 0.05:
		return "0"
	case perSecond < 99.95:
		return fmt.Sprintf("%.1f", perSecond)
	}
	return Count(uint64(perSecond + .5))
}

// Elapsed writes how long something took, to the second: 45s, 12m04s, 3h05m, 2d03h.
func Elapsed(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", max(s, 0))
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 48*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}

// Brief writes a duration with two digits of precision: 210ms, 1.9s, 27m, 5h12m.
func Brief(d time.Duration) string {
	switch {
	case d < 0:
		return "0ms"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0fm", d.Minutes())
	}
	return Elapsed(d)
}

// seconds writes a wait: in seconds, with one digit after the point below ten.
func seconds(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 10*time.Minute:
		return Elapsed(d)
	}
	return Brief(d)
}

// plural writes a count with its noun.
func plural[T int | uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(uint64(n)) + " " + noun + "s"
}

// Clean makes text of the web safe for a terminal or a log: what is not printable, among it escape sequences
// and marks that reverse the direction of writing, becomes \x or \u with digits.
func Clean(s string) string {
	clean := true
	for _, r := range s {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// Columns returns how many columns of a terminal the text takes.
func Columns(s string) int {
	n := 0
	for _, r := range s {
		n += columns(r)
	}
	return n
}

func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// Cut shortens text to at most n columns; what is cut ends with an ellipsis.
func Cut(s string, n int) string {
	if len(s) <= n || Columns(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	used := 0
	for i, r := range s {
		if used += columns(r); used > n-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}
