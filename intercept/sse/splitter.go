// Package sse splits a server-sent event stream into its parts without losing a byte, and
// reads the fields of one event.
//
// It follows the WHATWG HTML standard, section 9.2.6 ("Interpreting an event stream"):
// lines end in LF, CRLF or CR, a blank line ends an event. The concatenation of all parts
// is the stream, also if a server deviates from the standard.
package sse

import (
	"bytes"
	"errors"
	"sync"
)

// ErrPartTooLong is the error for an event that is longer than the splitter's limit.
var ErrPartTooLong = errors.New("an event of the stream is longer than the limit")

const (
	retain = 4 << 10  // the largest buffer that a splitter keeps between blocks
	pooled = 40 << 10 // the size of the buffers that it borrows during a stream
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, pooled); return &b }}

// Splitter splits a stream into parts. A part is one event with the blank line that ends
// it, or a comment line or blank line between events, which servers use as heartbeats.
//
// The zero value has no limit and is ready for use.
type Splitter struct {
	// Max is the longest part in bytes, 0 for no limit.
	Max int

	cur     []byte  // the bytes that Next reads: the caller's block or buf
	buf     []byte  // bytes carried over between blocks
	spare   []byte  // the buffer before buf, which contains returned parts
	lent    *[]byte // a borrowed buffer, as long as buf or returned parts are in it
	line    int     // the start in cur of the line that is being searched
	scanned int     // how many bytes of the line are known not to end it
	begun   bool    // a line of an event was seen before line
}

// Write takes the next block of the stream. All parts of the block before it must have
// been taken with Next. The block must not change until Next has returned false.
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

// giveBack returns a borrowed buffer when the parts in it are no longer needed.
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

// Rest returns the bytes of an unfinished part, at the end of the stream, and removes
// them.
func (s *Splitter) Rest() []byte {
	s.giveBack()
	rest := s.buf
	*s = Splitter{Max: s.Max}
	return rest
}

// carry keeps the unfinished part for the next Write. Returned parts do not change until
// then.
func (s *Splitter) carry() {
	if len(s.cur) > 0 && len(s.cur) == len(s.buf) {
		return // no part was taken
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

// find returns the length of the part at the front of cur, 0 if it has not ended yet.
func (s *Splitter) find() int {
	for {
		rest := s.cur[s.line:]
		line, end := nextLine(rest, s.scanned)
		if end == 0 {
			s.scanned = max(0, len(rest)-1) // a CR at the end is read again
			return 0
		}
		s.line, s.scanned = s.line+end, 0
		switch {
		case len(line) == 0:
			return s.line // it ends the event, or is between events
		case !s.begun && line[0] == ':':
			return s.line
		}
		s.begun = true
	}
}

// nextLine returns the line at the front of b without its terminator, and its length with
// it, 0 if the terminator is missing. A CR at the end of b is no terminator yet, because
// an LF may follow. There is none before from.
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
