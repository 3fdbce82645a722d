package mask

import (
	"encoding/binary"
	"slices"
)

// pattern is a text that is searched for, and its replacement.
type pattern struct {
	text   []byte
	handle string
}

// search finds many patterns in one pass, which skips most bytes: the algorithm of Wu and
// Manber ("A fast algorithm for multi-pattern searching", 1994) with blocks of two bytes.
type search struct {
	window   int              // bytes of the shortest pattern
	shift    [1 << 16]uint8   // by the last block of a window: how far the window may move
	patterns map[uint16][]int // by the last block of their window, the longest first
	sorted   []pattern        // the longest first
}

func newSearch(patterns []pattern) *search {
	slices.SortStableFunc(patterns, func(a, b pattern) int { return len(b.text) - len(a.text) })
	s := &search{window: min(len(patterns[len(patterns)-1].text), 200), patterns: map[uint16][]int{}, sorted: patterns}
	for i := range s.shift {
		s.shift[i] = uint8(s.window - 1)
	}
	for i, p := range patterns {
		for end := 2; end <= s.window; end++ {
			block := binary.LittleEndian.Uint16(p.text[end-2:])
			s.shift[block] = min(s.shift[block], uint8(s.window-end))
			if end == s.window {
				s.patterns[block] = append(s.patterns[block], i)
			}
		}
	}
	return s
}

// next returns the place of the first pattern at or after an offset, and the longest one
// there; nil for none.
func (s *search) next(text []byte, from int) (at int, found *pattern) {
	for end := from + s.window; end <= len(text); {
		block := binary.LittleEndian.Uint16(text[end-2:])
		if skip := s.shift[block]; skip > 0 {
			end += int(skip)
			continue
		}
		at := end - s.window
		for _, i := range s.patterns[block] {
			if p := &s.sorted[i]; len(p.text) <= len(text)-at && string(text[at:at+len(p.text)]) == string(p.text) {
				return at, p
			}
		}
		end++
	}
	return 0, nil
}

// all appends an edit for each place of a pattern in a view.
func (s *search) all(edits []edit, v *view) []edit {
	for from := 0; ; {
		at, found := s.next(v.text, from)
		if found == nil {
			return edits
		}
		from = at + len(found.text)
		edits = append(edits, edit{v.source(at), v.end(from), found.handle})
	}
}

// begins returns where the longest end of a text begins that more text could make a
// pattern of; len(text) for none.
func (s *search) begins(text []byte, longest int) int {
	for at := max(0, len(text)-longest+1); at < len(text); at++ {
		rest := text[at:]
		for i := range s.sorted {
			if p := s.sorted[i].text; len(rest) < len(p) && string(p[:len(rest)]) == string(rest) {
				return at
			}
		}
	}
	return len(text)
}
