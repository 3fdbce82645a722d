package match

import "strings"

// maxPlain is the most members of plain arguments.
const maxPlain = 16

// plainMembers adds the members of arguments that are an object of printable ASCII with strings, whole numbers,
// true, false and null: what [Members] returns, for a fraction of the work. Programs read such arguments alike, so
// [Doubts] has none. It reports false for any other text. FuzzMembers compares both.
func plainMembers(text string, members []Member) ([]Member, bool) {
	r := plainReader{text: text}
	if !r.sign('{') {
		return nil, false
	}
	if r.sign('}') {
		return members, r.ended()
	}
	for {
		r.space()
		name, plain := r.quoted()
		if !plain || strings.IndexByte(name, '\\') >= 0 || !r.sign(':') {
			return nil, false
		}
		name = name[1 : len(name)-1]
		for _, m := range members {
			if strings.EqualFold(m.Name, name) {
				return nil, false
			}
		}
		r.space()
		value, plain := r.value()
		if !plain || len(members) == maxPlain {
			return nil, false
		}
		members = append(members, Member{name, value})
		if !r.sign(',') {
			return members, r.sign('}') && r.ended()
		}
	}
}

// plainReader reads plain arguments.
type plainReader struct {
	text string
	at   int
}

func (r *plainReader) space() {
	for r.at < len(r.text) && isSpace(r.text[r.at]) {
		r.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// sign reads a sign, after white space, if it is next.
func (r *plainReader) sign(sign byte) bool {
	r.space()
	found := r.at < len(r.text) && r.text[r.at] == sign
	if found {
		r.at++
	}
	return found
}

func (r *plainReader) ended() bool {
	r.space()
	return r.at == len(r.text)
}

// quoted reads a string, with its quotes.
func (r *plainReader) quoted() (raw string, plain bool) {
	rest := r.text[r.at:]
	if rest == "" || rest[0] != '"' {
		return "", false
	}
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			r.at += i + 1
			return rest[:i+1], true
		case c < ' ' || c > '~':
			return "", false
		case c == '\\':
			if i++; i == len(rest) || strings.IndexByte(`"\/bfnrt`, rest[i]) < 0 {
				return "", false
			}
		}
	}
	return "", false
}

// value reads a string, a whole number that is exact as a double, true, false or null.
func (r *plainReader) value() (raw string, plain bool) {
	rest := r.text[r.at:]
	if rest != "" && rest[0] == '"' {
		return r.quoted()
	}
	n := 0
	for n < len(rest) && rest[n] != ',' && rest[n] != '}' && !isSpace(rest[n]) {
		n++
	}
	r.at += n
	raw = rest[:n]
	return raw, raw == "true" || raw == "false" || raw == "null" || isPlainNumber(raw)
}

func isPlainNumber(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return false
		}
	}
	return digits != "" && len(digits) <= 15 && (digits[0] != '0' || digits == "0")
}
