package main

import (
	"bytes"
	"fmt"
)

// faults are the differences between a stream and the bytes that upstream sent.
type faults struct {
	Lost      int // events that did not come
	Torn      int // pieces between two empty lines that are no event upstream sent in this stream
	Reordered int // events that came after a later one, or twice
	first     string
}

func (f *faults) Error() string {
	return fmt.Sprintf("the answer is not what upstream sent: %d events lost, %d torn or foreign, %d reordered or doubled; first: %s",
		f.Lost, f.Torn, f.Reordered, f.first)
}

// diagnose compares an answer with the one that was sent, event by event. It is only asked when they differ.
func diagnose(got, want []byte) *faults {
	f := &faults{}
	place := map[string]int{} // event -> its position in want
	wanted := splitEvents(want)
	for i, e := range wanted {
		place[string(e)] = i
	}
	seen := make([]bool, len(wanted))
	last := -1
	for _, e := range splitEvents(got) {
		i, ok := place[string(e)]
		switch {
		case !ok:
			f.Torn++
			f.note("unknown piece %.200q", e)
		case seen[i] || i < last:
			f.Reordered++
			f.note("event %d after event %d", i, last)
		}
		if ok {
			seen[i] = true
			last = max(last, i)
		}
	}
	for i, ok := range seen {
		if !ok {
			f.Lost++
			f.note("event %d did not come", i)
		}
	}
	return f
}

func (f *faults) note(format string, args ...any) {
	if f.first == "" {
		f.first = fmt.Sprintf(format, args...)
	}
}

// splitEvents cuts a body after each empty line; a whole answer is one piece.
func splitEvents(body []byte) [][]byte {
	pieces := bytes.SplitAfter(body, []byte("\n\n"))
	if n := len(pieces); len(pieces[n-1]) == 0 {
		pieces = pieces[:n-1]
	}
	return pieces
}
