package strictjson

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tidwall/gjson"
)

// Texts reads payloads strictly and leaves out their long texts: the last events of some
// streams repeat all the text of the stream. A string that is repeated is only compared.
// The zero value leaves out nothing.
type Texts struct {
	Names []string // of the values that are texts

	last []byte // the last long string, but for texts of all names after the first
}

// longText is the length from which on texts are left out.
const longText = 128

// Abridge leaves out the long texts that are values of the names at any depth. A name is not
// found if it has escapes, or if there is a blank before its value.
func (t *Texts) Abridge(json []byte) Abridged {
	a := t.abridge(json)
	q := quick{b: a.short, known: t.last}
	a.strict = q.whole(nil) || Strict(a.short) == nil
	return a
}

// abridge returns JSON that is strict if and only if all of it is.
func (t *Texts) abridge(json []byte) Abridged {
	a := Unabridged(json)
	done, named := 0, -1
	for i := 0; t.Names != nil && len(json)-i > longText; {
		start := i + 1 + bytes.IndexByte(json[i:], '"')
		if start == i {
			break
		}
		isText := named >= 0 && start == i+2 && json[i] == ':'
		n := t.length(json[start:], !isText || named == 0)
		switch {
		case n < 0:
			return Unabridged(json)
		case !isText:
			named = slices.IndexFunc(t.Names, func(name string) bool { return name == string(json[start:start+n]) })
		case n > longText:
			if done == 0 {
				a.short = make([]byte, 0, len(json)-n+1)
			}
			a.short = append(append(a.short, json[done:start]...), 'x')
			done = start + n
			a.cuts = append(a.cuts, cut{len(a.short), done - len(a.short)})
			fallthrough
		default:
			named = -1
		}
		i = start + n + 1
	}
	if done > 0 {
		a.short = append(a.short, json[done:]...)
	}
	return a
}

// length is [stringLength] for a text, which may be kept.
func (t *Texts) length(b []byte, keep bool) int {
	if isString(b, t.last) {
		return len(t.last)
	}
	n, _ := stringLength(b)
	if keep && n > longText {
		t.last = append(t.last[:0], b[:n]...)
	}
	return n
}

// Abridged is JSON with one letter in place of each long text, so that they are not read
// with each search. The zero value is empty.
type Abridged struct {
	short, whole []byte
	strict       bool
	cuts         []cut
	part         string // of the whole JSON, which was needed
	from         int    // where it begins
}

// Unabridged is JSON with all its texts. It is not read.
func Unabridged(json []byte) Abridged { return Abridged{short: json, whole: json} }

// cut is a place from which on n bytes more precede a byte of the whole JSON than of the
// short one.
type cut struct {
	at int // in the short JSON
	n  int
}

// Parse parses the short JSON.
func (a *Abridged) Parse() gjson.Result { return gjson.ParseBytes(a.short) }

// IsStrict reports whether the whole JSON is strict, see [Strict].
func (a *Abridged) IsStrict() bool { return a.strict }

// Len is the length of the whole JSON.
func (a *Abridged) Len() int { return len(a.whole) }

// Short reports whether a text was left out.
func (a *Abridged) Short() bool { return len(a.cuts) > 0 }

// Raw is the whole JSON of a value of the short JSON.
func (a *Abridged) Raw(v gjson.Result) string {
	start, end := a.place(v.Index), a.place(v.Index+len(v.Raw))
	if end-start == len(v.Raw) {
		return v.Raw
	}
	if start < a.from || end > a.from+len(a.part) {
		a.part, a.from = string(a.whole[start:end]), start
	}
	return a.part[start-a.from : end-a.from]
}

// place is the place in the whole JSON of a place in the short JSON.
func (a *Abridged) place(i int) int {
	n, _ := slices.BinarySearchFunc(a.cuts, i+1, func(c cut, i int) int { return cmp.Compare(c.at, i) })
	if n == 0 {
		return i
	}
	return i + a.cuts[n-1].n
}
