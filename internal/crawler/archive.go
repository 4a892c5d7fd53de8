package crawler

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strconv"
	"time"

	"decorum/internal/contentseen"
	"decorum/internal/dns"
	"decorum/internal/fetch"
	"decorum/internal/warc"
)

// original is what a duplicate's revisit record refers to.
type original = contentseen.Ref

// archive encodes the records of an exchange: request, and response or, for a body seen before, revisit.
func (c *Crawler) archive(ctx context.Context, v *visit, x *fetch.Exchange, first *original) error {
	if c.opt.NoArchive || len(x.HeadBytes) == 0 {
		return nil // nothing came that could be replayed; fetches.jsonl says what happened
	}
	t, err := c.take(ctx)
	if err != nil {
		return err
	}
	defer c.put(t)
	if v.dns != nil {
		if err := v.encode(t, v.dns); err != nil {
			return err
		}
	}
	response := responseRecord(v, x, first)
	if err := v.encode(t, &response); err != nil {
		return err
	}
	v.main = len(v.members) - 1
	request := warc.Record{Type: warc.Request, Date: x.Start, TargetURI: response.TargetURI, IPAddress: response.IPAddress,
		ConcurrentTo: []string{v.members[v.main].ID}, HTTPHead: redact(x.RequestBytes, c.opt.Redact)}
	if err := v.encode(t, &request); err != nil {
		return err
	}
	if v.page == nil {
		return nil
	}
	meta := metadataRecord(v, x, v.members[v.main].ID)
	return v.encode(t, &meta)
}

func responseRecord(v *visit, x *fetch.Exchange, first *original) warc.Record {
	r := warc.Record{Type: warc.Response, ID: v.ref.RecordID, Date: x.Start, TargetURI: v.fetch.URL, IPAddress: x.IP(),
		Truncated: x.Truncated, HTTPHead: x.HeadBytes, PayloadDigest: v.ref.Payload}
	if first != nil && !first.Pending {
		r.Type, r.ID, r.Profile = warc.Revisit, "", warc.IdenticalPayload
		r.RefersTo, r.RefersToTargetURI, r.RefersToDate = first.RecordID, first.URL, first.Date
		r.PayloadDigest = first.Payload
		return r
	}
	if b, ok := x.WireBody.Bytes(); ok {
		r.Body = b
	} else {
		r.BodyReader, r.BodyLength = x.WireBody.Reader(), x.WireBody.Len()
	}
	return r
}

// payloadDigest is the digest of the payload as it is archived, and as archive tools verify it: the body as received, with its
// coding and framing. Where there is neither, that is the decoded body, whose digest is known.
func payloadDigest(v *visit, x *fetch.Exchange) (string, error) {
	if x.Header.Get("Content-Encoding") == "" && x.Header.Get("Transfer-Encoding") == "" {
		return digestText(v.digest), nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, x.WireBody.Reader()); err != nil {
		return "", fmt.Errorf("read spooled body: %w", err)
	}
	return digestText(contentseen.Digest(h.Sum(nil))), nil
}

// metadataRecord says where the page was found and how long it took (WARC 1.1 §6.6, annex on fields).
func metadataRecord(v *visit, x *fetch.Exchange, of string) warc.Record {
	fields := []warc.Field{{Name: "via", Value: v.lease.Parent}, {Name: "hopsFromSeed", Value: v.lease.Hops},
		{Name: "fetchTimeMs", Value: strconv.FormatInt(x.Total.Milliseconds(), 10)}}
	return warc.Record{Type: warc.Metadata, Date: x.Start, TargetURI: v.fetch.URL, ConcurrentTo: []string{of},
		Body: warc.AppendFields(nil, fields...)}
}

// archiveDNS keeps the answer of a look-up that went to a name server.
func (c *Crawler) archiveDNS(v *visit, host string, a dns.Answer) {
	if c.opt.NoArchive || a.Raw == nil {
		return
	}
	r := warc.Record{Type: warc.Resource, Date: a.Raw.Time, TargetURI: "dns:" + host, IPAddress: a.Raw.Server.Addr().String(),
		ContentType: warc.ContentTypeDNS, Body: []byte(a.Raw.Text())}
	v.dns = &r
}

func (v *visit) encode(t *tools, r *warc.Record) error {
	var m warc.Member
	var err error
	if v.archive, m, err = t.encoder.Append(v.archive, r); err != nil {
		return fmt.Errorf("archive %s: %w", r.TargetURI, err)
	}
	v.members = append(v.members, m)
	return nil
}

// smallBody is the size up to which bodies are not accounted for: the frontier lets 1024 visits wait for a commit, so
// together they take 64 MiB at most, and most pages are smaller.
const smallBody = 64 << 10

// reserve waits until the bodies of an exchange may be held in memory, until the commit: the decoded one to read it, and the one
// received as archive record. A visit reserves once, for everything, before it reads: two that each held half and waited
// for more would wait for ever.
func (c *Crawler) reserve(ctx context.Context, v *visit, x *fetch.Exchange) error {
	n := min(x.Body.Len()+x.WireBody.Len(), c.opt.Memory)
	if n <= smallBody {
		return nil
	}
	if err := c.memory.Acquire(ctx, n); err != nil {
		return err
	}
	v.reserved = n
	return nil
}

// release gives back what reserve took.
func (c *Crawler) release(v *visit) {
	c.memory.Release(v.reserved)
	v.reserved = 0
}

// take waits for a set of tools.
func (c *Crawler) take(ctx context.Context) (*tools, error) {
	select {
	case t := <-c.tools:
		return t, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Crawler) put(t *tools) { c.tools <- t }

func readAll(b fetch.Body) ([]byte, error) {
	buf := make([]byte, b.Len())
	if _, err := io.ReadFull(b.Reader(), buf); err != nil {
		return nil, fmt.Errorf("read spooled body: %w", err)
	}
	return buf, nil
}

// truncated to milliseconds, as WARC dates are, so that a revisit repeats its original's date to the letter.
func warcDate(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
