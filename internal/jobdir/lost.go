package jobdir

// What of an exchange is lost since a repair: FetchRecord.Lost.
const (
	LostCapture = "capture" // its record in the archive, or one of the two was altered; a page is to be fetched again
	LostPage    = "page"    // its page record, or what its page depends on: it is to be fetched again
)

const typeLost = "lost"

// LostRecord is a line of fetches.jsonl in the place of one that was damaged: of the exchange no more is known than
// its number.
type LostRecord struct {
	Head
	Seq int64 `json:"seq"`
}

// AppendJSON appends the record as one line.
func (r *LostRecord) AppendJSON(dst []byte) []byte {
	o := begin(dst, typeLost)
	o.num("seq", r.Seq)
	return o.end()
}

func (r *LostRecord) check() (bool, error) { return r.is(typeLost) }

// StreamHeader returns the first line of a stream, with its end, for those whose format asks for one, or "".
func StreamHeader(name string) string { return header(name) }
