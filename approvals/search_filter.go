package approvals

import "math/bits"

// SearchFilter is a Bloom filter of the sequences of three bytes in the texts that a search reads. It excludes
// requests without reading them.
type SearchFilter []byte

// Sizes of a filter in bits. Two bits for each byte of the texts leave at least half of them unset; texts
// of more than a quarter of the largest size are excluded less often.
const (
	minFilterBits = 256
	maxFilterBits = 4096
)

// maxFilterText is the size of a request in bytes up to which it has a filter: that of a larger one would have nearly
// all bits set.
const maxFilterText = 64 << 10

// NewSearchFilter returns the filter of a request, or nil for a large one.
func NewSearchFilter(r *Request) SearchFilter {
	if r.Size() > maxFilterText {
		return nil
	}
	text := foldCase(searchedText(r))
	size := min(max(minFilterBits, 1<<bits.Len(uint(2*len(text)))), maxFilterBits)
	f := make(SearchFilter, size/8)
	for i := range len(text) - 2 {
		at, bit := f.place(text[i : i+3])
		f[at] |= bit
	}
	return f
}

// place returns the byte and the bit of a sequence.
func (f SearchFilter) place(sequence string) (at int, bit byte) {
	h := uint32(sequence[0]) | uint32(sequence[1])<<8 | uint32(sequence[2])<<16
	h *= 2654435761 // Knuth's multiplicative hash: the upper bits are mixed
	h >>= 16
	return int(h>>3) & (len(f) - 1), 1 << (h & 7)
}

// May reports whether the search may find the request of a filter. It returns true for a filter of no or another
// format.
func (s Search) May(f SearchFilter) bool {
	if len(f) == 0 || len(f)&(len(f)-1) != 0 {
		return true
	}
	for _, word := range s.words {
		for i := range len(word) - 2 {
			if at, bit := f.place(word[i : i+3]); f[at]&bit == 0 {
				return false
			}
		}
	}
	return true
}
