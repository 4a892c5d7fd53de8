package warc

import (
	"fmt"
	"net/netip"
)

// validate refuses a record that would not be valid WARC, or whose values would break out of their line.
func (r *Record) validate() error {
	if err := r.validateForType(); err != nil {
		return fmt.Errorf("%w: %s %s: %w", ErrRecord, r.Type, r.TargetURI, err)
	}
	if err := r.validateValues(); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRecord, r.Type, err)
	}
	return nil
}

func (r *Record) validateForType() error {
	switch r.Type {
	case Warcinfo:
		if r.TargetURI != "" {
			return fmt.Errorf("a warcinfo has no target URI")
		}
	case Metadata:
	case Response, Request, Resource, Revisit:
		if r.TargetURI == "" {
			return fmt.Errorf("no target URI")
		}
	default:
		return fmt.Errorf("type %q is never written", string(r.Type))
	}
	if (r.Type == Revisit) != (r.Profile != "") {
		return fmt.Errorf("profile belongs to a revisit, and each revisit has one")
	}
	if len(r.HTTPHead) > 0 && r.Type != Request && r.Type != Response && r.Type != Revisit {
		return fmt.Errorf("an HTTP head belongs to a request, response or revisit")
	}
	if r.Type == Revisit && (len(r.Body) > 0 || r.BodyReader != nil) {
		return fmt.Errorf("a revisit has no payload")
	}
	if r.Type != Warcinfo && r.Filename != "" {
		return fmt.Errorf("a file name belongs to a warcinfo")
	}
	if r.Date.IsZero() {
		return fmt.Errorf("no date")
	}
	if y := r.Date.UTC().Year(); y < 0 || y > 9999 {
		return fmt.Errorf("year %d", y)
	}
	if r.BodyLength < 0 || r.BodyReader != nil && len(r.Body) > 0 {
		return fmt.Errorf("body given twice, or of negative length")
	}
	return nil
}

func (r *Record) validateValues() error {
	for _, uri := range [...]string{r.ID, r.TargetURI, r.WarcinfoID, r.RefersTo, r.RefersToTargetURI, r.Profile} {
		if !isURI(uri) {
			return fmt.Errorf("%q is not a bare URI", uri)
		}
	}
	for _, id := range r.ConcurrentTo {
		if !isURI(id) {
			return fmt.Errorf("%q is not a bare URI", id)
		}
	}
	for _, v := range [...]string{r.ContentType, r.Filename, r.Truncated, r.PayloadDigest, r.BlockDigest, r.PayloadType} {
		if !isValue(v) {
			return fmt.Errorf("control character in %q", v)
		}
	}
	for _, f := range r.Extra {
		if !isToken(f.Name) || !isValue(f.Value) {
			return fmt.Errorf("extra field %q: %q", f.Name, f.Value)
		}
	}
	if r.IPAddress != "" {
		if _, err := netip.ParseAddr(r.IPAddress); err != nil {
			return err
		}
	}
	return nil
}

// isURI tells whether s can stand as a URI in a header: no space, control character or angle bracket.
// The empty string can (it is left out).
func isURI(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c == 0x7f || c == '<' || c == '>' {
			return false
		}
	}
	return true
}

func isValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if isControl(s[i]) {
			return false
		}
	}
	return true
}

func isControl(c byte) bool { return c < ' ' || c == 0x7f }

// isToken tells whether s is a field name (§4: token).
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case c == '-', c == '_', c == '.', c == '!', c == '#', c == '$', c == '%', c == '&', c == '\'',
			c == '*', c == '+', c == '^', c == '`', c == '|', c == '~':
		default:
			return false
		}
	}
	return s != ""
}
