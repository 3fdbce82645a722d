package coding

import (
	"errors"
	"io"
	"iter"
	"os"
)

const (
	// streamBuffer is how much of a stream is decoded at a time.
	streamBuffer = 32 << 10
	// maxRatio is how many times as long as its encoded bytes a stream may be that has become longer than its limit.
	// Events that are alike shrink to a thirtieth, with what a server writes between them.
	maxRatio = 100
)

// Stream decodes a body as its blocks arrive. It is not safe for concurrent use.
//
// The libraries read from a reader and cannot go on after its error, but the body of an answer has one for each
// heartbeat that is due: [os.ErrDeadlineExceeded]. So they run in a coroutine, which waits where it is.
type Stream struct {
	decoder decoder
	resume  func() ([]byte, error, bool)
	stop    func()
	end     error // of the body
}

// NewStream returns the decoded body of the blocks that next returns. It does not call it yet.
func (c Codings) NewStream(next func() ([]byte, error), l Limits) *Stream {
	s := &Stream{decoder: decoder{limits: l, ratio: maxRatio}}
	s.resume, s.stop = iter.Pull2(func(yield func([]byte, error) bool) {
		s.decoder.encoded.next = waiting(next, yield)
		s.decoder.open(c)
		buffer := make([]byte, streamBuffer)
		for {
			n, err := s.decoder.Read(buffer)
			if errors.Is(err, errStopped) || (n > 0 && !yield(buffer[:n], nil)) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	})
	return s
}

// errStopped ends the coroutine of a stream that was closed.
var errStopped = errors.New("the stream is closed")

// waiting returns next for the coroutine: a deadline is for the reader of the stream.
func waiting(next func() ([]byte, error), yield func([]byte, error) bool) func() ([]byte, error) {
	return func() ([]byte, error) {
		for {
			block, err := next()
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				return block, err
			}
			if !yield(nil, err) {
				return nil, errStopped
			}
		}
	}
}

// Next returns the next bytes, valid until the next call, or [io.EOF]. After [os.ErrDeadlineExceeded] the
// next call continues.
func (s *Stream) Next() ([]byte, error) {
	if s.end != nil {
		return nil, s.end
	}
	p, err, ok := s.resume()
	if !ok {
		err = io.ErrClosedPipe
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		s.end = err
	}
	return p, err
}

// Keep reserves n bytes, for decoded ones that are kept until Close. The error is a [MemoryError].
func (s *Stream) Keep(n int) error { return s.decoder.reserve(n) }

// Close ends reading, and returns the memory. It may be called more than once.
func (s *Stream) Close() {
	s.stop()
	s.decoder.close()
}
