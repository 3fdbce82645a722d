// Package upstream hides the HTTP client and the sockets of the data plane's leg to a model API:
// connections that are kept, the heads of requests and answers, bodies as they arrive, and the
// redaction of the configured key. It depends on no dialect.
package upstream

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

	"github.com/heldcall/heldcall/proxy/packed"
	"github.com/valyala/fasthttp"
)

const (
	dialTimeout     = 15 * time.Second
	idlePerUpstream = 256
	idleFor         = 55 * time.Second // shorter than most servers keep a connection
)

// Config configures a [Client].
type Config struct {
	Prefix    string // path that agents use, such as /v1
	URL       string // in place of the prefix, http or https
	APIKey    string // replaces the agent's key; empty: the agent's own passes on
	KeyHeader string // for APIKey, in lower case; empty or auto: that of the provider at the host
	StandIn   string // key of the agents whose requests get APIKey, others keep theirs; empty: all get it
	ChatGPT   string // URL in place of the prefix for requests with a login for ChatGPT; empty: they have no upstream

	Proxy string // URL with credentials, or [NoProxy]; empty: that of the environment
	CA    string // PEM file of authorities beside the system's, also for an https proxy; empty: none
	Cert  string // PEM file of the client certificate; empty: none
	Key   string // PEM file of its key
}

// Client sends requests to one model API. It has its own connections and uses only
// fasthttp's codec, because fasthttp's client cannot be cancelled before the headers,
// hides that a body was cut at a chunk boundary, and returns one chunk at a time. It is
// safe for concurrent use.
type Client struct {
	Prefix string // of the paths that agents use, no trailing slash
	Addr   string // host:port to dial
	// ChatGPT sends the requests with a login for ChatGPT, which it leaves as it is; nil: they have no upstream.
	ChatGPT *Client
	heads
	// Dial opens connections. It may be replaced before the first request.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	proxy *url.URL    // nil: none
	tls   *tls.Config // nil: connections are not encrypted

	mu     sync.Mutex
	idle   []*persistConn // most recently used last
	closed bool
}

// New makes the client of an upstream. It does not connect. The error is that of a URL, a proxy or a file that cannot be
// used.
func New(u Config) (*Client, error) {
	parsed, err := url.Parse(u.URL)
	if err != nil {
		return nil, fmt.Errorf("upstream %s: %w", u.Prefix, err)
	}
	port := parsed.Port()
	up := &Client{
		Prefix: strings.TrimSuffix(u.Prefix, "/"),
		heads: heads{
			BasePath: strings.TrimSuffix(parsed.EscapedPath(), "/"),
			host:     parsed.Host, standIn: u.StandIn, keyHeader: keyHeader(u.KeyHeader, parsed.Hostname()),
		},
		Dial: newDialer().DialContext,
	}
	up.UseKey(u.APIKey)
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[parsed.Scheme == "https"]
	}
	up.Addr = net.JoinHostPort(parsed.Hostname(), port)
	if err := up.chooseRoute(&u, parsed); err != nil {
		return nil, fmt.Errorf("upstream %s: %w", u.Prefix, err)
	}
	if u.ChatGPT != "" {
		if up.ChatGPT, err = New(Config{Prefix: u.Prefix, URL: u.ChatGPT, Proxy: u.Proxy, CA: u.CA}); err != nil {
			return nil, err
		}
	}
	return up, nil
}

// chooseRoute sets how connections are opened: through a proxy or directly, with TLS or without.
func (u *Client) chooseRoute(c *Config, target *url.URL) error {
	authorities, err := c.newTLS()
	if err != nil {
		return err
	}
	if u.proxy, err = proxyFor(c.Proxy, target); err != nil {
		return err
	}
	if u.proxy != nil {
		u.Dial = newTunnel(u.proxy, authorities).dial
	}
	if target.Scheme != "https" {
		return nil
	}
	u.tls = authorities
	u.tls.ServerName = target.Hostname()
	if c.Cert == "" && c.Key == "" {
		return nil
	}
	pair, err := LoadCertificate(c.Cert, c.Key)
	if err != nil {
		return err
	}
	u.tls.Certificates = []tls.Certificate{*pair}
	return nil
}

// Response is the head of an upstream's answer with its body still to come.
type Response struct {
	Head *fasthttp.ResponseHeader // nil once the response is closed
	Body

	heads *heads
	gated *gatedBody // nil for the answer to a request that is not gated
}

// Status returns the status of the answer.
func (r *Response) Status() int { return r.Head.StatusCode() }

// ContentType returns the header Content-Type, valid until Close.
func (r *Response) ContentType() []byte { return r.Head.ContentType() }

// ContentEncoding returns the header Content-Encoding, valid until Close. It is empty for a gated answer that is
// decoded.
func (r *Response) ContentEncoding() []byte { return r.Head.ContentEncoding() }

// CopyHead copies the head as CopyResponseHead does.
func (r *Response) CopyHead(to packed.HeadWriter) {
	r.heads.CopyResponseHead(to, r.Head, r.gated != nil)
}

// responseHeads are used again: a new one needs an allocation or two a header.
var responseHeads = sync.Pool{New: func() any { return new(fasthttp.ResponseHeader) }}

// Close ends reading the response.
func (r *Response) Close() {
	if r.gated != nil {
		r.gated.close()
	}
	r.Body.close()
	if r.Head != nil {
		responseHeads.Put(r.Head)
		r.Head = nil
	}
}

// errNoAnswer is returned when an upstream closed the connection without a byte
// of an answer.
var errNoAnswer = errors.New("upstream closed the connection without an answer")

// ErrNotSent wraps the error of a request of which no byte was sent.
var ErrNotSent = errors.New("connection failed before any byte of the request was sent")

// Do sends one request and reads the head of its answer. A request is sent once: only
// if a kept connection turns out to be closed, so that no byte was sent, another one is
// used. Cancelling the context closes the connection. The error wraps [ErrNotSent] if no
// byte was sent, and is the cause of the context if that has ended.
func (u *Client) Do(ctx context.Context, r *Request) (*Response, error) {
	resp, err := u.do(ctx, func(dst []byte) []byte { return u.appendRequestHead(dst, r) }, r.Envelope.Body)
	if err == nil && r.Gated {
		resp.gate(r.Limits)
	}
	return resp, err
}

// do is [Client.Do] for a head that is appended to a buffer, and a body.
func (u *Client) do(ctx context.Context, head func(dst []byte) []byte, body []byte) (*Response, error) {
	for {
		conn, err := u.get(ctx)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		r, err := u.doOnConn(ctx, conn, head, body)
		if kept := !conn.used.IsZero(); kept && errors.Is(err, ErrNotSent) {
			continue
		}
		return r, err
	}
}

func (u *Client) doOnConn(ctx context.Context, conn *persistConn, head func(dst []byte) []byte, body []byte) (*Response, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	r, err := u.roundTrip(conn, head, body)
	if err != nil {
		stop()
		conn.Close()
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case conn.uncertified && conn.used.IsZero():
			err = fmt.Errorf("%w: %w", errUncertified, err)
		}
		return nil, err
	}
	r.Body.release = func(reusable bool) {
		if stop() && reusable {
			u.put(conn)
			return
		}
		conn.Close()
	}
	return r, nil
}

// requestHeads are buffers for the heads of requests, and small bodies.
var requestHeads = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// roundTrip sends a request and reads the head of the answer. It has no buffer while it waits for that:
// a model may need minutes.
func (u *Client) roundTrip(conn *persistConn, head func(dst []byte) []byte, body []byte) (*Response, error) {
	buffer := requestHeads.Get().(*[]byte)
	taken, writeErr := send(conn.Conn, head((*buffer)[:0]), body)
	requestHeads.Put(buffer)
	if writeErr != nil && taken == 0 {
		return nil, fmt.Errorf("%w: %w", ErrNotSent, writeErr)
	}
	conn.probe.wait()
	r := &Response{Head: responseHeads.Get().(*fasthttp.ResponseHeader), heads: &u.heads}
	br := readers.Get().(*bufio.Reader)
	br.Reset(conn.Conn)
	r.Head.DisableNormalizing()
	r.Head.SetNoDefaultContentType(true)
	if err := r.readHead(br); err != nil {
		putReader(br)
		return nil, headError(cmp.Or(writeErr, err))
	}
	r.Body.init(conn, r.Head, br)
	if writeErr != nil {
		r.Body.reusable = false
	}
	return r, nil
}

// readHead reads heads until one that is not interim.
func (r *Response) readHead(br *bufio.Reader) error {
	for {
		if err := checkHead(br); err != nil {
			return err
		}
		if err := r.Head.Read(br); err != nil {
			return err
		}
		switch code := r.Head.StatusCode(); {
		case code >= http.StatusOK:
			return nil
		case code < http.StatusContinue:
			return errStatus
		case code == http.StatusSwitchingProtocols:
			return errSwitched
		}
	}
}

// headError is the error for a head that could not be read. It does not quote the bytes,
// as fasthttp does.
func headError(err error) error {
	var network net.Error
	var small *fasthttp.ErrSmallBuffer
	switch {
	case MalformedHead(err) != nil:
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

// send writes head and body in one go, a small body copied after the head, and
// returns how many bytes the connection took.
func send(conn net.Conn, head, body []byte) (taken int64, err error) {
	if len(head)+len(body) <= cap(head) {
		n, err := conn.Write(append(head, body...))
		return int64(n), err
	}
	buffers := net.Buffers{head, body}
	return buffers.WriteTo(conn)
}

// get returns an idle connection that is still open, or a new one.
func (u *Client) get(ctx context.Context) (*persistConn, error) {
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
		if time.Since(conn.used) < idleFor && conn.probe.usable() {
			return conn, nil
		}
		conn.Close()
	}
	return u.connect(ctx)
}

func (u *Client) connect(ctx context.Context) (*persistConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := u.Dial(ctx, "tcp", u.Addr)
	if err != nil {
		return nil, u.connectError(StepConnect, err)
	}
	if u.tls == nil {
		return newPersistConn(conn), nil
	}
	config, asked := u.secured()
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		conn.Close()
		if *asked {
			err = fmt.Errorf("%w: %w", errUncertified, err)
		}
		return nil, u.connectError(StepTLS, err)
	}
	kept := newPersistConn(secure)
	kept.uncertified = *asked
	return kept, nil
}

// put keeps a connection for the next request.
func (u *Client) put(conn *persistConn) {
	conn.used = time.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed || len(u.idle) >= idlePerUpstream {
		conn.Close()
		return
	}
	u.idle = append(u.idle, conn)
}

// Close closes the idle connections. Later ones are not kept.
func (u *Client) Close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for _, conn := range u.idle {
		conn.Close()
	}
	u.idle = nil
	if u.ChatGPT != nil {
		u.ChatGPT.Close()
	}
}
