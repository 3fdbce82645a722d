// Package detect finds parts of a text: matches of regular expressions, and texts of a known
// kind, such as secrets.
package detect

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// Detector finds parts of a text. It is immutable and safe for concurrent use.
type Detector struct {
	rules []rule
}

// Span is a part of a text: the bytes from Start up to End.
type Span struct {
	Start, End int
	Kind       string // what it is, "" if that is not known
}

// Names are those of the detectors that [New] knows.
func Names() []string { return []string{"secrets"} }

// New returns the detector of a name, or one for a regular expression in the syntax of Go's
// package regexp, which ignores letter case.
func New(text string) (*Detector, error) {
	if slices.Contains(Names(), text) {
		return &Detector{secrets()}, nil
	}
	find, err := regexp.Compile("(?i)" + text)
	if err != nil {
		return nil, fmt.Errorf("is not a regular expression: %w", err)
	}
	if find.MatchString("") {
		return nil, errors.New("matches the empty text, so it would match everything")
	}
	return &Detector{[]rule{{find: find}}}, nil
}

// Find returns the parts that it finds in a text, in no order. They may overlap.
func (d *Detector) Find(text string) (found []Span) {
	for i := range d.rules {
		r := &d.rules[i]
		if !r.mayMatch(text) {
			continue
		}
		for _, at := range r.find.FindAllStringSubmatchIndex(text, -1) {
			span := Span{at[0], at[1], r.kind}
			if r.kind != "" && len(at) > 3 && at[2] >= 0 { // the secret in its surroundings
				span.Start, span.End = at[2], at[3]
			}
			if span.Start < span.End {
				found = append(found, span)
			}
		}
	}
	return found
}
