// Package sse cuts a server-sent event stream into its parts without losing a
// byte, and reads the fields of one event.
//
// It follows the WHATWG HTML standard, section 9.2.6 ("Interpreting an event
// stream"): lines end in LF, CRLF or CR, a blank line ends an event. Where real
// servers deviate the parts are still cut so that every byte belongs to exactly
// one part, in order: the concatenation of all parts is the stream.
package sse

import (
	"bytes"
	"errors"
	"sync"
)

// ErrPartTooLong is returned when one event grows beyond the splitter's limit.
var ErrPartTooLong = errors.New("an event of the stream is longer than the limit")

const (
	retain = 4 << 10  // the largest buffer that a splitter keeps between blocks
	pooled = 40 << 10 // the size of those it borrows while a stream keeps coming
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, pooled); return &b }}

// Splitter cuts a stream into parts. A part is one event with the blank line
// that ends it, or a comment line or blank line that stands between events
// (which are handed on at once, because servers use them as heartbeats).
//
// The zero value has no limit and is ready for use.
type Splitter struct {
	// Max is the longest part in bytes, 0 for no limit.
	Max int

	cur     []byte  // what Next reads: the caller's block or buf
	buf     []byte  // bytes carried over between blocks
	spare   []byte  // the buffer before: parts that were returned lie in it
	lent    *[]byte // a borrowed buffer, as long as buf or returned parts lie in it
	line    int     // where in cur the line begins that is being searched
	scanned int     // how far behind that the line is known not to end
	begun   bool    // a line of an event was seen before line
}

// Write hands over the next block of the stream. All parts of the block before
// must have been taken with Next. The block must not change until Next has
// returned false.
func (s *Splitter) Write(p []byte) {
	s.giveBack()
	if len(s.buf) == 0 {
		s.cur = p
		return
	}
	if need := len(s.buf) + len(p); need > cap(s.buf) && need > retain && need <= pooled {
		s.lent = buffers.Get().(*[]byte)
		s.buf = append((*s.lent)[:0], s.buf...)
	}
	s.buf = append(s.buf, p...)
	s.cur = s.buf
}

// giveBack returns a borrowed buffer once the parts in it are no longer needed.
func (s *Splitter) giveBack() {
	if s.lent != nil && cap(s.buf) != pooled {
		buffers.Put(s.lent)
		s.lent = nil
	}
}

// Next returns the next whole part, or false when more bytes are needed. The
// part aliases the block given to Write, or memory that the next Write reuses.
// The error is [ErrPartTooLong] or nil.
func (s *Splitter) Next() (part []byte, ok bool, err error) {
	end := s.find()
	if s.Max > 0 && (end > s.Max || (end == 0 && len(s.cur) > s.Max)) {
		return nil, false, ErrPartTooLong
	}
	if end > 0 {
		part, s.cur = s.cur[:end], s.cur[end:]
		s.line, s.scanned, s.begun = 0, 0, false
		return part, true, nil
	}
	s.carry()
	return nil, false, nil
}

// Rest returns the bytes of a part that was begun and not ended, and forgets
// them. It is called when the stream has ended.
func (s *Splitter) Rest() []byte {
	s.giveBack()
	rest := s.buf
	*s = Splitter{Max: s.Max}
	return rest
}

// Empty reports whether no bytes of an unfinished part are kept.
func (s *Splitter) Empty() bool { return len(s.buf) == 0 }

// carry keeps the unfinished part for the next Write. Parts returned before stay
// where they are until then.
func (s *Splitter) carry() {
	if len(s.cur) > 0 && len(s.cur) == len(s.buf) {
		return // nothing was taken of what was carried before
	}
	s.buf, s.spare = append(s.spare[:0], s.cur...), s.buf
	s.cur = s.buf
	if cap(s.spare) > retain {
		s.spare = nil
	}
	if len(s.buf) == 0 && cap(s.buf) > retain {
		s.buf = nil
	}
}

// find returns the length of the part at the front of cur, 0 if it has not
// ended yet.
func (s *Splitter) find() int {
	for {
		rest := s.cur[s.line:]
		line, end := nextLine(rest, s.scanned)
		if end == 0 {
			s.scanned = max(0, len(rest)-1) // a CR at the end is looked at again
			return 0
		}
		s.line, s.scanned = s.line+end, 0
		switch {
		case len(line) == 0:
			return s.line // ends the event, or stands alone between events
		case !s.begun && line[0] == ':':
			return s.line
		}
		s.begun = true
	}
}

// nextLine returns the line at the front of b without its terminator, and its
// length with it; 0 while the terminator is not there. A CR at the very end of
// b is no terminator yet: an LF that belongs to it may follow. There is none
// before from.
func nextLine(b []byte, from int) (line []byte, length int) {
	head, lf := b, bytes.IndexByte(b[from:], '\n')
	if lf >= 0 {
		lf += from
		head = b[:lf]
	}
	if cr := bytes.IndexByte(head[from:], '\r'); cr >= 0 {
		switch cr += from; {
		case cr+1 == lf:
			return b[:cr], cr + 2
		case cr+1 < len(b):
			return b[:cr], cr + 1
		default:
			return nil, 0
		}
	}
	if lf < 0 {
		return nil, 0
	}
	return head, lf + 1
}
