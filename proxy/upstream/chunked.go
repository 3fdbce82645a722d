package upstream

import "errors"

// chunked takes the chunked transfer coding (RFC 9112 section 7.1) out of a byte
// stream in place. Trailers are dropped.
type chunked struct {
	state   chunkState
	size    int64 // bytes left of the current chunk
	digits  int
	trailer int // bytes of the current trailer line
}

type chunkState int

const (
	chunkSize chunkState = iota
	chunkExtension
	chunkSizeLF
	chunkData
	chunkCR
	chunkLF
	chunkTrailer
	chunkTrailerLF
	chunkDone
)

var errChunk = errors.New("the chunked coding of the answer is broken")

func (c *chunked) done() bool { return c.state == chunkDone }

// decode returns the data in p, moved to its front, and the bytes after the end of the
// coding.
func (c *chunked) decode(p []byte) (data, rest []byte, err error) {
	n := 0
	for i := 0; i < len(p); {
		if c.state == chunkData {
			k := int(min(c.size, int64(len(p)-i)))
			if n != i {
				copy(p[n:], p[i:i+k])
			}
			n, i, c.size = n+k, i+k, c.size-int64(k)
			if c.size == 0 {
				c.state = chunkCR
			}
			continue
		}
		if c.state == chunkDone {
			return p[:n], p[i:], nil
		}
		if !c.step(p[i]) {
			return nil, nil, errChunk
		}
		i++
	}
	return p[:n], nil, nil
}

// step takes one byte of the coding itself.
func (c *chunked) step(b byte) bool {
	switch c.state {
	case chunkSize:
		return c.sizeByte(b)
	case chunkExtension:
		if b == '\r' {
			c.state = chunkSizeLF
		} else if b == '\n' {
			c.afterSize()
		}
	case chunkSizeLF:
		if b != '\n' {
			return false
		}
		c.afterSize()
	case chunkCR:
		if b == '\n' {
			c.state = chunkSize
			return true
		}
		c.state = chunkLF
		return b == '\r'
	case chunkLF:
		c.state = chunkSize
		return b == '\n'
	case chunkTrailer:
		c.trailerByte(b)
	case chunkTrailerLF:
		return b == '\n' && c.endLine()
	}
	return true
}

func (c *chunked) sizeByte(b byte) bool {
	if d := unhex(b); d >= 0 {
		c.size = c.size<<4 | int64(d)
		c.digits++
		return c.digits <= 15
	}
	if c.digits == 0 {
		return false
	}
	switch b {
	case ';', ' ', '\t':
		c.state = chunkExtension
	case '\r':
		c.state = chunkSizeLF
	case '\n':
		c.afterSize()
	default:
		return false
	}
	return true
}

// unhex returns the value of a hexadecimal digit, -1 for any other byte.
func unhex(b byte) int {
	switch {
	case '0' <= b && b <= '9':
		return int(b - '0')
	case 'a' <= b && b <= 'f':
		return int(b-'a') + 10
	case 'A' <= b && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}

func (c *chunked) afterSize() {
	c.state = chunkData
	if c.size == 0 {
		c.state = chunkTrailer
	}
	c.digits = 0
}

func (c *chunked) trailerByte(b byte) {
	switch b {
	case '\r':
		c.state = chunkTrailerLF
	case '\n':
		c.endLine()
	default:
		c.trailer++
	}
}

func (c *chunked) endLine() bool {
	c.state = chunkTrailer
	if c.trailer == 0 {
		c.state = chunkDone
	}
	c.trailer = 0
	return true
}
