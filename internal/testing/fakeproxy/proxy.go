// Package fakeproxy is what a company's network has between heldcall and a model, on loopback: a proxy that speaks HTTP
// (CONNECT alone) and SOCKS5, and an authority that issues certificates. Tests of the data plane and of commands use it.
package fakeproxy

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
)

// Options configure a [Proxy].
type Options struct {
	User, Password string      // that clients must give; empty: none
	Refuse         int         // status of each answer; 0: the proxy connects
	TLS            *tls.Config // nil: clients connect without TLS
	Target         string      // host:port to which all connections lead; empty: where the client asks
}

// Proxy is a proxy. Its methods are safe for concurrent use.
type Proxy struct {
	options  Options
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	conns  []net.Conn
	asked  []string
	closed bool
}

// Start starts a proxy on a free port. [Proxy.Close] ends it.
func Start(o Options) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the proxy: %w", err)
	}
	if o.TLS != nil {
		listener = tls.NewListener(listener, o.TLS)
	}
	p := &Proxy{options: o, listener: listener}
	p.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.keep(conn)
			p.running.Go(func() { p.serve(conn) })
		}
	})
	return p, nil
}

// Addr is the host and port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Asked returns the addresses for which clients asked, in the order of their requests.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for _, conn := range p.conns {
		conn.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *Proxy) keep(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conns = append(p.conns, conn); p.closed {
		conn.Close()
	}
}

// serve serves one connection: SOCKS5 if it begins with its version, else HTTP.
func (p *Proxy) serve(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	first, err := reader.Peek(1)
	if err != nil {
		return
	}
	open := p.connect
	if first[0] == 5 {
		open = p.socks
	}
	onward, err := open(conn, reader)
	if err != nil {
		return
	}
	defer onward.Close()
	p.keep(onward)
	p.running.Go(func() {
		_, _ = io.Copy(onward, reader)
		onward.Close()
	})
	_, _ = io.Copy(conn, onward)
}

// dial connects to where a client asks.
func (p *Proxy) dial(addr string) (net.Conn, error) {
	p.mu.Lock()
	p.asked = append(p.asked, addr)
	p.mu.Unlock()
	if p.options.Target != "" {
		addr = p.options.Target
	}
	return net.Dial("tcp", addr)
}

func (p *Proxy) connect(conn net.Conn, reader *bufio.Reader) (net.Conn, error) {
	request, err := http.ReadRequest(reader)
	if err != nil {
		return nil, err
	}
	status, onward := http.StatusOK, net.Conn(nil)
	asked := &http.Request{Header: http.Header{"Authorization": request.Header["Proxy-Authorization"]}}
	user, password, _ := asked.BasicAuth()
	switch {
	case user != p.options.User || password != p.options.Password:
		status = http.StatusProxyAuthRequired
	case p.options.Refuse != 0:
		status = p.options.Refuse
	case request.Method != http.MethodConnect:
		status = http.StatusMethodNotAllowed
	default:
		if onward, err = p.dial(request.Host); err != nil {
			status = http.StatusBadGateway
		}
	}
	// A refusal has a body, which is not sent.
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Length: 9\r\n\r\n", status, http.StatusText(status)); err != nil || onward == nil {
		return nil, errors.New("refused")
	}
	return onward, nil
}

// socks is the server of RFC 1928 and RFC 1929, as far as tests need it.
func (p *Proxy) socks(conn net.Conn, reader *bufio.Reader) (net.Conn, error) {
	refused := errors.New("refused")
	if _, err := readCounted(reader, 1); err != nil { // the methods
		return nil, err
	}
	if p.options.User == "" {
		_, _ = conn.Write([]byte{5, 0})
	} else {
		_, _ = conn.Write([]byte{5, 2})
		user, err := readCounted(reader, 1)
		if err != nil {
			return nil, err
		}
		password, err := readCounted(reader, 0)
		if err != nil {
			return nil, err
		}
		if string(user) != p.options.User || string(password) != p.options.Password {
			_, _ = conn.Write([]byte{1, 1})
			return nil, refused
		}
		_, _ = conn.Write([]byte{1, 0})
	}
	addr, err := readAddress(reader)
	if err != nil {
		return nil, err
	}
	reply, onward := byte(0), net.Conn(nil)
	if p.options.Refuse != 0 {
		reply = 2 // not permitted
	} else if onward, err = p.dial(addr); err != nil {
		reply = 5 // connection refused
	}
	_, _ = conn.Write([]byte{5, reply, 0, 1, 0, 0, 0, 0, 0, 0})
	if onward == nil {
		return nil, refused
	}
	return onward, nil
}

// readCounted reads text with its length before it, after skip bytes.
func readCounted(r *bufio.Reader, skip int) ([]byte, error) {
	if _, err := r.Discard(skip); err != nil {
		return nil, err
	}
	n, err := r.ReadByte()
	if err != nil {
		return nil, err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return text, err
}

// readAddress reads the address of a request of SOCKS5.
func readAddress(r *bufio.Reader) (string, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", err
	}
	var host string
	switch head[3] {
	case 3:
		name, err := readCounted(r, 0)
		if err != nil {
			return "", err
		}
		host = string(name)
	case 1, 4:
		ip := make([]byte, map[byte]int{1: 4, 4: 16}[head[3]])
		if _, err := io.ReadFull(r, ip); err != nil {
			return "", err
		}
		address, _ := netip.AddrFromSlice(ip)
		host = address.String()
	}
	port := make([]byte, 2)
	_, err := io.ReadFull(r, port)
	return net.JoinHostPort(host, strconv.Itoa(int(binary.BigEndian.Uint16(port)))), err
}
