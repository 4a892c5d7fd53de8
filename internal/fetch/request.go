package fetch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

var errNoAddr = errors.New("request has no address")

// framing fields: a caller that sets one of them would break the message or the connection.
var framingFields = [...]string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Trailer", "Upgrade", "Keep-Alive", "TE", "Expect"}

// newRun checks the request and writes its bytes.
func (t *Transport) newRun(ctx context.Context, req *Request) (*run, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if req.URL.IsZero() || !req.Addr.IsValid() && !t.opt.Proxy.Resolves() || req.Addr.Port() == 0 {
		return nil, errNoAddr
	}
	b, err := t.appendRequest(make([]byte, 0, 512), req)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	r := &run{t: t, ctx: ctx, req: req, maxBody: t.opt.MaxBody, deadline: now.Add(t.opt.Timeout)}
	r.x = &Exchange{RequestBytes: b, Start: now, Addr: req.Addr}
	if req.MaxBody > 0 {
		r.maxBody = req.MaxBody
	}
	r.maxWire = t.opt.MaxWire
	if r.maxWire == 0 {
		r.maxWire = r.maxBody + 1<<20
	}
	r.key = req.HostKey
	if r.key == "" {
		r.key = req.URL.Host()
	}
	return r, nil
}

// appendRequest appends the request as it goes on the wire.
func (t *Transport) appendRequest(b []byte, req *Request) ([]byte, error) {
	target := req.URL.RequestTarget()
	for i := 0; i < len(target); i++ {
		if target[i] <= ' ' || target[i] == 0x7f {
			return nil, fmt.Errorf("request target has a control character: %s", quote(target))
		}
	}
	b = append(append(append(b, "GET "...), target...), " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", req.URL.HostPort())
	for _, f := range [...]Field{{"User-Agent", t.opt.UserAgent}, {"Accept", t.opt.Accept}, {"Accept-Encoding", "gzip"}} {
		if !has(req.Header, f.Name) {
			b = appendField(b, f.Name, f.Value)
		}
	}
	if req.KeepFor <= 0 {
		b = appendField(b, "Connection", "close")
	}
	return appendExtra(b, req)
}

// CheckField says why a request cannot have the field, or nil. The value is not in the error: it may be a secret.
func CheckField(f Field) error {
	if !validFieldName(f.Name) || strings.Contains(f.Name, " ") {
		return fmt.Errorf("not a field name: %s", quote(f.Name))
	}
	for _, own := range framingFields {
		if sameName(f.Name, own) {
			return fmt.Errorf("field %s cannot be set by a request", own)
		}
	}
	if !validFieldValue(f.Value) {
		return fmt.Errorf("the value of %s has a control character", f.Name)
	}
	return nil
}

// appendExtra appends what the caller asked for, and the end of the header.
func appendExtra(b []byte, req *Request) ([]byte, error) {
	for _, f := range req.Header {
		if err := CheckField(f); err != nil {
			return nil, err
		}
		b = appendField(b, f.Name, f.Value)
	}
	for _, f := range [...]Field{{"If-None-Match", req.IfNoneMatch}, {"If-Modified-Since", req.IfModifiedSince}} {
		if f.Value == "" {
			continue
		}
		if err := validValue(f.Name, f.Value); err != nil {
			return nil, err
		}
		b = appendField(b, f.Name, f.Value)
	}
	return append(b, "\r\n"...), nil
}

func appendField(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	return append(append(b, value...), "\r\n"...)
}

func has(fields []Field, name string) bool {
	for i := range fields {
		if sameName(fields[i].Name, name) {
			return true
		}
	}
	return false
}
