package fakemodel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Field is one header field, its name spelled as it was on the wire.
type Field struct{ Name, Value string }

// Request is one request as it arrived. Its fields are not to be changed.
type Request struct {
	Method     string
	Target     string // as in the request line
	Path       string // Target up to the question mark, not decoded
	RawQuery   string
	Proto      string
	Header     []Field // all of them, in order
	Body       []byte  // without transfer coding
	RemoteAddr string
	ArrivedAt  time.Time

	conn   net.Conn
	done   chan struct{}
	gone   chan struct{}
	mu     sync.Mutex
	goneAt time.Time
}

// Get is the value of the first header field of that name, in any letter case.
func (r *Request) Get(name string) string {
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// Values returns the values of all header fields of that name, in order.
func (r *Request) Values(name string) []string {
	var values []string
	for _, f := range r.Header {
		if strings.EqualFold(f.Name, name) {
			values = append(values, f.Value)
		}
	}
	return values
}

// Streamed reports whether the body asks for a streamed answer.
func (r *Request) Streamed() bool { return r.flags().Stream }

// IncludeUsage reports whether the body asks for usage at the end of a stream.
func (r *Request) IncludeUsage() bool { return r.flags().StreamOptions.IncludeUsage }

type requestFlags struct {
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

func (r *Request) flags() requestFlags {
	var f requestFlags
	if json.Unmarshal(r.Body, &f) != nil {
		return requestFlags{}
	}
	return f
}

// Gone is closed when the client's connection ends. After [Request.Done] is
// closed that means only that the connection was not kept.
func (r *Request) Gone() <-chan struct{} { return r.gone }

// GoneAt is when the client's connection ended, or zero while it has not.
func (r *Request) GoneAt() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.goneAt
}

// Done is closed when the reply was sent, or given up.
func (r *Request) Done() <-chan struct{} { return r.done }

func (r *Request) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.goneAt.IsZero() {
		r.goneAt = time.Now()
		close(r.gone)
	}
}

// readRequest reads the next request of a connection. It is lenient: a request
// is recorded as it came, judging it is the test's work.
func readRequest(reader *bufio.Reader, conn net.Conn) (*Request, error) {
	lines := textproto.NewReader(reader)
	line, err := lines.ReadLine()
	if err != nil {
		return nil, err
	}
	method, rest, _ := strings.Cut(line, " ")
	target, proto, found := strings.Cut(rest, " ")
	if !found {
		return nil, fmt.Errorf("request line %q is not HTTP/1.1", line)
	}
	path, query, _ := strings.Cut(target, "?")
	r := &Request{
		Method: method, Target: target, Path: path, RawQuery: query, Proto: proto,
		conn: conn, done: make(chan struct{}), gone: make(chan struct{}),
	}
	for {
		if line, err = lines.ReadLine(); err != nil {
			return nil, err
		}
		if line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		r.Header = append(r.Header, Field{name, strings.TrimSpace(value)})
	}
	if strings.EqualFold(r.Get("Expect"), "100-continue") {
		if _, err := io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return nil, err
		}
	}
	r.Body, err = r.readBody(reader)
	return r, err
}

func (r *Request) readBody(reader *bufio.Reader) ([]byte, error) {
	if strings.EqualFold(r.Get("Transfer-Encoding"), "chunked") {
		body, err := io.ReadAll(httputil.NewChunkedReader(reader))
		if err != nil {
			return nil, err
		}
		// The chunked reader leaves the trailer section, here only its empty line.
		if line, err := reader.ReadBytes('\n'); err != nil || len(bytes.TrimSpace(line)) != 0 {
			return nil, errors.Join(err, fmt.Errorf("trailer %q after a chunked request", line))
		}
		return body, nil
	}
	length := r.Get("Content-Length")
	if length == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, fmt.Errorf("content length %q is not a number", length)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(reader, body)
	return body, err
}
