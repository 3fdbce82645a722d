package proxy

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	dialTimeout     = 15 * time.Second
	idlePerUpstream = 256
	idleFor         = 55 * time.Second // shorter than most servers keep a connection
	headLimit       = 32 << 10
)

// upstream is the leg to one model API: own connections on fasthttp's public
// codec, because its client cannot be cancelled before the headers, hides a
// body that was cut at a chunk boundary and hands on one chunk at a time.
type upstream struct {
	prefix string
	base   string // path of the URL, no trailing slash
	host   string // Host header
	addr   string // host:port to dial
	tls    *tls.Config
	apiKey string
	// keyHeader carries apiKey; empty: the header that the agent uses for its own
	keyHeader string
	dial      func(ctx context.Context, network, addr string) (net.Conn, error)

	mask mask // of apiKey

	mu     sync.Mutex
	idle   []*upstreamConn // most recently used last
	closed bool
}

// upstreamConn is one connection to an upstream.
type upstreamConn struct {
	net.Conn
	quiet quiet
	used  time.Time // when it became idle
}

func newUpstreamConn(conn net.Conn) *upstreamConn {
	c := &upstreamConn{Conn: conn}
	c.quiet.begin(conn)
	return c
}

func newUpstream(u Upstream) (*upstream, error) {
	parsed, err := url.Parse(u.URL)
	if err != nil {
		return nil, fmt.Errorf("upstream %s: %w", u.Prefix, err)
	}
	port := parsed.Port()
	up := &upstream{
		prefix: strings.TrimSuffix(u.Prefix, "/"),
		base:   strings.TrimSuffix(parsed.EscapedPath(), "/"),
		host:   parsed.Host,
		apiKey: u.APIKey, keyHeader: keyHeader(u.KeyHeader, parsed.Hostname()),
		dial: (&net.Dialer{
			Timeout:         dialTimeout,
			KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3},
		}).DialContext,
	}
	if parsed.Scheme == "https" {
		up.tls = &tls.Config{ServerName: parsed.Hostname(), MinVersion: tls.VersionTLS12}
		if port == "" {
			port = "443"
		}
	}
	if port == "" {
		port = "80"
	}
	up.addr = net.JoinHostPort(parsed.Hostname(), port)
	up.mask = newMask(u.APIKey)
	return up, nil
}

// response is the head of an upstream's answer with its body still to come.
type response struct {
	head *fasthttp.ResponseHeader // nil once the response is closed
	body body
}

// responseHeads are used again: what is read into one is copied nowhere else, and
// takes an allocation or two a header.
var responseHeads = sync.Pool{New: func() any { return new(fasthttp.ResponseHeader) }}

// close ends reading the response.
func (r *response) close() {
	r.body.close()
	if r.head != nil {
		responseHeads.Put(r.head)
		r.head = nil
	}
}

// errNoAnswer is returned when an upstream closed the connection without a byte
// of an answer.
var errNoAnswer = errors.New("upstream closed the connection without an answer")

// errUntaken wraps the failure of a connection that took no byte of a request.
var errUntaken = errors.New("connection failed before any byte of the request was sent")

// do sends one request and reads the head of its answer. A request is sent once:
// only where a kept connection turns out to be closed, so that no byte of it was
// taken, another one is used. Cancelling the context closes the connection.
func (u *upstream) do(ctx context.Context, head, body []byte) (*response, error) {
	for {
		conn, err := u.get(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUntaken, err)
		}
		r, err := u.doOn(ctx, conn, head, body)
		if kept := !conn.used.IsZero(); kept && errors.Is(err, errUntaken) {
			continue
		}
		return r, err
	}
}

func (u *upstream) doOn(ctx context.Context, conn *upstreamConn, head, body []byte) (*response, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	r, err := u.roundTrip(conn, head, body)
	if err != nil {
		stop()
		conn.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	r.body.release = func(reusable bool) {
		if stop() && reusable {
			u.put(conn)
			return
		}
		conn.Close()
	}
	return r, nil
}

func (u *upstream) roundTrip(conn *upstreamConn, head, body []byte) (*response, error) {
	taken, writeErr := send(conn.Conn, head, body)
	if writeErr != nil && taken == 0 {
		return nil, fmt.Errorf("%w: %w", errUntaken, writeErr)
	}
	r := &response{head: responseHeads.Get().(*fasthttp.ResponseHeader)}
	br := readers.Get().(*bufio.Reader)
	br.Reset(conn.Conn)
	r.head.DisableNormalizing()
	r.head.SetNoDefaultContentType(true)
	if err := r.readHead(br); err != nil {
		putReader(br)
		return nil, headError(cmp.Or(writeErr, err))
	}
	r.body.begin(conn.Conn, r.head, br)
	if writeErr != nil {
		r.body.reusable = false
	}
	return r, nil
}

// readHead reads heads until one that is not interim.
func (r *response) readHead(br *bufio.Reader) error {
	for {
		if err := checkHead(br); err != nil {
			return err
		}
		if err := r.head.Read(br); err != nil {
			return err
		}
		switch code := r.head.StatusCode(); {
		case code >= http.StatusOK:
			return nil
		case code < http.StatusContinue:
			return errStatus
		case code == http.StatusSwitchingProtocols:
			return errSwitched
		}
	}
}

// headError is the error for a head that could not be read. It does not quote
// what came instead, as fasthttp does.
func headError(err error) error {
	var network net.Error
	var small *fasthttp.ErrSmallBuffer
	switch {
	case malformed(err) != nil:
	case errors.Is(err, io.EOF):
		err = errNoAnswer
	case errors.As(err, &network):
		err = network
	case errors.As(err, &small):
		err = fmt.Errorf("it is larger than %d bytes", headLimit)
	default:
		err = errors.New("it is not one of HTTP/1.1, or it was cut off")
	}
	return fmt.Errorf("read the head of the answer: %w", err)
}

// send writes head and body in one go, a small body copied behind the head, and
// returns how many bytes the connection took.
func send(conn net.Conn, head, body []byte) (taken int64, err error) {
	if len(head)+len(body) <= cap(head) {
		n, err := conn.Write(append(head, body...))
		return int64(n), err
	}
	buffers := net.Buffers{head, body}
	return buffers.WriteTo(conn)
}

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, headLimit) }}

func putReader(br *bufio.Reader) {
	br.Reset(nil)
	readers.Put(br)
}

// get returns an idle connection that is still open, or a new one.
func (u *upstream) get(ctx context.Context) (*upstreamConn, error) {
	for {
		u.mu.Lock()
		n := len(u.idle)
		if n == 0 {
			u.mu.Unlock()
			break
		}
		conn := u.idle[n-1]
		u.idle[n-1] = nil
		u.idle = u.idle[:n-1]
		u.mu.Unlock()
		if time.Since(conn.used) < idleFor && conn.quiet.now() {
			return conn, nil
		}
		conn.Close()
	}
	return u.connect(ctx)
}

func (u *upstream) connect(ctx context.Context) (*upstreamConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := u.dial(ctx, "tcp", u.addr)
	if err != nil {
		return nil, fmt.Errorf("connect to upstream: %w", err)
	}
	if u.tls == nil {
		return newUpstreamConn(conn), nil
	}
	secure := tls.Client(conn, u.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, fmt.Errorf("TLS with upstream: %w", err)
	}
	return newUpstreamConn(secure), nil
}

// put keeps a connection for the next request.
func (u *upstream) put(conn *upstreamConn) {
	conn.used = time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || len(u.idle) >= idlePerUpstream {
		conn.Close()
		return
	}
	u.idle = append(u.idle, conn)
}

// close drops the idle connections and keeps no more.
func (u *upstream) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for _, conn := range u.idle {
		conn.Close()
	}
	u.idle = nil
}
