//go:build faults

package faults_test

import (
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"sync"
	"testing"
	"time"
)

// markerPrefix begins the random texts that may reach an agent only in an approved call.
const markerPrefix = "hcm_"

var marker = regexp.MustCompile(markerPrefix + `[0-9a-f]{16}`)

// markerSize is the length of a marker.
const markerSize = len(markerPrefix) + 16

// front is a balancer on loopback: it connects agents to living replicas, and notes which
// markers the replicas send them.
type front struct {
	listener net.Listener
	living   func() []string // addresses of the replicas that take connections
	steps    *steps

	mu    sync.Mutex
	seen  map[string]time.Time // marker -> when it first went to an agent
	conns map[net.Conn]bool
	ended bool
	all   sync.WaitGroup
}

func newFront(t *testing.T, s *steps, living func() []string) *front {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{listener: listener, living: living, steps: s, seen: map[string]time.Time{}, conns: map[net.Conn]bool{}}
	f.all.Go(f.accept)
	t.Cleanup(f.close)
	return f
}

func (f *front) url() string { return "http://" + f.listener.Addr().String() + "/v1" }

func (f *front) close() {
	f.listener.Close()
	f.mu.Lock()
	f.ended = true
	for c := range f.conns {
		c.Close()
	}
	f.mu.Unlock()
	f.all.Wait()
}

func (f *front) accept() {
	for {
		agent, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.all.Go(func() { f.serve(agent) })
	}
}

// keep reports whether a connection may be used, and lets close end it.
func (f *front) keep(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[c] = true
	return !f.ended
}

func (f *front) drop(c net.Conn) {
	c.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

func (f *front) serve(agent net.Conn) {
	defer f.drop(agent)
	if !f.keep(agent) {
		return
	}
	replica := f.dial()
	if replica == nil {
		return
	}
	defer f.drop(replica)
	if !f.keep(replica) {
		return
	}
	var requests sync.WaitGroup
	requests.Go(func() {
		_, _ = io.Copy(replica, agent)
		replica.Close()
	})
	_, _ = io.Copy(agent, io.TeeReader(replica, &watcher{front: f}))
	agent.Close()
	requests.Wait()
}

// dial connects to a living replica. It returns nil if there is none for some seconds.
func (f *front) dial() net.Conn {
	for range 100 {
		living := f.living()
		for _, i := range rand.Perm(len(living)) {
			if conn, err := net.DialTimeout("tcp", living[i], time.Second); err == nil {
				return conn
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

// firstSeen returns when a marker first went to an agent, zero if it did not.
func (f *front) firstSeen(marker string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen[marker]
}

// watcher looks for markers in what one replica sends on one connection.
type watcher struct {
	front *front
	tail  []byte // of what it has read, in which a marker may have begun
}

func (w *watcher) Write(p []byte) (int, error) {
	text := append(w.tail, p...)
	for _, found := range marker.FindAll(text, -1) {
		w.front.see(string(found))
	}
	w.tail = append([]byte(nil), text[max(0, len(text)-markerSize+1):]...)
	return len(p), nil
}

func (f *front) see(marker string) {
	f.mu.Lock()
	_, known := f.seen[marker]
	if !known {
		f.seen[marker] = time.Now()
	}
	f.mu.Unlock()
	if !known {
		f.steps.happened(stepReleased)
	}
}
