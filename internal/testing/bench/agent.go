package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// agent is one connection of the load generator: raw HTTP/1.1, no goroutine of its own, no allocation per exchange.
type agent struct {
	conn net.Conn
	buf  []byte // what was read
	r, w int    // the unread part of buf

	chunked  bool
	left     int  // bytes left of the body, or of the current chunk
	done     bool // the body has ended
	closing  bool // the other side closes the connection after this response
	body     []byte
	deadline time.Duration // how long one exchange may take
	seed     int64         // of the exchange it is in, where that matters
	session  int64         // of the conversation, where that matters
}

// errEnded is a response that ended before what was waited for.
var errEnded = errors.New("the response ended early")

// exchangeLimit bounds one exchange; nothing in the benchmark is silent for longer, holds aside.
const exchangeLimit = 30 * time.Second

// dial connects an agent that reads with a buffer of the given size.
func dial(addr string, buffer int) (*agent, error) {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	return &agent{conn: conn, buf: make([]byte, buffer), deadline: exchangeLimit}, nil
}

func (a *agent) close() { a.conn.Close() }

// begin sends a request and reads the head of its response. A status other than 200 is an error that quotes the body.
func (a *agent) begin(request []byte) error {
	if err := a.conn.SetDeadline(time.Now().Add(a.deadline)); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	if _, err := a.conn.Write(request); err != nil {
		return fmt.Errorf("agent: send: %w", err)
	}
	a.body, a.done, a.chunked, a.left = a.body[:0], false, false, -1
	line, err := a.line()
	if err != nil {
		return fmt.Errorf("agent: status line: %w", err)
	}
	ok := bytes.HasPrefix(line, []byte("HTTP/1.1 200"))
	status := ""
	if !ok {
		status = string(line)
	}
	if err := a.headers(); err != nil {
		return err
	}
	if ok {
		return nil
	}
	err = a.finish()
	return fmt.Errorf("agent: answer %q: %s (%w)", status, a.body[:min(len(a.body), 300)], errors.Join(err, errRefused))
}

var errRefused = errors.New("not a 200")

func (a *agent) headers() error {
	for {
		line, err := a.line()
		if err != nil {
			return fmt.Errorf("agent: headers: %w", err)
		}
		if len(line) == 0 {
			break
		}
		k, v, _ := bytes.Cut(line, []byte(":"))
		v = bytes.TrimSpace(v)
		switch {
		case len(k) == 14 && bytes.EqualFold(k, []byte("Content-Length")):
			if a.left, err = strconv.Atoi(string(v)); err != nil {
				return fmt.Errorf("agent: content-length: %w", err)
			}
		case len(k) == 17 && bytes.EqualFold(k, []byte("Transfer-Encoding")):
			a.chunked = bytes.EqualFold(v, []byte("chunked"))
		case len(k) == 10 && bytes.EqualFold(k, []byte("Connection")):
			a.closing = bytes.EqualFold(v, []byte("close"))
		}
	}
	if a.chunked {
		a.left = 0
	} else if a.left < 0 {
		return errors.New("agent: a response without length or chunks")
	}
	return nil
}

// fill reads once from the connection into the free part of buf.
func (a *agent) fill() error {
	if a.r == a.w {
		a.r, a.w = 0, 0
	} else if a.w == len(a.buf) {
		if a.r == 0 {
			return fmt.Errorf("agent: a line longer than %d bytes", len(a.buf))
		}
		a.w = copy(a.buf, a.buf[a.r:a.w])
		a.r = 0
	}
	n, err := a.conn.Read(a.buf[a.w:])
	a.w += n
	if n > 0 {
		return nil
	}
	return err
}

// line gives the next line without its end; it is valid until the next read.
func (a *agent) line() ([]byte, error) {
	for from := 0; ; {
		if i := bytes.IndexByte(a.buf[a.r+from:a.w], '\n'); i >= 0 {
			line := a.buf[a.r : a.r+from+i]
			a.r += from + i + 1
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		from = a.w - a.r
		if err := a.fill(); err != nil {
			return nil, err
		}
	}
}

// next gives the next piece of the body, as much as was read of the current chunk; it is valid until the next read.
// io.EOF ends the body, an unframed end is io.ErrUnexpectedEOF.
func (a *agent) next() ([]byte, error) {
	if a.done {
		return nil, io.EOF
	}
	if a.left == chunkEnd {
		if _, err := a.line(); err != nil {
			return nil, unexpected(err)
		}
		a.left = 0
	}
	if a.left == 0 {
		if !a.chunked {
			a.done = true
			return nil, io.EOF
		}
		if err := a.nextChunk(); err != nil {
			return nil, err
		}
		if a.done {
			return nil, io.EOF
		}
	}
	if a.r == a.w {
		if err := a.fill(); err != nil {
			return nil, unexpected(err)
		}
	}
	n := min(a.left, a.w-a.r)
	piece := a.buf[a.r : a.r+n]
	a.r += n
	a.left -= n
	if a.left == 0 && a.chunked {
		a.left = chunkEnd
	}
	return piece, nil
}

// chunkEnd in left means that the line end after a chunk has not been read.
const chunkEnd = -1

// nextChunk reads a chunk's size line, and after the last chunk the trailers.
func (a *agent) nextChunk() error {
	line, err := a.line()
	if err != nil {
		return unexpected(err)
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, err := parseHex(size)
	if err != nil {
		return err
	}
	if n > 0 {
		a.left = n
		return nil
	}
	for len(line) > 0 {
		if line, err = a.line(); err != nil {
			return unexpected(err)
		}
	}
	a.done = true
	return nil
}

func parseHex(b []byte) (int, error) {
	n := 0
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | int(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | int(c|0x20-'a'+10)
		default:
			return 0, fmt.Errorf("agent: chunk size %q", b)
		}
	}
	if len(b) == 0 || len(b) > 7 {
		return 0, fmt.Errorf("agent: chunk size %q", b)
	}
	return n, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("agent: body: %w", err)
}

// step reads once more and adds it to body.
func (a *agent) step() error {
	piece, err := a.next()
	a.body = append(a.body, piece...)
	return err
}

// finish reads the body to its end.
func (a *agent) finish() error {
	for {
		if err := a.step(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// await reads until body satisfies enough; an end before that is errEnded.
func (a *agent) await(enough func(body []byte) bool) error {
	for !enough(a.body) {
		if err := a.step(); errors.Is(err, io.EOF) {
			return errEnded
		} else if err != nil {
			return err
		}
	}
	return nil
}

// exchange sends a request and reads its response whole into body.
func (a *agent) exchange(request []byte) error {
	if err := a.begin(request); err != nil {
		return err
	}
	return a.finish()
}
