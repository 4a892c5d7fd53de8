package warc

import (
	"net/netip"
	"slices"
	"strings"
)

// fieldRule is what the standard says of a field (ISO 28500:2017 §5).
type fieldRule struct {
	need []Type // must have it
	only []Type // may have it; nil = all
	not  []Type // must not have it
	many bool   // may occur more than once
	form func(value, version string) string
}

var (
	allTypes = []Type{Warcinfo, Response, Request, Revisit, Metadata, Resource, Conversion, Continuation}
	captures = []Type{Response, Request, Revisit, Resource, Conversion, Continuation}
)

// fieldRules is keyed by the name in lower case; it never changes.
var fieldRules = map[string]fieldRule{
	"warc-type":                    {need: allTypes},
	"warc-record-id":               {need: allTypes, form: bracketed},
	"warc-date":                    {need: allTypes, form: date},
	"content-length":               {need: allTypes},
	"content-type":                 {},
	"warc-concurrent-to":           {not: []Type{Warcinfo, Conversion, Continuation}, many: true, form: bracketed},
	"warc-block-digest":            {},
	"warc-payload-digest":          {},
	"warc-ip-address":              {not: []Type{Warcinfo, Conversion, Continuation}, form: address},
	"warc-refers-to":               {not: []Type{Warcinfo, Response, Resource, Request, Continuation}, form: bracketed},
	"warc-refers-to-target-uri":    {only: []Type{Revisit}},
	"warc-refers-to-date":          {only: []Type{Revisit}, form: date},
	"warc-target-uri":              {need: captures, not: []Type{Warcinfo}, form: target},
	"warc-truncated":               {},
	"warc-warcinfo-id":             {not: []Type{Warcinfo}, form: bracketed},
	"warc-filename":                {only: []Type{Warcinfo}},
	"warc-profile":                 {need: []Type{Revisit}, only: []Type{Revisit}},
	"warc-identified-payload-type": {},
	"warc-segment-number":          {need: []Type{Continuation}},
	"warc-segment-origin-id":       {need: []Type{Continuation}, only: []Type{Continuation}, form: bracketed},
	"warc-segment-total-length":    {only: []Type{Continuation}},
}

// fieldNames are the keys of fieldRules in an order that keeps reports the same from run to run.
var fieldNames = func() []string {
	var names []string
	for name := range fieldRules {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// checkHeader holds a header against fieldRules. Fields the standard does not know are nobody's business.
func checkHeader(h *Header, fault, warn func(string, ...any)) {
	t := h.Type()
	if !slices.Contains(allTypes, t) && t != "" {
		warn("record type %q is not of the standard", string(t))
	}
	if h.Version != "1.0" && h.Version != "1.1" {
		warn("version %s", h.Version)
	}
	for _, name := range fieldNames {
		rule, values := fieldRules[name], h.Values(name)
		switch {
		case len(values) == 0 && slices.Contains(rule.need, t), len(values) == 0 && t == "" && len(rule.need) == len(allTypes):
			fault("%s is missing", name)
		case len(values) > 0 && (slices.Contains(rule.not, t) || rule.only != nil && !slices.Contains(rule.only, t)):
			fault("%s does not belong in a %s record", name, t)
		case len(values) > 1 && !rule.many:
			fault("%s is given %d times", name, len(values))
		}
		if rule.form == nil {
			continue
		}
		for _, v := range values {
			if wrong := rule.form(v, h.Version); wrong != "" {
				fault("%s %q %s", name, v, wrong)
			}
		}
	}
}

func bracketed(v, _ string) string {
	if b := bare(v); b == v || !isURI(b) || !strings.Contains(b, ":") {
		return "is not a URI in angle brackets"
	}
	return ""
}

// target: the grammar of 1.0 put the URI in brackets, its examples did not, and 1.1 settled for bare.
func target(v, version string) string {
	if version == "1.0" || version == "0.18" || version == "0.17" {
		v = bare(v)
	}
	if !isURI(v) || !strings.Contains(v, ":") {
		return "is not a bare URI"
	}
	return ""
}

func date(v, version string) string {
	if _, err := ParseDate(v); err != nil {
		return "is not a date"
	}
	if version != "1.1" && len(v) != len("2006-01-02T15:04:05Z") {
		return "is of a precision that 1.1 brought"
	}
	return ""
}

func address(v, _ string) string {
	if _, err := netip.ParseAddr(v); err != nil {
		return "is not an IP address"
	}
	return ""
}
