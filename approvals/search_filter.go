package approvals

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// SearchFilter is a Bloom filter of the sequences of three bytes in the texts of some requests: see [SearchText].
// It excludes them from a search without reading them. An empty one is that of no request.
type SearchFilter []byte

// SearchFilterBytes is the size of a filter.
const SearchFilterBytes = 4 << 10

// With returns the filter of the requests of f and of one more.
func (f SearchFilter) With(text string) SearchFilter {
	if text == "" {
		return bytes.Repeat([]byte{0xff}, SearchFilterBytes)
	}
	with := make(SearchFilter, SearchFilterBytes)
	copy(with, f)
	for i := range len(text) - 2 {
		for _, p := range places(text[i : i+3]) {
			with[p.at] |= p.bit
		}
	}
	return with
}

// HalfSet reports whether half of the bits are set: the filter of more requests would exclude less.
func (f SearchFilter) HalfSet() bool {
	ones := 0
	for at := 0; at < len(f); at += 8 {
		ones += bits.OnesCount64(binary.LittleEndian.Uint64(f[at:]))
	}
	return ones >= SearchFilterBytes*8/2
}

// place is a byte of a filter and a bit of it.
type place struct {
	at  int
	bit byte
}

// places returns the bits of a sequence.
func places(sequence string) [4]place {
	h := uint32(sequence[0]) | uint32(sequence[1])<<8 | uint32(sequence[2])<<16
	return [4]place{placeOf(h * 0x9e3779b1), placeOf(h * 0x85ebca6b), placeOf(h * 0xc2b2ae35), placeOf(h * 0x27d4eb2f)} // odd factors: the upper bits are mixed
}

func placeOf(hash uint32) place {
	hash >>= 16
	return place{int(hash>>3) % SearchFilterBytes, 1 << (hash & 7)}
}

// FilterQuery is the bits that a filter has if the search may find a request of it.
type FilterQuery struct{ places []place }

// FilterQuery returns the query of the words.
func (s Search) FilterQuery() *FilterQuery {
	q := &FilterQuery{}
	for _, word := range s.words {
		for i := range len(word) - 2 {
			of := places(word[i : i+3])
			q.places = append(q.places, of[:]...)
		}
	}
	return q
}

// May reports whether the search may find a request of a filter. It looks first at the bit that excluded the last filter,
// and is not safe for concurrent use.
func (q *FilterQuery) May(f SearchFilter) bool {
	if len(f) != SearchFilterBytes {
		return false
	}
	for i, p := range q.places {
		if f[p.at]&p.bit == 0 {
			q.places[0], q.places[i] = p, q.places[0]
			return false
		}
	}
	return true
}
