package parse

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// TestPrescanVectors runs the encoding tests of html5lib. Their answers assume no detection, and that a late
// meta element changes the encoding.
func TestPrescanVectors(t *testing.T) {
	for _, name := range []string{"tests1.dat", "tests2.dat", "test-yahoo-jp.dat"} {
		data, err := os.ReadFile(vectors(t, "html/encoding/"+name))
		if err != nil {
			t.Fatal(err)
		}
		cases := bytes.Split(data, []byte("#data\n"))[1:]
		for i, c := range cases {
			body, answer, _ := bytes.Cut(c, []byte("\n#encoding\n"))
			label, _, _ := strings.Cut(string(answer), "\n")
			want := canonical(label)
			got, source := Charset(body, "")
			if source == FromUTF8 || source == FromContent {
				got = defaultName // where the tests say what is declared, we also look at the content
			}
			if got != want {
				t.Errorf("%s %d: %q (%s), want %q\n%.200s", name, i, got, source, want, body)
			}
		}
		if len(cases) == 0 {
			t.Errorf("%s: no cases", name)
		}
	}
}

func TestCharsetOrder(t *testing.T) {
	for _, c := range []struct{ name, header, body, charset, source string }{
		{"header", "text/html; charset=windows-1251", "<meta charset=utf-8>", "windows-1251", FromHeader},
		{"quoted", `text/html; charset="ISO-8859-1"`, "x", "windows-1252", FromHeader},
		{"sloppy", `text/html;; charset=koi8-r;;`, "x", "koi8-r", FromHeader},
		{"unknown label", "text/html; charset=bogus", "<meta charset=euc-kr>", "euc-kr", FromMeta},
		{"BOM beats header", "text/html; charset=windows-1251", "\xef\xbb\xbfx", "utf-8", FromBOM},
		{"UTF-16 BOM", "", "\xff\xfex\x00", "utf-16le", FromBOM},
		{"meta", "text/html", `<meta http-equiv=content-type content="text/html; charset=gb2312">`, "gbk", FromMeta},
		{"XML declaration", "", `<?xml version="1.0" encoding='iso-8859-2'?><html>`, "iso-8859-2", FromMeta},
		{"meta UTF-16 is a lie", "", "<meta charset=utf-16>", "utf-8", FromMeta},
		{"valid UTF-8", "", "caf\u00e9", "utf-8", FromUTF8},
		{"UTF-8 cut off", "", "caf\u00e9 caf\xc3", "utf-8", FromUTF8},
		{"ASCII", "", "plain", "windows-1252", FromDefault},
		{"escapes", "", "\x1b$B$3$s\x1b(B", "iso-2022-jp", FromContent},
		{"late meta", "", strings.Repeat(" ", 2000) + "<meta charset=big5>", "big5", FromMeta},
	} {
		if charset, source := Charset([]byte(c.body), c.header); charset != c.charset || source != c.source {
			t.Errorf("%s: %s by %s, want %s by %s", c.name, charset, source, c.charset, c.source)
		}
	}
}

// samples are running text; each must be recognised in all of its charsets.
var samples = []struct {
	charsets []string
	text     string
}{
	{[]string{"windows-1251", "koi8-r", "ibm866", "iso-8859-5"}, "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства."},
	{[]string{"windows-1253"}, "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση."},
	{[]string{"windows-1255"}, "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה."},
	{[]string{"windows-1256"}, "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميراً وعليهم أن يعامل بعضهم بعضاً بروح الإخاء."},
	{[]string{"windows-874"}, "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ"},
	{[]string{"euc-jp", "shift_jis"}, "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。"},
	{[]string{"gbk"}, "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。人人有资格享受本宣言所载的一切权利和自由。"},
	{[]string{"big5"}, "人人生而自由,在尊嚴和權利上一律平等。他們賦有理性和良心,並應以兄弟關係的精神互相對待。人人有資格享受本宣言所載的一切權利和自由。"},
	{[]string{"euc-kr"}, "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다."},
	{[]string{"windows-1250"}, "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa."},
	{[]string{"windows-1250"}, "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím a mají spolu jednat v duchu bratrství."},
	{[]string{"windows-1254"}, "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve birbirlerine karşı kardeşlik zihniyeti ile hareket etmelidirler."},
	{[]string{"windows-1252"}, "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité."},
	{[]string{"windows-1252"}, "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geiste der Brüderlichkeit begegnen."},
	{[]string{"windows-1252"}, "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón y conciencia, deben comportarse fraternalmente los unos con los otros en el año."},
	{[]string{"windows-1252"}, "Alla människor är födda fria och lika i värde och rättigheter. De har utrustats med förnuft och samvete och bör handla gentemot varandra i en anda av gemenskap."},
}

func TestDetect(t *testing.T) {
	for _, s := range samples {
		for _, name := range s.charsets {
			body := encode(t, name, "<p>"+s.text+"</p>")
			got, source := Charset(body, "text/html")
			if got != name || source != FromContent && name != defaultName {
				t.Errorf("%s detected as %s (%s): %.30s", name, got, source, s.text)
			}
		}
	}
}

func encode(t testing.TB, charset, text string) []byte {
	t.Helper()
	enc, err := htmlindex.Get(charset)
	if err != nil {
		t.Fatal(err)
	}
	b, err := encoding.ReplaceUnsupported(enc.NewEncoder()).Bytes([]byte(text))
	if err != nil {
		t.Fatal(charset, err)
	}
	return b
}

// TestPagesInAnyCharsetReadTheSame writes one page in each charset that has its letters.
func TestPagesInAnyCharsetReadTheSame(t *testing.T) {
	for _, s := range samples {
		for _, name := range append([]string{"utf-8", "utf-16le", "utf-16be", "gb18030"}, s.charsets...) {
			body := encode(t, name, `<title>`+s.text+`</title><a href="/x">`+s.text+`</a>`)
			if strings.HasPrefix(name, "utf-16") {
				body = append(map[string][]byte{"utf-16le": []byte("\xff\xfe"), "utf-16be": []byte("\xfe\xff")}[name], body...)
			}
			page := NewParser(Options{MaxAnchor: 1000}).HTML(body, "text/html; charset="+name, "")
			if page.Charset != name || page.Title != s.text || len(page.Links) != 1 || page.Links[0].Anchor != s.text {
				t.Errorf("%s: read as %s: %q", name, page.Charset, page.Title)
			}
		}
	}
}

// TestQueryInCharset holds references of legacy pages to what browsers send: the query in the charset of the
// page, everything else in UTF-8.
func TestQueryInCharset(t *testing.T) {
	for _, c := range []struct{ charset, ref, want string }{
		{"windows-1251", "/путь?q=мир&a=b#якорь", "/путь?q=%EC%E8%F0&a=b#якорь"},
		{"shift_jis", "?q=日本", "?q=%93%FA%96%7B"},
		{"windows-1252", "?q=é&x=&#1081;#ü", "?q=%E9&x=%26%231081%3B#ü"}, // as forms do with letters a page lacks
		{"utf-8", "?q=мир", "?q=мир"},
	} {
		body := encode(t, c.charset, `<a href="`+c.ref+`">`)
		page := NewParser(Options{}).HTML(body, "text/html; charset="+c.charset, "")
		if len(page.Links) != 1 || page.Links[0].Ref != c.want {
			t.Errorf("%s %s: %+v, want %q", c.charset, c.ref, page.Links, c.want)
		}
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	p := NewParser(Options{Text: true})
	page := p.HTML([]byte("<html lang='\xff'><title>a\xffb</title><base href='\xc3('><meta name=robots content='\xfe'>"+
		"<link rel=canonical href='\xff'><a href='/\xff\x00'>x\xf0\x9f y\x00z</a> <b>\xed\xa0\x80</b>"), "text/html; charset=utf-8", "")
	texts := []string{page.Title, page.Base, page.Canonical, page.RobotsText, page.Lang, page.Links[1].Ref, page.Links[1].Anchor}
	for _, s := range page.Text {
		texts = append(texts, s.Text)
	}
	for _, s := range texts {
		if s == "" || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			t.Errorf("%q", s)
		}
	}
}
