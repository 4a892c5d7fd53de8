package warc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
)

// Lengths of a Filler. The least is a little more than the header of one takes, and less than that of any record this
// package writes.
const (
	MinFiller = 256
	MaxFiller = 1 << 20
)

// Filler returns a metadata record as a gzip member of exactly the given length, MinFiller to MaxFiller: it takes the place
// of bytes that were damaged, so that the records behind them keep their offsets and every tool can read on. The
// same arguments give the same bytes. Its block is the text, padded with spaces.
func Filler(length int64, id string, date time.Time, text string) ([]byte, error) {
	if length < MinFiller || length > MaxFiller {
		return nil, fmt.Errorf("%w: a filler of %d bytes", ErrRecord, length)
	}
	// A stored block of deflate holds at most 65535 bytes and takes 5 more (RFC 1951 §3.2.4).
	const most, perBlock, around = 1<<16 - 1, 5, 10 + 8
	blocks := (length - around + most + perBlock - 1) / (most + perBlock)
	record := fillerRecord(int(length-around-perBlock*blocks), id, date, text)
	b := make([]byte, 0, length)
	b = append(b, gzipMagic, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff)
	for rest := record; blocks > 0; blocks-- {
		part, last := rest[:min(len(rest), most)], byte(0)
		if blocks == 1 {
			last = 1
		}
		b = append(b, last)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(part)))
		b = binary.LittleEndian.AppendUint16(b, ^uint16(len(part)))
		b = append(b, part...)
		rest = rest[len(part):]
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(record))
	return binary.LittleEndian.AppendUint32(b, uint32(len(record))), nil
}

// fillerRecord is the record of a filler, n bytes long.
func fillerRecord(n int, id string, date time.Time, text string) []byte {
	head := fmt.Appendf(nil, "WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <%s>\r\nWARC-Date: %s\r\nContent-Type: text/plain\r\nContent-Length: ",
		id, date.UTC().Format("2006-01-02T15:04:05.000Z"))
	room := n - len(head) - 2*len(endOfRecord)
	digits := len(strconv.Itoa(room - 1)) // a leading zero where one digit more would be one too many
	block := make([]byte, room-digits)
	copy(block[copy(block, text):], bytes.Repeat([]byte(" "), len(block)))
	head = fmt.Appendf(head, "%0*d\r\n\r\n", digits, len(block))
	return append(append(head, block...), endOfRecord...)
}
