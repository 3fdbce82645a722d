package strictjson

import "iter"

// Items yields the items of an array, as they are in raw, which is strict JSON. What
// follows the last item that is taken is not read. Another value than an array has none.
func Items(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		q := quick{b: raw}
		if q.at(0) != '[' {
			return
		}
		for i := q.space(1); i < len(raw) && raw[i] != ']'; {
			end := valueEnd(raw, i)
			if end <= i || !yield(raw[i:end:end]) { // undecided, or no value
				return
			}
			if i = q.space(end); q.at(i) == ',' {
				i = q.space(i + 1)
			}
		}
	}
}

// valueEnd returns the end of the value at i of strict JSON, undecided if that is not
// strict after all.
func valueEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := closingQuote(b[i+1:])
			if n < 0 {
				return undecided
			}
			if i += n + 1; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of a number or a name, at the end of the array
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return undecided
}
