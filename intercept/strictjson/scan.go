package strictjson

// MayHoldCall reports whether a payload that is strict JSON could contain a call in any
// form: whether it could have a name for calls or for the input of a call, in any letter
// case or escaped. It looks at bytes only, so text with these words is suspected too.
func MayHoldCall[T []byte | string](payload T) bool {
	state := uint8(0)
	for i := range len(payload) {
		state = scan[state][class[payload[i]]]
		if state == scanFound {
			return true
		}
	}
	return false
}

// scanWords are the words to find. An ASCII letter can be written in JSON as itself or as
// \u00XX; letters outside ASCII that fold to ASCII ones (U+017F, U+212A) are in none of
// them.
var scanWords = []string{"call", "argument", "input", "parameter", "action", "tool_use", "approval", `\u00`}

// scanFound is the state in which a word was seen.
const scanFound = 63

var class, scan = scanTables()

// scanTables builds the automaton that finds all words at once (Aho and Corasick, 1975),
// over classes of bytes.
func scanTables() (class [256]uint8, scan [64][32]uint8) {
	classes := uint8(1) // class 0: bytes in no word
	for _, word := range scanWords {
		for _, c := range []byte(word) {
			if class[c] == 0 {
				class[c] = classes
				classes++
			}
			if c >= 'a' && c <= 'z' {
				class[c-'a'+'A'] = class[c]
			}
		}
	}
	states := []string{""}
	for _, word := range scanWords {
		for i := 1; i < len(word); i++ {
			states = append(states, word[:i])
		}
	}
	for from, prefix := range states {
		for next := range classes {
			scan[from][next] = scanNext(states, prefix, &class, next)
		}
	}
	return class, scan
}

// scanNext is the state after prefix and one byte of a class: a whole word, or
// the longest state that the text could still end in.
func scanNext(states []string, prefix string, class *[256]uint8, next uint8) uint8 {
	fits := func(word string, n int) bool { // does prefix[...]+next end in word[:n]?
		if n-1 > len(prefix) || class[word[n-1]] != next {
			return false
		}
		return word[:n-1] == prefix[len(prefix)-(n-1):]
	}
	for _, word := range scanWords {
		if fits(word, len(word)) {
			return scanFound
		}
	}
	best := 0
	for i, s := range states {
		if len(s) > len(states[best]) && fits(s, len(s)) {
			best = i
		}
	}
	return uint8(best)
}
