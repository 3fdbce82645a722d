package chat

import (
	"bytes"
	"errors"

	"github.com/heldcall/heldcall/intercept"
	"github.com/heldcall/heldcall/intercept/sse"
)

// unit is one part of the stream that is kept back, as a stretch of the bytes
// kept, with the calls its fragments belong to in the order they stand in it.
type unit struct {
	start, end int
	refs       []ref
}

// ref ties a fragment to its call.
type ref struct {
	call   *call
	opened bool
}

// units are the parts kept back, in the order upstream sent them.
type units struct {
	kept []byte
	list []unit
}

func (u *units) holding() bool { return len(u.list) > 0 }

// hold keeps a part back.
func (a *answer) hold(part []byte, refs []ref) error {
	start := len(a.kept)
	if a.limits.MaxBytes > 0 && start+len(part) > a.limits.MaxBytes {
		return tooLong()
	}
	a.kept = append(a.kept, part...)
	a.list = append(a.list, unit{start, len(a.kept), refs})
	return nil
}

func (u *units) at(i int) []byte { return u.kept[u.list[i].start:u.list[i].end] }

// gather collects what passes. Parts that lie side by side stay one stretch of
// the upstream's block and are not copied.
type gather struct{ b []byte }

func (g *gather) add(part []byte) {
	if len(part) == 0 {
		return
	}
	n := len(g.b)
	switch {
	case n == 0:
		g.b = part
	case cap(g.b) >= n+len(part) && &g.b[:n+1][n] == &part[0]:
		g.b = g.b[:n+len(part)]
	default:
		g.b = append(g.b[:n:n], part...)
	}
}

func (g *gather) take() []byte {
	b := g.b
	g.b = nil
	return b
}

// stream takes a block of an event stream.
func (a *answer) stream(block []byte) ([]byte, error) {
	a.split.Write(block)
	for {
		part, ok, err := a.split.Next()
		if errors.Is(err, sse.ErrPartTooLong) {
			return a.out.take(), tooLong()
		}
		if !ok {
			return a.out.take(), nil
		}
		if err := a.part(part, false); err != nil {
			return a.out.take(), err
		}
	}
}

// endStream takes a last part without a blank line, and looks whether the
// stream ended where it may.
func (a *answer) endStream(framed bool) ([]byte, error) {
	if rest := a.split.Rest(); len(rest) > 0 {
		if err := a.part(rest, true); err != nil {
			return a.out.take(), err
		}
		if !a.holding() {
			a.unended = lacks(rest)
		}
	}
	if !framed && !a.done && !a.failed && !a.finished() {
		return a.out.take(), &intercept.Error{Code: intercept.CodeUpstreamCut, Reason: "the upstream's answer was cut off before its end; what was held of it is void"}
	}
	return a.out.take(), nil
}

// lacks returns what an event needs so that another one can follow it.
func lacks(part []byte) string {
	line := bytes.TrimSuffix(part, []byte("\n"))
	if len(line) == len(part) || bytes.HasSuffix(line, []byte("\r")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	switch {
	case len(line) == len(part):
		return "\n\n"
	case bytes.HasSuffix(line, []byte("\n")) || bytes.HasSuffix(line, []byte("\r")):
		return ""
	}
	return "\n"
}

// finished reports whether every choice has announced its end.
func (a *answer) finished() bool {
	for _, c := range a.choices {
		if !c.announced {
			return false
		}
	}
	return len(a.choices) > 0
}

// part takes one part of the stream: it passes or is held.
func (a *answer) part(part []byte, last bool) error {
	if a.continuations == 0 && !last {
		if known, err := a.known(part); known {
			return err
		}
	}
	payloads, err := payloads(part)
	if err != nil {
		return err
	}
	p := passage{answer: a, part: part, payloads: payloads, last: last}
	return p.run()
}

// payloads reads the data of a part. A reader that follows the standard joins
// the data lines; where that makes no JSON but each line does, the server has
// separated its events by single newlines and lenient readers take each line.
// Lines that are not data must not hide an object.
func payloads(part []byte) ([][]byte, error) {
	event := sse.Parse(part)
	for _, line := range event.Stray {
		if !harmless(line) {
			return nil, intercept.NotUnderstood("a line of the event stream is neither data nor a comment")
		}
	}
	if len(event.Data) == 0 {
		return nil, nil
	}
	if joined := event.Joined(); readable(joined) {
		return [][]byte{joined}, nil
	}
	for _, line := range event.Data {
		if !readable(line) {
			return nil, intercept.NotUnderstood("the data of an event is not strict JSON (duplicate name, invalid UTF-8 or syntax)")
		}
	}
	return event.Data, nil
}

func harmless(line []byte) bool {
	if bytes.IndexByte(line, '{') >= 0 {
		return false
	}
	for _, field := range []string{":", "id", "retry", "event"} {
		if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte(field)) {
			return true
		}
	}
	return len(bytes.TrimSpace(line)) == 0
}

var doneMark = []byte("[DONE]")

func isDone(payload []byte) bool { return bytes.Equal(bytes.TrimSpace(payload), doneMark) }

func readable(payload []byte) bool {
	return len(bytes.TrimSpace(payload)) == 0 || isDone(payload) || intercept.Strict(payload) == nil
}
