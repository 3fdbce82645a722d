// Package fakemodel is a model API under full control: a loopback HTTP/1.1
// server that answers every request by a script, down to the single write and
// the way a connection ends. Tests, the bench and the demo use it as upstream.
//
// [New] starts a [Server]. A script turns a [Request] into a [Reply]; [Answer]
// builds replies in the shape of OpenAI's Chat Completions and Responses and of
// Anthropic's Messages, [Stream], [ResponsesStream] and [MessagesStream] build
// them event by event, and [Model] is a script that follows rules like a small
// deterministic model, and refuses what the providers refuse. [Reviewer] is the
// other end of a test: it decides what heldcall asks.
package fakemodel

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Script answers one request. It is called on the connection's own goroutine,
// for several connections at once.
type Script func(*Request) Reply

// Server answers requests by a script and records them. Its methods are safe
// for concurrent use.
type Server struct {
	script   Script
	scheme   string
	listener net.Listener
	ctx      context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	opened   int
	requests []*Request
	arrived  chan struct{} // closed and replaced when a request arrives
}

// New starts a server on a free port of the loopback interface. [Server.Close]
// ends it.
func New(script Script) (*Server, error) { return NewTLS(script, nil) }

// NewTLS is New for a server with TLS, nil: without.
func NewTLS(script Script, secure *tls.Config) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the scripted upstream: %w", err)
	}
	scheme := "http://"
	if secure != nil {
		scheme, listener = "https://", tls.NewListener(listener, secure)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		script:   script,
		scheme:   scheme,
		listener: listener,
		ctx:      ctx,
		stop:     stop,
		conns:    make(map[net.Conn]struct{}),
		arrived:  make(chan struct{}),
	}
	s.running.Go(s.accept)
	return s, nil
}

// Addr is the server's host and port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the server's address with the path prefix of an OpenAI-compatible API.
func (s *Server) URL() string { return s.scheme + s.Addr() + "/v1" }

// Leave stops listening: connections that are open are still answered.
func (s *Server) Leave() { s.listener.Close() }

// Close stops listening, ends every connection and waits for its goroutine.
func (s *Server) Close() {
	s.stop()
	s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// Requests returns every request so far, in order of arrival.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// Await returns the request that arrived as number n (from 0), waiting for it
// until ctx ends.
func (s *Server) Await(ctx context.Context, n int) (*Request, error) {
	for {
		s.mu.Lock()
		if n < len(s.requests) {
			defer s.mu.Unlock()
			return s.requests[n], nil
		}
		arrived := s.arrived
		s.mu.Unlock()
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for request %d at the scripted upstream: %w", n, ctx.Err())
		}
	}
}

// Connections returns how many connections were opened so far and how many of
// them are open now.
func (s *Server) Connections() (opened, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, len(s.conns)
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of file descriptors and the like: the script's clients come again.
			select {
			case <-time.After(10 * time.Millisecond):
				continue
			case <-s.ctx.Done():
				return
			}
		}
		s.mu.Lock()
		s.opened++
		s.conns[conn] = struct{}{}
		s.mu.Unlock()
		s.running.Go(func() { s.serve(conn) })
	}
}

// serve answers the requests of one connection, one after the other.
func (s *Server) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	if s.ctx.Err() != nil {
		return
	}
	reader := bufio.NewReaderSize(conn, 16<<10)
	for {
		request, err := readRequest(reader, conn)
		if err != nil {
			return
		}
		s.record(request)
		if !s.answer(request, conn, reader) {
			return
		}
	}
}

func (s *Server) record(r *Request) {
	r.RemoteAddr, r.ArrivedAt = r.conn.RemoteAddr().String(), time.Now()
	s.mu.Lock()
	s.requests = append(s.requests, r)
	close(s.arrived)
	s.arrived = make(chan struct{})
	s.mu.Unlock()
}

// answer runs the script for one request and reports whether the connection
// can carry another one.
func (s *Server) answer(r *Request, conn net.Conn, reader *bufio.Reader) bool {
	defer close(r.done)
	// The next byte after a request is the next request's, or the end of the
	// connection. Waiting for it notices a client that leaves.
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		if _, err := reader.Peek(1); err != nil {
			r.leave()
		}
	}()
	reply := s.script(r)
	keep := reply.send(s.ctx, r, conn)
	if !keep {
		conn.Close()
	}
	<-watched
	return keep
}
