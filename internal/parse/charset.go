package parse

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/transform"
)

// How the charset of a page was found, in the order of trust; Page.CharsetSource.
const (
	FromBOM     = "bom"
	FromHeader  = "header"
	FromMeta    = "meta"     // meta element or XML declaration
	FromUTF8    = "utf-8"    // nothing declared, but it is valid UTF-8 and not ASCII
	FromContent = "detected" // nothing declared; guessed from its bytes
	FromDefault = "default"  // windows-1252, as browsers assume
)

const (
	utf8Name    = "utf-8"
	defaultName = "windows-1252"
)

// decode finds the charset of a page and returns its bytes in UTF-8 without byte order mark. They are
// the body itself where that is possible; then parts of it may be invalid.
func (p *Parser) decode(body []byte, contentType string) []byte {
	name, source := Charset(body, contentType)
	p.page.Charset, p.page.CharsetSource = name, source
	return p.decodeAs(body, name)
}

// decodeAs returns body in UTF-8.
func (p *Parser) decodeAs(body []byte, name string) []byte {
	body = skipBOM(body)
	if name == utf8Name || asciiCompatible(name) && isASCII(body) {
		return body
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		return body
	}
	if !strings.HasPrefix(name, "utf-16") && name != "replacement" {
		p.encoder = enc.NewEncoder()
	}
	p.decoded = transcode(p.decoded[:0], enc.NewDecoder(), body)
	return p.decoded
}

// Charset returns the canonical name of the charset of an HTML document and how it was found
// (https://html.spec.whatwg.org/#determining-the-character-encoding): byte order mark, Content-Type header,
// meta element, UTF-8 validity, detector, default.
func Charset(body []byte, contentType string) (name, source string) {
	if name := bomCharset(body); name != "" {
		return name, FromBOM
	}
	if name := headerCharset(contentType); name != "" {
		return name, FromHeader
	}
	if name := prescan(body[:min(len(body), prescanBytes)]); name != "" {
		return name, FromMeta
	}
	if len(body) > prescanBytes {
		if name := lateMeta(body[:min(len(body), lateMetaBytes)]); name != "" {
			return name, FromMeta
		}
	}
	if isASCII(body) {
		if hasEscapes(body) {
			return "iso-2022-jp", FromContent
		}
		return defaultName, FromDefault
	}
	if validUTF8(body) {
		return utf8Name, FromUTF8
	}
	if name := detect(body); name != "" {
		return name, FromContent
	}
	return defaultName, FromDefault
}

// prescanBytes is how far the standard looks for a meta element before decoding.
const prescanBytes = 1024

// lateMetaBytes is how far we look when nothing else declares the charset. A browser would meet that
// element while parsing and start again ("change the encoding"); we have the whole body at hand.
const lateMetaBytes = 64 << 10

// lateMeta is prescan for the bytes beyond prescanBytes, tried only if they can hold a declaration.
func lateMeta(body []byte) string {
	i := bytes.Index(body, []byte("charset"))
	if i < 0 {
		i = bytes.Index(body, []byte("CHARSET"))
	}
	if i < 0 {
		return ""
	}
	return prescan(body)
}

func bomCharset(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return utf8Name
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return "utf-16be"
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return "utf-16le"
	}
	return ""
}

func skipBOM(b []byte) []byte {
	switch bomCharset(b) {
	case utf8Name:
		return b[3:]
	case "":
		return b
	}
	return b[2:]
}

// headerCharset returns the charset of a Content-Type header, or "" when it names none that exists.
func headerCharset(contentType string) string {
	if !strings.Contains(contentType, "=") {
		return ""
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		return canonical(params["charset"])
	}
	return canonical(charsetIn(strings.ToLower(contentType))) // parameters that mime refuses, such as "charset=utf-8;;"
}

// canonical returns the name of the charset with that label (Encoding Standard §4.2), or "".
func canonical(label string) string {
	if label = strings.Trim(label, " \t\n\f\r"); label == "" {
		return ""
	}
	if strings.EqualFold(label, utf8Name) {
		return utf8Name
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return ""
	}
	name, err := htmlindex.Name(enc)
	if err != nil {
		return ""
	}
	return name
}

// asciiCompatible reports whether ASCII bytes always mean themselves.
func asciiCompatible(name string) bool {
	return name != "iso-2022-jp" && name != "replacement" && !strings.HasPrefix(name, "utf-16")
}

func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if (uint64(b[0])|uint64(b[1])|uint64(b[2])|uint64(b[3])|uint64(b[4])|uint64(b[5])|uint64(b[6])|uint64(b[7]))&0x80 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// validUTF8 reports whether b is UTF-8 but for a sequence cut off at its end.
func validUTF8(b []byte) bool {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				b = b[:len(b)-n]
			}
			break
		}
	}
	return utf8.Valid(b)
}

// transcodeChunk is how much is decoded at a time: enough to make the calls rare.
const transcodeChunk = 64 << 10

// transcode appends body, decoded. Decoders never fail: what does not decode becomes U+FFFD.
func transcode(dst []byte, d *encoding.Decoder, body []byte) []byte {
	for len(body) > 0 {
		dst = append(dst, make([]byte, transcodeChunk)...)
		free := dst[len(dst)-transcodeChunk:]
		written, read, err := d.Transform(free, body, true)
		dst = dst[:len(dst)-transcodeChunk+written]
		body = body[read:]
		if err != nil && err != transform.ErrShortDst || written == 0 && read == 0 {
			break
		}
	}
	return dst
}
