package coding

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	brotli "github.com/molecule-man/go-brrr"
)

// errTrailing is the error for bytes after the end of a body.
var errTrailing = errors.New("other bytes follow its end")

// inflateWindow is what a decoder of gzip or deflate needs, with its tables and the buffers around it.
const inflateWindow = 128 << 10

func inflateMemory(*bufio.Reader) (int, error) { return inflateWindow, nil }

// gzipReader reads the members of a gzip file (RFC 1952 section 2.2), one after another.
type gzipReader struct {
	body   *bufio.Reader
	member *gzip.Reader
}

func openGzip(body *bufio.Reader) (io.Reader, error) {
	member, err := gzip.NewReader(body)
	if err != nil {
		return nil, err
	}
	member.Multistream(false) // else the last bytes of a member would wait for the next one
	return &gzipReader{body, member}, nil
}

func (r *gzipReader) Read(p []byte) (int, error) {
	for {
		n, err := r.member.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, unlessEnd(n, err)
		}
		if _, err := r.body.Peek(1); err != nil {
			return 0, err
		}
		if err := r.member.Reset(r.body); err != nil {
			return 0, unlessEmpty(err)
		}
		r.member.Multistream(false)
	}
}

// unlessEnd is the error of a read of n bytes, without the end that the next read returns again.
func unlessEnd(n int, err error) error {
	if n > 0 && errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// openDeflate reads the zlib format, which the coding is by definition, or the format inside it, which some
// clients send. An encoder of that one never writes 8 in the low bits of its first byte: a block of stored bytes
// has zeros there.
func openDeflate(body *bufio.Reader) (io.Reader, error) {
	head, err := body.Peek(2)
	if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		r, err := zlib.NewReader(body)
		return &single{r, body}, err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return &single{flate.NewReader(body), body}, nil
}

// single reads a body that ends once.
type single struct {
	decoder io.Reader
	body    *bufio.Reader
}

func (r *single) Read(p []byte) (int, error) {
	n, err := r.decoder.Read(p)
	if n > 0 || !errors.Is(err, io.EOF) {
		return n, unlessEnd(n, err)
	}
	if _, err := r.body.Peek(1); err != nil {
		return 0, err
	}
	return 0, errTrailing
}

const (
	// maxZstdWindow is the most that decoders of HTTP have to support (RFC 9659).
	maxZstdWindow = 8 << 20
	// commonZstdWindow is that of zstd's usual levels. A later frame may have as much, whatever the first one has.
	commonZstdWindow = 2 << 20
	// zstdBlocks is what a decoder needs beside the window: two blocks beyond it, literals, tables and buffers.
	zstdBlocks = 768 << 10
)

// zstdWindow returns the window of the first frame, in bytes.
func zstdWindow(body *bufio.Reader) (int, error) {
	var head zstd.Header
	for n := 5; ; n++ { // not a byte more than the head: the rest may be another event
		begin, err := body.Peek(n)
		if parsed := head.Decode(begin); !errors.Is(parsed, io.ErrUnexpectedEOF) {
			err = parsed
		} else if err == nil {
			continue
		}
		if err != nil {
			return 0, err
		}
		break
	}
	window := head.WindowSize
	if head.SingleSegment {
		window = head.FrameContentSize
	}
	if window > maxZstdWindow {
		return 0, fmt.Errorf("its window of %d bytes is larger than the %d of RFC 9659", window, maxZstdWindow)
	}
	return max(int(window), commonZstdWindow), nil
}

func zstdMemory(body *bufio.Reader) (int, error) {
	window, err := zstdWindow(body)
	return window + zstdBlocks, err
}

func openZstd(body *bufio.Reader) (io.Reader, error) {
	window, err := zstdWindow(body)
	if err != nil {
		return nil, err
	}
	return zstd.NewReader(body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(uint64(window)), zstd.WithDecoderMaxMemory(uint64(window)))
}

// brotliMemory is twice the window, which the decoder fills before it returns it, and its tables. The first bits
// are the window (RFC 7932 section 9.1).
func brotliMemory(body *bufio.Reader) (int, error) {
	const tables = 256 << 10
	begin, err := body.Peek(1)
	if err != nil {
		return 0, err
	}
	bits := 16
	switch b := begin[0]; {
	case b&1 == 0:
	case b>>1&7 != 0:
		bits = 17 + int(b>>1&7)
	case b>>4&7 > 1:
		bits = 8 + int(b>>4&7)
	default:
		bits = 17
	}
	return 2<<bits + tables, nil
}

func openBrotli(body *bufio.Reader) (io.Reader, error) {
	return &single{brotli.NewReader(lastApart{body}), body}, nil
}

// lastApart reads the last byte of what has arrived by itself. The decoder of brotli reads beyond the end of its
// body, whose last byte has bits of it: if that is not read, other bytes follow the end.
type lastApart struct{ body *bufio.Reader }

func (r lastApart) Read(p []byte) (int, error) {
	if _, err := r.body.Peek(1); err != nil {
		return 0, err
	}
	return r.body.Read(p[:min(len(p), max(1, r.body.Buffered()-1))])
}
