package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Field is one header field.
type Field struct{ Name, Value string }

// Header is the fields of a message in their order, names as received.
type Header []Field

// Get returns the value of the first field of that name, whatever its case, or "".
func (h Header) Get(name string) string {
	for i := range h {
		if sameName(h[i].Name, name) {
			return h[i].Value
		}
	}
	return ""
}

// Values returns the values of all fields of that name, whatever its case, in order.
func (h Header) Values(name string) []string {
	var vs []string
	for i := range h {
		if sameName(h[i].Name, name) {
			vs = append(vs, h[i].Value)
		}
	}
	return vs
}

// hasToken reports whether a comma-separated list field contains token, whatever its case.
func (h Header) hasToken(name, token string) bool {
	for i := range h {
		if !sameName(h[i].Name, name) {
			continue
		}
		for v := range strings.SplitSeq(h[i].Value, ",") {
			if strings.EqualFold(strings.Trim(v, " \t"), token) {
				return true
			}
		}
	}
	return false
}

func sameName(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }

// head is a parsed status line with its header.
type head struct {
	proto        string
	major, minor byte
	status       int
	fields       Header
}

// keepsAlive reports whether the server may keep the connection (RFC 9112 §9.3), HTTP/1.0 excepted.
func (h *head) keepsAlive() bool {
	return h.major == 1 && h.minor >= 1 && !h.fields.hasToken("Connection", "close")
}

// headEnd returns the length of the head at the start of b, blank line included, or 0 when it is not
// complete. from is where to look again: bytes before it were seen by an earlier call.
func headEnd(b []byte, from int) int {
	for i := max(from-3, 0); ; {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			return 0
		}
		i += j + 1
		if i < len(b) && b[i] == '\n' {
			return i + 1
		}
		if i+1 < len(b) && b[i] == '\r' && b[i+1] == '\n' {
			return i + 2
		}
	}
}

// looksLikeHTTP reports whether b, perhaps the start of it only, may become a status line.
func looksLikeHTTP(b []byte) bool {
	const magic = "HTTP/"
	n := min(len(b), len(magic))
	return string(b[:n]) == magic[:n]
}

var (
	errNUL        = errors.New("NUL in the header")
	errFirstFold  = errors.New("header begins with a continuation line")
	errManyFields = errors.New("too many header fields")
)

// parseHead parses a complete head as http.ReadResponse does, with three differences: NUL is refused in the
// status line too, blanks between a field's name and its colon are dropped (RFC 9112 §5.1), and the status
// is a number from 100 to 999. All strings share one copy of raw.
func parseHead(raw []byte, maxFields int) (head, error) {
	var h head
	if bytes.IndexByte(raw, 0) >= 0 {
		return h, errNUL
	}
	line, rest := cutLine(string(raw))
	if err := h.parseStatus(line); err != nil {
		return h, err
	}
	h.fields = make(Header, 0, min(strings.Count(rest, "\n"), maxFields+1))
	for {
		line, rest = cutLine(rest)
		if line == "" {
			return h, nil
		}
		if isBlank(line[0]) {
			if err := h.unfold(line); err != nil {
				return h, err
			}
			continue
		}
		f, err := parseField(line)
		if err != nil {
			return h, err
		}
		if len(h.fields) == maxFields {
			return h, errManyFields
		}
		h.fields = append(h.fields, f)
	}
}

// parseStatus parses "HTTP/1.1 200 OK".
func (h *head) parseStatus(line string) error {
	proto, status, _ := strings.Cut(line, " ")
	if len(proto) != len("HTTP/1.1") || proto[:5] != "HTTP/" || !isDigit(proto[5]) || proto[6] != '.' || !isDigit(proto[7]) {
		return fmt.Errorf("not a status line: %s", quote(line))
	}
	h.proto, h.major, h.minor = proto, proto[5]-'0', proto[7]-'0'
	code, _, _ := strings.Cut(strings.TrimLeft(status, " "), " ")
	if len(code) != 3 || !isDigit(code[0]) || code[0] == '0' || !isDigit(code[1]) || !isDigit(code[2]) {
		return fmt.Errorf("status is not a number from 100 to 999: %s", quote(line))
	}
	h.status = int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0')
	return nil
}

// unfold joins a continuation line to the field before it (obs-fold, RFC 9112 §5.2).
func (h *head) unfold(line string) error {
	if len(h.fields) == 0 {
		return errFirstFold
	}
	line = strings.Trim(line, " \t")
	if !validFieldValue(line) {
		return fmt.Errorf("control character in the header: %s", quote(line))
	}
	last := &h.fields[len(h.fields)-1]
	last.Value = strings.Trim(last.Value+" "+line, " \t")
	return nil
}

func parseField(line string) (Field, error) {
	colon := strings.IndexByte(line, ':')
	if colon < 0 {
		return Field{}, fmt.Errorf("header line without a colon: %s", quote(line))
	}
	f := Field{strings.TrimRight(line[:colon], " \t"), strings.Trim(line[colon+1:], " \t")}
	if !validFieldName(f.Name) {
		return f, fmt.Errorf("not a field name: %s", quote(line))
	}
	if !validFieldValue(f.Value) {
		return f, fmt.Errorf("control character in the header: %s", quote(line))
	}
	return f, nil
}

// cutLine splits s behind its first line, whose end (CRLF or LF) is dropped.
func cutLine(s string) (line, rest string) {
	line, rest, _ = strings.Cut(s, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}

// validFieldName reports whether s is a token (RFC 9110 §5.6.2); spaces inside are let pass as net/http does,
// nobody asks for such a field.
func validFieldName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isToken(s[i]) && s[i] != ' ' {
			return false
		}
	}
	return s != ""
}

func isToken(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '-', isDigit(c):
		return true
	case c > ' ' && c < 0x7f:
		return strings.IndexByte("!#$%&'*+.^_`|~", c) >= 0
	}
	return false
}

// validFieldValue reports whether s holds no control character but the tab (RFC 9110 §5.5).
func validFieldValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// validValue returns an error when value cannot be sent as the field.
func validValue(name, value string) error {
	if !validFieldValue(value) {
		return fmt.Errorf("%s has a control character: %s", name, quote(value))
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// quote quotes at most 80 bytes of s for a Detail: enough to recognise a line, too few to flood a log.
func quote(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%q...", s[:80])
	}
	return fmt.Sprintf("%q", s)
}
