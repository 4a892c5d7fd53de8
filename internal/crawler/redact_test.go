package crawler

import "testing"

func TestRedact(t *testing.T) {
	const head = "GET /Cookie: x HTTP/1.1\r\nHost: a.test\r\nCOOKIE: a=1; b=2\r\nX-Key: \r\nX-Cookie: kept\r\nAuthorization: Basic eDp5\r\n\r\n"
	const want = "GET /Cookie: x HTTP/1.1\r\nHost: a.test\r\nCOOKIE: redacted\r\nX-Key: redacted\r\nX-Cookie: kept\r\nAuthorization: redacted\r\n\r\n"
	original := []byte(head)
	if got := string(redact(original, []string{"Cookie", "Authorization", "x-key"})); got != want {
		t.Errorf("%q", got)
	}
	if string(original) != head {
		t.Error("the request is changed")
	}
	if got := redact(original, nil); string(got) != head {
		t.Errorf("%q", got)
	}
}
