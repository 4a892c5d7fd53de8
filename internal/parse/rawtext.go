package parse

import "bytes"

// rawContent scans the content of a raw text element up to its end tag, which the next call of next
// will find, and reports whether there was any. Without an end tag the content is the rest of the
// document, as the standard says, so nothing is ever scanned again.
func (s *scanner) rawContent() bool {
	kind := s.raw
	s.raw = rawNone
	end := len(s.src)
	switch kind {
	case rawText, rawRC:
		end = s.rawEnd(s.pos)
	case rawScript:
		end = s.scriptEnd(s.pos)
	}
	if end == s.pos {
		return false
	}
	if kind == rawRC {
		return s.emit(tokText, s.pos, end)
	}
	return s.emit(tokRaw, s.pos, end)
}

// rawEnd returns the offset of the end tag that ends the raw text that begins at i.
func (s *scanner) rawEnd(i int) int {
	for {
		n := bytes.Index(s.src[i:], []byte("</"))
		if n < 0 {
			return len(s.src)
		}
		i += n
		if s.named(i+2, s.rawTag) {
			return i
		}
		i += 2
	}
}

// named reports whether the name at i is word, followed by what ends a tag name.
func (s *scanner) named(i int, word string) bool {
	end := i + len(word)
	return end < len(s.src) && class[s.src[end]]&endsName != 0 && equalFold(s.src[i:end], word)
}

// scriptEnd returns the offset of the end tag that ends the script data that begins at i. The script
// data states: in "<!--" ... "-->" the text is escaped, and a script start tag in there makes it double
// escaped, where a script end tag ends only the double escape.
func (s *scanner) scriptEnd(i int) int {
	escaped, double := false, false
	for i < len(s.src) {
		n := bytes.IndexByte(s.src[i:], '<')
		if n < 0 {
			n = len(s.src) - i
		}
		if escaped && s.unescaped(i, i+n) {
			escaped, double = false, false
		}
		i += n
		switch {
		case s.closesScript(i):
			if !double {
				return i
			}
			double = false
			i += len("</script")
		case !escaped && bytes.HasPrefix(s.src[i:], []byte("<!--")):
			escaped = true
			i += len("<!") // its dashes may be those of "-->"
		case escaped && !double && s.named(i+1, "script"):
			double = true
			i += len("<script")
		default:
			i++
		}
	}
	return len(s.src)
}

func (s *scanner) closesScript(i int) bool {
	return i+1 < len(s.src) && s.src[i+1] == '/' && s.named(i+2, s.rawTag)
}

// unescaped reports whether "-->" is in src[i:end].
func (s *scanner) unescaped(i, end int) bool {
	s.examined += end - i
	return bytes.Contains(s.src[i:end], []byte("-->"))
}
