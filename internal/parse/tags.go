package parse

// tag identifies an element whose name means something here; tagOther is all the others.
type tag uint8

const (
	tagOther tag = iota
	tagA
	tagApplet
	tagArea
	tagAudio
	tagB
	tagBase
	tagBlockquote
	tagBody
	tagDel
	tagDesc
	tagDiv
	tagEmbed
	tagFeImage
	tagFont
	tagForeignObject
	tagFrame
	tagH1
	tagH2
	tagH3
	tagH4
	tagH5
	tagH6
	tagHTML
	tagIframe
	tagImage
	tagImg
	tagImport
	tagInput
	tagIns
	tagLink
	tagMath
	tagMeta
	tagMi
	tagMn
	tagMo
	tagMs
	tagMtext
	tagNoembed
	tagNoframes
	tagNoscript
	tagObject
	tagParam
	tagPlaintext
	tagQ
	tagScript
	tagSource
	tagStrong
	tagStyle
	tagSvg
	tagTable
	tagTbody
	tagTd
	tagTemplate
	tagTextarea
	tagTfoot
	tagTh
	tagThead
	tagTitle
	tagTr
	tagTrack
	tagUse
	tagVideo
	tagXmp
	tagBlock    // a block element of no other meaning
	tagBreakout // an inline element that ends foreign content
	tagBlockOut // both
)

// rawKind says how the content of an element is tokenized.
type rawKind uint8

const (
	rawNone   rawKind = iota
	rawText           // RAWTEXT state: up to the matching end tag, no character references
	rawRC             // RCDATA state: the same, with character references
	rawScript         // script data states, with their escapes
	rawPlain          // PLAINTEXT state: up to the end of the document
)

// tagInfo is what the scanner knows of an element.
type tagInfo struct {
	name     string
	raw      rawKind
	attrs    bool // it has attributes worth collecting
	block    bool // it begins and ends a block of text
	breakout bool // as a start tag it ends SVG or MathML content (tree construction, foreign content)
	silent   bool // its text is not visible text
}

// elements is indexed by tag.
var elements = [...]tagInfo{
	tagA:             {name: "a", attrs: true},
	tagApplet:        {name: "applet", attrs: true},
	tagArea:          {name: "area", attrs: true},
	tagAudio:         {name: "audio", attrs: true},
	tagB:             {name: "b", breakout: true},
	tagBase:          {name: "base", attrs: true},
	tagBlockquote:    {name: "blockquote", attrs: true, block: true, breakout: true},
	tagBody:          {name: "body", attrs: true, block: true, breakout: true},
	tagDel:           {name: "del", attrs: true},
	tagDesc:          {name: "desc"},
	tagDiv:           {name: "div", block: true, breakout: true},
	tagEmbed:         {name: "embed", attrs: true, breakout: true},
	tagFeImage:       {name: "feimage", attrs: true},
	tagFont:          {name: "font", attrs: true},
	tagForeignObject: {name: "foreignobject"},
	tagFrame:         {name: "frame", attrs: true},
	tagH1:            {name: "h1", block: true, breakout: true},
	tagH2:            {name: "h2", block: true, breakout: true},
	tagH3:            {name: "h3", block: true, breakout: true},
	tagH4:            {name: "h4", block: true, breakout: true},
	tagH5:            {name: "h5", block: true, breakout: true},
	tagH6:            {name: "h6", block: true, breakout: true},
	tagHTML:          {name: "html", attrs: true, block: true},
	tagIframe:        {name: "iframe", raw: rawText, attrs: true, block: true, silent: true},
	tagImage:         {name: "image", attrs: true},
	tagImg:           {name: "img", attrs: true, breakout: true},
	tagImport:        {name: "import", attrs: true},
	tagInput:         {name: "input", attrs: true},
	tagIns:           {name: "ins", attrs: true},
	tagLink:          {name: "link", attrs: true},
	tagMath:          {name: "math"},
	tagMeta:          {name: "meta", attrs: true, breakout: true},
	tagMi:            {name: "mi"},
	tagMn:            {name: "mn"},
	tagMo:            {name: "mo"},
	tagMs:            {name: "ms"},
	tagMtext:         {name: "mtext"},
	tagNoembed:       {name: "noembed", raw: rawText, silent: true},
	tagNoframes:      {name: "noframes", raw: rawText, silent: true},
	tagNoscript:      {name: "noscript", silent: true},
	tagObject:        {name: "object", attrs: true},
	tagParam:         {name: "param", attrs: true},
	tagPlaintext:     {name: "plaintext", raw: rawPlain, block: true},
	tagQ:             {name: "q", attrs: true},
	tagScript:        {name: "script", raw: rawScript, attrs: true, silent: true},
	tagSource:        {name: "source", attrs: true},
	tagStrong:        {name: "strong", breakout: true},
	tagStyle:         {name: "style", raw: rawText, silent: true},
	tagSvg:           {name: "svg"},
	tagTable:         {name: "table", attrs: true, block: true, breakout: true},
	tagTbody:         {name: "tbody", attrs: true, block: true},
	tagTd:            {name: "td", attrs: true, block: true},
	tagTemplate:      {name: "template", silent: true},
	tagTextarea:      {name: "textarea", raw: rawRC, silent: true},
	tagTfoot:         {name: "tfoot", attrs: true, block: true},
	tagTh:            {name: "th", attrs: true, block: true},
	tagThead:         {name: "thead", attrs: true, block: true},
	tagTitle:         {name: "title", raw: rawRC},
	tagTr:            {name: "tr", attrs: true, block: true},
	tagTrack:         {name: "track", attrs: true},
	tagUse:           {name: "use", attrs: true},
	tagVideo:         {name: "video", attrs: true},
	tagXmp:           {name: "xmp", raw: rawText, block: true},
	tagBlock:         {block: true},
	tagBreakout:      {breakout: true},
	tagBlockOut:      {block: true, breakout: true},
}

// plainTags are the elements that matter only as a group.
var plainTags = map[tag][]string{
	tagBlock: {"address", "article", "aside", "caption", "details", "dir", "fieldset", "figcaption", "figure", "footer", "form",
		"frameset", "header", "hgroup", "legend", "main", "nav", "optgroup", "option", "search", "section", "select", "summary"},
	tagBreakout: {"big", "code", "em", "i", "nobr", "s", "small", "span", "strike", "sub", "sup", "tt", "u", "var"},
	tagBlockOut: {"br", "center", "dd", "dl", "dt", "head", "hr", "li", "listing", "menu", "ol", "p", "pre", "ruby", "ul"},
}

// attr identifies an attribute that means something here; attrOther is all the others.
type attr uint8

const (
	attrOther attr = iota
	attrAlt
	attrArchive
	attrBackground
	attrCite
	attrCodebase
	attrColor
	attrContent
	attrData
	attrDynsrc
	attrEquiv // http-equiv
	attrFace
	attrHref
	attrImagesrcset
	attrImplementation
	attrLang
	attrLongdesc
	attrLowsrc
	attrManifest
	attrName
	attrPoster
	attrRel
	attrSize
	attrSrc
	attrSrcdoc
	attrSrcset
	attrStyle
	attrType
	attrValue
	attrXHref // xlink:href
	numAttrs
)

var attrNames = [numAttrs]string{
	attrAlt: "alt", attrArchive: "archive", attrBackground: "background", attrCite: "cite", attrCodebase: "codebase",
	attrColor: "color", attrContent: "content", attrData: "data", attrDynsrc: "dynsrc", attrEquiv: "http-equiv", attrFace: "face",
	attrHref: "href", attrImagesrcset: "imagesrcset", attrImplementation: "implementation", attrLang: "lang", attrLongdesc: "longdesc",
	attrLowsrc: "lowsrc", attrManifest: "manifest", attrName: "name", attrPoster: "poster", attrRel: "rel", attrSize: "size",
	attrSrc: "src", attrSrcdoc: "srcdoc", attrSrcset: "srcset", attrStyle: "style",
	attrType: "type", attrValue: "value", attrXHref: "xlink:href",
}

// names is an open-addressing table from lower-case ASCII names to small numbers. It is immutable once built.
// A lookup of a name on the page costs a loop over its bytes and mostly one comparison.
type names struct {
	slots [256]nameSlot
}

type nameSlot struct {
	key  uint64 // first eight bytes, lower case, little endian
	name string
	id   uint8
}

func (n *names) put(name string, id uint8) {
	key := packName([]byte(name))
	i := hashName(key, len(name))
	for n.slots[i].name != "" {
		i = (i + 1) & uint32(len(n.slots)-1)
	}
	n.slots[i] = nameSlot{key, name, id}
}

// get returns the number of the name in its raw spelling, whose first bytes are packed in key, or 0.
func (n *names) get(key uint64, raw []byte) uint8 {
	for i := hashName(key, len(raw)); ; i = (i + 1) & uint32(len(n.slots)-1) {
		s := &n.slots[i]
		if s.name == "" {
			return 0
		}
		if s.key == key && len(s.name) == len(raw) && (len(raw) <= 8 || equalFold(raw[8:], s.name[8:])) {
			return s.id
		}
	}
}

// packName packs the first eight bytes of a name, in lower case.
func packName(raw []byte) (key uint64) {
	for i, c := range raw[:min(len(raw), 8)] {
		key |= uint64(lower(c)) << (8 * i)
	}
	return key
}

func hashName(key uint64, length int) uint32 {
	return uint32((key+uint64(length))*0x9e3779b97f4a7c15>>56) & 255
}

func lower(c byte) byte {
	if c-'A' < 26 {
		c |= 0x20
	}
	return c
}

// equalFold reports whether raw is the lower-case ASCII word, in any case.
func equalFold(raw []byte, word string) bool {
	if len(raw) != len(word) {
		return false
	}
	for i, c := range raw {
		if lower(c) != word[i] {
			return false
		}
	}
	return true
}

var (
	tagNames  = buildTagNames()
	attrTable = buildAttrNames()
)

func buildTagNames() *names {
	n := new(names)
	for t, info := range elements {
		if info.name != "" {
			n.put(info.name, uint8(t))
		}
	}
	for t, list := range plainTags {
		for _, name := range list {
			n.put(name, uint8(t))
		}
	}
	return n
}

func buildAttrNames() *names {
	n := new(names)
	for a, name := range attrNames {
		if name != "" {
			n.put(name, uint8(a))
		}
	}
	return n
}
