package jobdir

import (
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"
)

// recordVersion is the `v` of each line.
const recordVersion = 1

// Int is a whole number that may be unknown: the zero Int is unknown, so that a 0 that was measured is
// told apart from none. Unknown ones are left out of records.
type Int struct {
	n     int64
	known bool
}

// Known returns a known number.
func Known(n int64) Int { return Int{n, true} }

// Millis returns a known duration in whole milliseconds, rounded down: what was promised and what was
// kept round alike, so rounding never turns a kept promise into a broken one.
func Millis(d time.Duration) Int { return Known(int64(d / time.Millisecond)) }

// Get returns the number and whether it is known.
func (i Int) Get() (int64, bool) { return i.n, i.known }

// Or returns the number, or other when it is unknown.
func (i Int) Or(other int64) int64 {
	if i.known {
		return i.n
	}
	return other
}

// UnmarshalJSON reads a number; null is unknown.
func (i *Int) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*i = Int{}
		return nil
	}
	i.known = true
	return json.Unmarshal(b, &i.n)
}

// MarshalJSON writes the number, or null.
func (i Int) MarshalJSON() ([]byte, error) {
	if !i.known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, i.n, 10), nil
}

// object appends one JSON object. Fields whose value is zero are left out.
type object struct {
	b     []byte
	comma bool
}

// begin opens the object of a record.
func begin(dst []byte, kind string) object {
	o := object{b: append(dst, '{')}
	o.always("v", recordVersion)
	o.str("type", kind)
	return o
}

// end closes the object of a line.
func (o *object) end() []byte { return append(o.b, '}', '\n') }

func (o *object) key(name string) {
	if o.comma {
		o.b = append(o.b, ',')
	}
	o.comma = true
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	o.b = append(o.b, '"', ':')
}

func (o *object) str(name, v string) {
	if v != "" {
		o.key(name)
		o.b = appendString(o.b, v)
	}
}

func (o *object) always(name string, v int64) {
	o.key(name)
	o.b = strconv.AppendInt(o.b, v, 10)
}

func (o *object) num(name string, v int64) {
	if v != 0 {
		o.always(name, v)
	}
}

func (o *object) int(name string, v Int) {
	if v.known {
		o.always(name, v.n)
	}
}

func (o *object) flag(name string, v bool) {
	if v {
		o.key(name)
		o.b = append(o.b, "true"...)
	}
}

// timeFormat is RFC 3339 in UTC with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

func (o *object) time(name string, t time.Time) {
	if t = t.UTC(); t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return
	}
	o.key(name)
	o.b = append(o.b, '"')
	o.b = t.AppendFormat(o.b, timeFormat)
	o.b = append(o.b, '"')
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string (RFC 8259 §7). Bytes that are not UTF-8 become U+FFFD. U+2028 and
// U+2029 are escaped because JavaScript before 2019 took them for line ends.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			if r, size = utf8.DecodeRuneInString(s[i:]); !needsEscape(r, size) {
				i += size
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		dst = appendEscape(dst, r)
		i += size
		from = i
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"')
}

func needsEscape(r rune, size int) bool {
	return r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029'
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case utf8.RuneError:
		return append(dst, "\ufffd"...)
	}
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
