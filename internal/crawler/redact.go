package crawler

import (
	"bytes"
	"slices"
	"strings"
)

// redacted stands in an archived request where a secret was sent.
const redacted = "redacted"

// redact replaces the values of the named fields in the head of a request of ours. The request itself is left alone.
func redact(head []byte, names []string) []byte {
	if len(names) == 0 {
		return head
	}
	out := make([]byte, 0, len(head))
	for line := range bytes.SplitAfterSeq(head, []byte("\r\n")) {
		name, _, ok := bytes.Cut(line, []byte(": "))
		if ok && slices.ContainsFunc(names, func(secret string) bool { return strings.EqualFold(secret, string(name)) }) {
			line = append(append(bytes.Clone(name), ": "...), redacted+"\r\n"...)
		}
		out = append(out, line...)
	}
	return out
}
