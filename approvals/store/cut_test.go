package store_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// cut is a TCP relay to a server that can be cut.
type cut struct {
	url string

	mu    sync.Mutex
	off   bool
	conns map[net.Conn]bool
}

func newCut(t *testing.T, url string) *cut {
	t.Helper()
	c := &cut{conns: map[net.Conn]bool{}}
	c.url = startRelay(t, url, func(relays *sync.WaitGroup, client, server net.Conn) {
		if !c.add(client, server) {
			_ = errors.Join(client.Close(), server.Close())
			return
		}
		relays.Go(func() { _, _ = io.Copy(server, client); c.close(client, server) })
		relays.Go(func() { _, _ = io.Copy(client, server); c.close(client, server) })
	}, func() { c.set(true) })
	return c
}

// startRelay accepts connections for a NATS server until the test ends, and returns its own
// URL. serve begins to relay a connection; end ends all of them.
func startRelay(t *testing.T, url string, serve func(relays *sync.WaitGroup, client, server net.Conn), end func()) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var relays sync.WaitGroup
	relays.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
			if err != nil {
				_ = client.Close()
				continue
			}
			serve(&relays, client, server)
		}
	})
	t.Cleanup(func() { _ = listener.Close(); end(); relays.Wait() })
	return "nats://" + listener.Addr().String()
}

func (c *cut) add(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		if c.off {
			_ = conn.Close()
			continue
		}
		c.conns[conn] = true
	}
	return !c.off
}

func (c *cut) close(conns ...net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(c.conns, conn)
	}
}

// set cuts all connections, or lets new ones pass again.
func (c *cut) set(off bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = off
	if off {
		for conn := range c.conns {
			_ = conn.Close()
		}
	}
}
