package discovery

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/internal/filelock"
)

const (
	askWithin = 10 * time.Second // limit for the arrival of a question and for the write of an answer
	maxLine   = 1 << 20          // bytes of a question or an answer
	maxConns  = 2 * maxAttached  // connections at once; others wait
)

// Options configures [Claim.Serve].
type Options struct {
	About  About    // its Agents and Ports are those that are not attached
	Config string   // digest of the configuration file; an agent with another one is refused
	Tokens []string // SHA-256 of the tokens of reviewers, in hex
	// Attach serves one more agent until [Attachment.Leave]. Nil: all agents are refused.
	Attach func(context.Context, Agent) (Attachment, error)
}

// Server answers at the socket of a run. Nil is the server of a run that is not found.
type Server struct {
	options  Options
	socket   string
	listener net.Listener
	running  sync.WaitGroup
	conns    errgroup.Group
	ctx      context.Context // ends every connection
	stop     context.CancelFunc

	mu       sync.Mutex
	attached map[*Agent]string // the port of each, "" before it is served
	changed  chan struct{}     // closed when an agent has left
	closed   bool
}

// Claim is the right of one process to serve in a folder.
type Claim struct {
	folder string
	lock   *os.File
}

// Take claims a folder, which it makes if needed. It returns nil if another process has claimed it.
func Take(folder string) (*Claim, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of runs: %w", err)
	}
	lock, err := filelock.Take(filepath.Join(folder, lockName))
	if err != nil || lock == nil {
		return nil, err
	}
	return &Claim{folder: folder, lock: lock}, nil
}

// Release lets another process serve in the folder.
func (c *Claim) Release() {
	_ = c.lock.Close() // nothing was written to it
}

// Serve answers at the socket of the folder until [Server.Close].
func (c *Claim) Serve(o Options) (*Server, error) {
	name := filepath.Join(c.folder, socketName)
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) { // of a process that was killed
		return nil, fmt.Errorf("remove the socket of an earlier run: %w", err)
	}
	var listener *net.UnixListener
	err := withSocket(c.folder, func(short string) (err error) {
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listen for other runs: %w", err)
	}
	listener.SetUnlinkOnClose(false) // Close removes the socket, by its true name
	if err := os.Chmod(name, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("restrict the socket of this run to its owner: %w", err), listener.Close())
	}
	s := &Server{options: o, socket: name, listener: listener, attached: map[*Agent]string{}, changed: make(chan struct{})}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.conns.SetLimit(maxConns)
	s.running.Go(s.accept)
	return s, nil
}

// Close ends all connections, and with them all attached agents.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	_ = os.Remove(s.socket) // else the next run removes it
	_ = s.listener.Close()
	s.running.Wait()
	_ = s.conns.Wait() // they return no errors
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files
			select {
			case <-time.After(time.Second):
			case <-s.ctx.Done():
			}
			continue
		}
		s.conns.Go(func() error { s.serve(conn); return nil })
	}
}

// serve answers one connection.
func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(s.ctx, func() { _ = conn.SetReadDeadline(time.Now()) })()
	_ = conn.SetReadDeadline(time.Now().Add(askWithin)) // fails only if it is closed
	in := bufio.NewReader(io.LimitReader(conn, maxLine))
	line, err := in.ReadBytes('\n')
	var q question
	if err != nil || json.Unmarshal(line, &q) != nil {
		return
	}
	switch {
	case q.Attach != nil:
		s.attach(conn, *q.Attach)
	case q.Nonce != "":
		write(conn, answer{Proofs: s.proofs(q.Nonce)})
	case q.About:
		about := s.options.About
		about.Agents, about.Ports = s.agents()
		write(conn, answer{About: &about})
	}
}

// proofs returns a proof for each token.
func (s *Server) proofs(nonce string) []string {
	var all []string
	for _, token := range s.options.Tokens {
		if sum, err := hex.DecodeString(token); err == nil {
			all = append(all, proof(sum, s.options.About.Console, nonce))
		}
	}
	return all
}

// write writes an answer. Errors are left to the reader, which notices a broken connection.
func write(conn net.Conn, a answer) {
	line, err := json.Marshal(a)
	if err != nil {
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(askWithin))
	_, _ = conn.Write(append(line, '\n'))
}
