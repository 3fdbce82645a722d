package rule

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Detector finds parts of a text: matches of a regular expression, or secrets. It is immutable and safe for concurrent use.
type Detector struct {
	forms []form
}

// Span is a part of a text: the bytes from Start up to End.
type Span struct {
	Start, End int
	Kind       string // what it is, "" if that is not known
}

// newDetector returns the detector of secrets for the text "secrets", else one for a regular
// expression in the syntax of Go's package regexp, which ignores letter case.
func newDetector(text string) (*Detector, error) {
	if text == "secrets" {
		return &Detector{credentials()}, nil
	}
	find, err := regexp.Compile("(?i)" + text)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression: %w", err)
	}
	if find.MatchString("") {
		return nil, errors.New("matches the empty text, so it would match everything")
	}
	return &Detector{[]form{{find: find}}}, nil
}

// find returns the parts that it finds in a text, in no order. They may overlap.
func (d *Detector) find(text string) (found []Span) {
	for i := range d.forms {
		f := &d.forms[i]
		if !f.mayMatch(text) {
			continue
		}
		for _, at := range f.find.FindAllStringSubmatchIndex(text, -1) {
			span := Span{at[0], at[1], f.kind}
			if f.kind != "" && len(at) > 3 && at[2] >= 0 { // the secret in its surroundings
				span.Start, span.End = at[2], at[3]
			}
			if span.Start < span.End {
				found = append(found, span)
			}
		}
	}
	return found
}

// FindIn finds parts of several texts, with their places in the joined text: parts may
// continue from one text into the next, and begin or end with one. A part that only counts as one
// between other letters than those of the texts beside it is found in one text or in two.
func (d *Detector) FindIn(texts []string) []Span {
	found := d.find(strings.Join(texts, ""))
	if len(texts) == 1 {
		return found
	}
	at := 0
	for i, text := range texts {
		found = append(found, moved(d.find(text), at)...)
		if i+1 < len(texts) && len(texts) > 2 {
			found = append(found, moved(d.find(text+texts[i+1]), at)...)
		}
		at += len(text)
	}
	return found
}

// moved returns parts whose places begin further on.
func moved(parts []Span, by int) []Span {
	for i := range parts {
		parts[i].Start, parts[i].End = parts[i].Start+by, parts[i].End+by
	}
	return parts
}

// form finds parts of one kind.
type form struct {
	kind  string   // of what it finds, for the text that replaces it; "" for a regular expression of a policy
	marks []string // a text without any of them has no match; none: any text may have
	find  *regexp.Regexp
}

// mayMatch reports whether a text has one of the marks.
func (f *form) mayMatch(text string) bool {
	for _, mark := range f.marks {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return len(f.marks) == 0
}
