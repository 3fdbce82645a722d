// Package coding hides the libraries of compression: it decodes the content codings of HTTP
// (RFC 9110 section 8.4.1) in which agents send bodies and gateways answer, with bounds on what a
// body may become. Package proxy decodes requests, and package upstream decodes answers as they arrive.
//
// Read coding.go (the codings and their names), decode.go (a whole body), stream.go (a body that
// arrives in blocks), then formats.go (one reader for each coding).
package coding

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Accepted has the names of the codings, for messages.
const Accepted = "zstd, gzip, deflate, br and identity"

// maxCodings is how many codings a body may have, one around another. More than one is rare.
const maxCodings = 4

// maxQuoted is how many bytes of an unknown name errors quote.
const maxQuoted = 64

// ErrTooLarge is returned for a body that is larger, when it is decoded, than its limit.
var ErrTooLarge = errors.New("the decoded body is too large")

// ErrMalformed is wrapped by the error for a body that is not what its coding demands: it is cut off, damaged,
// followed by other bytes, or needs a larger window than decoders of HTTP have.
var ErrMalformed = errors.New("the body is not what its coding demands")

// MemoryError is returned when the account has no room for a body.
type MemoryError struct{ Needed int } // bytes that decoding needed so far

func (e *MemoryError) Error() string {
	return fmt.Sprintf("no memory for %d bytes of the decoded body", e.Needed)
}

// Account is the memory from which decoding takes: the decoded bytes of a whole body, and the windows of decoders.
type Account interface {
	// Reserve takes n bytes. It reports false, and takes none, if fewer are left.
	Reserve(n int) bool
	// Return gives back n bytes.
	Return(n int)
}

// Limits bound what decoding takes.
type Limits struct {
	Bytes   int     // that a body may become
	Account Account // nil: it has no limit
}

// Codings are the codings of a body, in the order in which they were applied. A body without any is as it is.
type Codings []*format

// format is one coding.
type format struct {
	names []string
	// memory returns how many bytes a decoder needs for a body. It reads no more than the beginning.
	memory func(body *bufio.Reader) (int, error)
	// open returns the decoder of a body. It ends with io.EOF where the body does.
	open func(body *bufio.Reader) (io.Reader, error)
}

var formats = []*format{
	{[]string{"gzip", "x-gzip"}, inflateMemory, openGzip},
	{[]string{"deflate"}, inflateMemory, openDeflate},
	{[]string{"zstd"}, zstdMemory, openZstd},
	{[]string{"br"}, brotliMemory, openBrotli},
}

// Parse reads the values of the headers Content-Encoding of a message, in their order. Names may be in any letter
// case. identity is no coding, and neither is none, which servers send so that proxies do not compress their streams.
// The error names a coding that is not known.
func Parse(values ...[]byte) (Codings, error) {
	var codings Codings
	for _, value := range values {
		for name := range strings.SplitSeq(string(value), ",") {
			name = strings.ToLower(strings.Trim(name, " \t"))
			if name == "" || name == "identity" || name == "none" {
				continue
			}
			known := named(name)
			if known == nil {
				return nil, fmt.Errorf("the coding %q is not known", name[:min(len(name), maxQuoted)])
			}
			if codings = append(codings, known); len(codings) > maxCodings {
				return nil, fmt.Errorf("the body has more than %d codings", maxCodings)
			}
		}
	}
	return codings, nil
}

// named returns the coding with a name in lower case, nil for none.
func named(name string) *format {
	for _, f := range formats {
		for _, known := range f.names {
			if name == known {
				return f
			}
		}
	}
	return nil
}
