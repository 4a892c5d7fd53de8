package warc

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// One header rule broken at a time; each must be named.
func TestHeaderRules(t *testing.T) {
	const good = "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2026-01-02T03:04:05.678901234Z\r\n" +
		"WARC-Target-URI: http://example.org/\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n"
	if rep := Check(strings.NewReader(good)); !rep.OK() || rep.Warnings > 0 {
		t.Fatalf("the unspoilt record: %v", rep.Problems)
	}
	for _, c := range []struct{ from, to, says string }{
		{"WARC-Type: response\r\n", "", "warc-type is missing"},
		{"WARC-Record-ID: <urn:x:1>\r\n", "", "warc-record-id is missing"},
		{"WARC-Date: ", "X-Date: ", "warc-date is missing"},
		{"WARC-Target-URI: ", "X-URI: ", "warc-target-uri is missing"},
		{"response", "continuation", "warc-segment-number is missing"},
		{"response", "revisit", "warc-profile is missing"},
		{"response", "warcinfo", "warc-target-uri does not belong"},
		{"response", "hologram", "not of the standard"},
		{"Content-Length", "WARC-Profile: x\r\nContent-Length", "does not belong in a response"},
		{"Content-Length", "WARC-Refers-To: <urn:x:2>\r\nContent-Length", "does not belong in a response"},
		{"Content-Length", "WARC-Date: 2026\r\nContent-Length", "given 2 times"},
		{"Content-Length", "WARC-IP-Address: here\r\nContent-Length", "not an IP address"},
		{"Content-Length", "WARC-Concurrent-To: urn:x:2\r\nContent-Length", "angle brackets"},
		{"Content-Length", "WARC-Block-Digest: sha1:x\r\nContent-Length", "is not 20 bytes"},
		{"Content-Length", "WARC-Block-Digest: crc:x\r\nContent-Length", "not known"},
		{"Content-Length", "WARC-Block-Digest: x\r\nContent-Length", "no algorithm"},
		{"<urn:x:1>", "urn:x:1", "angle brackets"},
		{"http://example.org/", "<http://example.org/>", "not a bare URI"},
		{"http://example.org/", "example", "not a bare URI"},
		{"2026-01-02T03", "2026-13-02T03", "not a date"},
		{"WARC/1.1", "WARC/1.0", "precision"},
		{"WARC/1.1", "WARC/2.0", "version"},
		{"hi\r\n\r\n", "hi\r\n", "two line ends"},
		{"hi\r\n", "hi\n", "two line ends"},
		{"Content-Length: 2\r\n", "Content-Length: 2\n", "LF alone"},
	} {
		rep := Check(strings.NewReader(strings.Replace(good, c.from, c.to, 1)))
		if !strings.Contains(fmt.Sprint(rep.Problems), c.says) {
			t.Errorf("%q for %q: %v", c.to, c.from, rep.Problems)
		}
	}
}

func TestDigestForms(t *testing.T) {
	const form = "WARC/1.1\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2026-01-02\r\nWARC-Target-URI: urn:x\r\n" +
		"WARC-Block-Digest: %s\r\nContent-Length: 5\r\n\r\n%s\r\n\r\n"
	for _, digest := range []string{
		"md5:5d41402abc4b2a76b9719d911017c592",
		"MD5:LVAUAKV4JMVHNOLRTWIRAF6FSI",
		"sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N",
		"sha1:vl2mmho4yxukfwv63yhtwsbm3gxksq2n",
		"sha1:qvTGHdzF6KLavt4PO0gs2a6pQ00=",
		"sha1:AAF4C61DDCC5E8A2DABEDE0F3B482CD9AEA9434D",
		"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
		"sha256:FTZE3OS7WCRQ4JXIHMVMLOPCTYNRMHS4D6TUEXTTAQZWFE4LTASA====",
		"SHA-256:LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ",
	} {
		if rep := Check(strings.NewReader(fmt.Sprintf(form, digest, "hello"))); !rep.OK() || rep.Digests != 1 {
			t.Errorf("%s: %v", digest, rep.Problems)
		}
		if rep := Check(strings.NewReader(fmt.Sprintf(form, digest, "jello"))); rep.Faults != 1 {
			t.Errorf("%s accepts another block", digest)
		}
	}
}

func TestReferencesAcrossFiles(t *testing.T) {
	e := NewEncoder(EncoderOptions{})
	original := Record{Type: Response, ID: testID, Date: testDate, TargetURI: "http://example.org/", HTTPHead: []byte(testHead), Body: []byte("x")}
	first, m, err := e.Append(nil, &original)
	if err != nil {
		t.Fatal(err)
	}
	good := Record{Type: Revisit, Date: testDate, TargetURI: "http://example.org/2", Profile: IdenticalPayload, RefersTo: testID,
		RefersToTargetURI: original.TargetURI, RefersToDate: original.Date, PayloadDigest: m.PayloadDigest}
	for says, spoil := range map[string]func(*Record){
		"":                      func(*Record) {},
		"has payload digest":    func(r *Record) { r.PayloadDigest = "sha256:" + strings.Repeat("0", 64) },
		"but that record is of": func(r *Record) { r.RefersToTargetURI = "http://example.org/3" },
		"but its date is":       func(r *Record) { r.RefersToDate = original.Date.AddDate(0, 0, 1) },
		"is used twice":         func(r *Record) { r.ID = testID },
	} {
		r := good
		spoil(&r)
		second, _, err := e.Append(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		c := NewChecker()
		if rep := c.Check(bytes.NewReader(first)); !rep.OK() {
			t.Fatal(rep.Problems)
		}
		rep := c.Check(bytes.NewReader(second))
		if got := firstFault(rep); (says == "") != rep.OK() || !strings.Contains(got, says) {
			t.Errorf("want %q: %v", says, rep.Problems)
		}
	}
}

func TestReportIsBounded(t *testing.T) {
	rep := Check(strings.NewReader(strings.Repeat("WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n", MaxProblems)))
	if len(rep.Problems) != MaxProblems || rep.Faults != 3*MaxProblems || rep.Records != MaxProblems {
		t.Errorf("%d listed, %d faults in %d records", len(rep.Problems), rep.Faults, rep.Records)
	}
}
