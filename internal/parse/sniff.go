package parse

import (
	"bytes"
	"strings"
)

// Type is a kind of document.
type Type uint8

// The kinds of documents Sniff tells apart.
const (
	TypeUnknown Type = iota // empty, or nothing known
	TypeHTML
	TypeXHTML
	TypeXML // of any other vocabulary
	TypeSitemap
	TypeSitemapIndex
	TypeFeed // RSS, Atom
	TypeText
	TypeCSS
	TypeScript
	TypeJSON
	TypePDF
	TypeImage
	TypeMedia // audio, video
	TypeFont
	TypeGzip
	TypeBinary // everything else that is not text
)

var typeNames = [...]string{"unknown", "html", "xhtml", "xml", "sitemap", "sitemapindex", "feed", "text", "css", "script", "json",
	"pdf", "image", "media", "font", "gzip", "binary"}

// String returns a lower-case name.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return "unknown"
}

// HasLinks reports whether Parser.HTML makes sense of the document.
func (t Type) HasLinks() bool { return t == TypeHTML || t == TypeXHTML }

// IsSitemap reports whether Parser.Sitemap makes sense of the document; plain text only does by context.
func (t Type) IsSitemap() bool { return t == TypeSitemap || t == TypeSitemapIndex || t == TypeFeed }

// sniffBytes is how much of a document decides what it is; the resource header of the MIME Sniffing Standard.
const sniffBytes = 1445

// Sniff says what body is, given its Content-Type header: a subset of the MIME Sniffing Standard
// (https://mimesniff.spec.whatwg.org/). A signature beats the header, so a PDF labelled as HTML is a PDF;
// HTML is found under no label and under labels that servers use for the unknown; any other label holds
// for text, and no label makes text of binary data.
func Sniff(body []byte, contentType string) Type {
	head := body[:min(len(body), sniffBytes)]
	if len(head) == 0 {
		return TypeUnknown
	}
	if t := signature(head); t != TypeUnknown {
		return t
	}
	declared := declaredType(contentType)
	if t := declaredAs(declared); t == TypeImage || t == TypeMedia || t == TypeFont || t == TypePDF {
		if !strings.HasSuffix(declared, "+xml") && !looksHTML(head) {
			return t
		}
	}
	if bomCharset(head) == "" && isBinary(head) {
		if text := trimSpace(head); declaredAs(declared) == TypeHTML && len(text) > 0 && text[0] == '<' {
			return TypeHTML // a stray control character, or UTF-16 without a byte order mark
		}
		return TypeBinary
	}
	return sniffText(head, declared)
}

// sniffText decides between kinds of text.
func sniffText(head []byte, declared string) Type {
	t := declaredAs(declared)
	switch t {
	case TypeCSS, TypeScript, TypeJSON, TypeXHTML:
		return t
	}
	if root := xmlRoot(head); root != TypeUnknown && (t != TypeHTML || root != TypeXML) {
		if root == TypeXHTML && t == TypeHTML {
			return TypeHTML // the label decides which parser a browser uses
		}
		return root
	}
	switch {
	case t == TypeText || t == TypeHTML || t == TypeXML:
		return t
	case looksHTML(head):
		return TypeHTML
	}
	return TypeText
}

// declaredType returns the media type of a Content-Type header, in lower case without parameters.
func declaredType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// declaredAs returns what a media type promises; TypeUnknown for those servers send when they do not know.
func declaredAs(media string) Type {
	main, sub, _ := strings.Cut(media, "/")
	switch {
	case media == "text/html":
		return TypeHTML
	case media == "application/xhtml+xml":
		return TypeXHTML
	case media == "image/svg+xml", media == "text/xml", media == "application/xml", strings.HasSuffix(sub, "+xml"):
		return TypeXML
	case media == "text/css":
		return TypeCSS
	case strings.HasSuffix(sub, "javascript"), strings.HasSuffix(sub, "ecmascript"):
		return TypeScript
	case sub == "json", strings.HasSuffix(sub, "+json"):
		return TypeJSON
	case media == "application/pdf":
		return TypePDF
	case main == "text":
		return TypeText
	case main == "image":
		return TypeImage
	case main == "audio", main == "video":
		return TypeMedia
	case main == "font":
		return TypeFont
	}
	return TypeUnknown
}

// magics are the signatures of binary formats; "?" matches any byte.
var magics = [...]struct {
	pattern string
	is      Type
}{
	{"%PDF-", TypePDF},
	{"\x89PNG\r\n\x1a\n", TypeImage}, {"\xff\xd8\xff", TypeImage}, {"GIF87a", TypeImage}, {"GIF89a", TypeImage},
	{"RIFF????WEBP", TypeImage}, {"BM????\x00\x00", TypeImage}, {"\x00\x00\x01\x00", TypeImage}, {"\x00\x00\x02\x00", TypeImage},
	{"II*\x00", TypeImage}, {"MM\x00*", TypeImage}, {"????ftypavif", TypeImage}, {"????ftyphei", TypeImage},
	{"????ftyp", TypeMedia}, {"\x1aE\xdf\xa3", TypeMedia}, {"OggS\x00", TypeMedia}, {"RIFF????AVI ", TypeMedia}, {"RIFF????WAVE", TypeMedia},
	{"ID3", TypeMedia}, {"fLaC", TypeMedia}, {"FLV\x01", TypeMedia}, {"MThd\x00", TypeMedia},
	{"wOFF", TypeFont}, {"wOF2", TypeFont}, {"OTTO\x00", TypeFont}, {"\x00\x01\x00\x00", TypeFont}, {"ttcf\x00", TypeFont},
	{"\x1f\x8b", TypeGzip},
	{"PK\x03\x04", TypeBinary}, {"PK\x05\x06", TypeBinary}, {"Rar!\x1a", TypeBinary}, {"7z\xbc\xaf\x27\x1c", TypeBinary},
	{"\x28\xb5\x2f\xfd", TypeBinary}, {"BZh", TypeBinary}, {"\xfd7zXZ\x00", TypeBinary}, {"\x7fELF", TypeBinary}, {"MZ\x90\x00", TypeBinary},
	{"\x00asm", TypeBinary}, {"\xca\xfe\xba\xbe", TypeBinary}, {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", TypeBinary}, {"SQLite format 3\x00", TypeBinary},
	{"%!PS-Adobe-", TypeBinary}, {"{\\rtf", TypeBinary},
}

func signature(head []byte) Type {
	for i := range magics {
		if matches(head, magics[i].pattern) {
			return magics[i].is
		}
	}
	return TypeUnknown
}

func matches(head []byte, pattern string) bool {
	if len(head) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] != '?' && pattern[i] != head[i] {
			return false
		}
	}
	return true
}

// isBinary reports whether head has a byte that no text has (binary data byte).
func isBinary(head []byte) bool {
	for _, c := range head {
		if c <= 0x08 || c == 0x0b || c >= 0x0e && c <= 0x1a || c >= 0x1c && c <= 0x1f {
			return true
		}
	}
	return false
}

// htmlStarts are the beginnings that identify HTML; each must be followed by a space or ">".
var htmlStarts = [...]string{"<!doctype html", "<html", "<head", "<script", "<iframe", "<h1", "<div", "<font", "<table", "<a",
	"<style", "<title", "<b", "<body", "<br", "<p", "<meta", "<link", "<!--"}

func looksHTML(head []byte) bool {
	head = trimSpace(skipBOM(head))
	for _, start := range htmlStarts {
		n := len(start)
		if len(head) > n && equalFold(head[:n], start) && (start == "<!--" || class[head[n]]&isSpace != 0 || head[n] == '>') {
			return true
		}
	}
	return false
}

// xmlRoot returns what the root element of an XML document says it is, or TypeUnknown when head is not XML.
// It looks through the prolog: declaration, comments, doctype.
func xmlRoot(head []byte) Type {
	rest := trimSpace(skipBOM(head))
	declared := bytes.HasPrefix(rest, []byte("<?xml"))
	for len(rest) > 1 && rest[0] == '<' && (rest[1] == '?' || rest[1] == '!') {
		end := []byte(">")
		if bytes.HasPrefix(rest, []byte("<!--")) {
			end = []byte("-->")
		}
		n := bytes.Index(rest, end)
		if n < 0 {
			rest = nil
			break
		}
		rest = trimSpace(rest[n+len(end):])
	}
	if len(rest) > 1 && rest[0] == '<' {
		switch t := rootType(localName(rest[1:])); {
		case t == TypeXHTML && !declared:
			return TypeUnknown // plain HTML begins so too
		case t != TypeUnknown:
			return t
		}
	}
	if declared {
		return TypeXML
	}
	return TypeUnknown
}

// rootType returns the kind of document with that root element.
func rootType(name string) Type {
	switch name {
	case "html":
		return TypeXHTML
	case "urlset":
		return TypeSitemap
	case "sitemapindex":
		return TypeSitemapIndex
	case "rss", "feed", "rdf":
		return TypeFeed
	}
	return TypeUnknown
}

// localName returns the name at the start of b in lower case, without its prefix.
func localName(b []byte) string {
	n := 0
	for n < len(b) && n < maxXMLName && class[b[n]]&endsName == 0 {
		n++
	}
	name := strings.ToLower(string(b[:n]))
	return name[strings.LastIndexByte(name, ':')+1:]
}
