package intercept

import (
	"bytes"
	"strconv"
	"unicode/utf16"
)

// halfText reports whether a payload is strict JSON but for halves of surrogate pairs,
// and can hold no call. Servers that cut text between two UTF-16 units send one half at
// the end of an event and the other at the beginning of the next. As text that is
// harmless: clients join the two, or show a replacement character.
func halfText(payload []byte) bool {
	if MayHoldCall(payload) {
		return false
	}
	whole, halves := withoutHalves(payload)
	return halves && Strict(whole) == nil
}

// withoutHalves returns JSON with U+FFFD in place of each half of a surrogate pair, and
// reports whether there is one.
func withoutHalves(payload []byte) (whole []byte, halves bool) {
	for i := 0; i+1 < len(payload); {
		switch unit := escapedUnit(payload[i:]); {
		case payload[i] != '\\':
			i++
		case !utf16.IsSurrogate(unit):
			i += 2
		case utf16.DecodeRune(unit, escapedUnit(payload[i+6:])) != '\uFFFD':
			i += 12
		default:
			if !halves {
				whole, halves = bytes.Clone(payload), true
			}
			copy(whole[i:], `\ufffd`)
			i += 6
		}
	}
	return whole, halves
}

// escapedUnit is the UTF-16 unit that the text begins with in the form \uXXXX, or -1.
func escapedUnit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
