package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// Writes of the scripted upstream.
const (
	coalescedWrite = 16 << 10             // bytes
	pace           = 5 * time.Millisecond // between two events of a paced stream
)

// upstream is the scripted model. It knows no HTTP beyond what the hops send it: requests with a Content-Length, on kept connections.
type upstream struct {
	mu      sync.Mutex
	scripts map[string]*script
	asked   map[int64]bool // the exchanges of shapeAsked that had their first answer

	tell sync.Mutex // guards out
	out  *json.Encoder
}

// notice is a line of JSON that the upstream prints on its standard output.
type notice struct {
	Addr   string `json:"addr,omitempty"`   // first line: where it listens
	Closed int64  `json:"closed,omitempty"` // the seed of a stream whose other side closed before its end
	At     int64  `json:"at,omitempty"`     // when it saw that, ns since 1970
}

// runUpstream serves on a free loopback port until the listener fails.
func runUpstream() error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return newUpstream(os.Stdout).serveAll(ln)
}

// newUpstream makes a scripted model that writes its notices to out.
func newUpstream(out io.Writer) *upstream {
	return &upstream{scripts: map[string]*script{}, asked: map[int64]bool{}, out: json.NewEncoder(out)}
}

// serveAll prints its address and serves until the listener fails.
func (u *upstream) serveAll(ln net.Listener) error {
	u.notify(notice{Addr: ln.Addr().String()})
	for {
		c, err := ln.Accept()
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		go u.serve(c)
	}
}

func (u *upstream) notify(n notice) {
	u.tell.Lock()
	defer u.tell.Unlock()
	_ = u.out.Encode(n) // the parent reads it; if it is gone, this process ends too
}

// script returns the answer for a model name ("chat:coalesced-200"), rendered once.
func (u *upstream) script(name []byte) (*script, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if sc := u.scripts[string(name)]; sc != nil {
		return sc, nil
	}
	api, rest, _ := bytes.Cut(name, []byte(":"))
	kind, count, ok := bytes.Cut(rest, []byte("-"))
	events, err := strconv.Atoi(string(count))
	if !ok || err != nil {
		return nil, fmt.Errorf("model bench-%s is not in the script", name)
	}
	d, err := dialectNamed(string(api))
	if err != nil {
		return nil, err
	}
	sc := newScript(d, shape(kind), events)
	u.scripts[string(name)] = sc
	return sc, nil
}

// toldDenial reports whether a request is the second one of its exchange: heldcall tells the model that its call was denied.
func (u *upstream) toldDenial(seed int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	second := u.asked[seed]
	u.asked[seed] = true
	return second
}

// serve answers the requests of one connection.
func (u *upstream) serve(c net.Conn) {
	defer c.Close()
	br := bufio.NewReaderSize(c, 16<<10)
	s := &scriptedConn{conn: c, wires: map[*script][]byte{}}
	for {
		model, seed, err := readRequest(br)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintf(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(err.Error()), err)
			}
			return
		}
		sc, err := u.script(model)
		if err != nil {
			return
		}
		if sc.shape == shapeAsked && u.toldDenial(seed) {
			sc = newScript(sc.dialect, shapeCoalesced, sc.events)
		}
		if sc.shape == shapePaced || sc.shape == shapeOpen {
			if !u.serveWatched(br, s, sc, seed) {
				return
			}
			continue
		}
		if s.play(sc, seed, nil) != nil {
			return
		}
	}
}

// serveWatched sends a slow stream, watches for the other side's close, and reports when that was.
func (u *upstream) serveWatched(br *bufio.Reader, s *scriptedConn, sc *script, seed int64) bool {
	gone, played := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(played)
		_ = s.play(sc, seed, gone)
	}()
	_, err := br.Peek(1) // the next request, or the end
	at := time.Now().UnixNano()
	select {
	case <-played:
	default:
		if err != nil {
			u.notify(notice{Closed: seed, At: at})
		}
	}
	if err != nil {
		close(gone)
	}
	<-played
	return err == nil
}

// readRequest reads one request and finds the model name after "bench-" and the seed in the first bytes of its body.
func readRequest(br *bufio.Reader) (model []byte, seed int64, err error) {
	length := -1
	for first := true; ; first = false {
		line, err := br.ReadSlice('\n')
		if err != nil {
			if first && len(line) == 0 {
				return nil, 0, io.EOF
			}
			return nil, 0, fmt.Errorf("read head: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if k, v, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(k, []byte("content-length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return nil, 0, fmt.Errorf("content-length: %w", err)
			}
		}
	}
	start, err := br.Peek(min(max(length, 0), 1024))
	if err != nil {
		return nil, 0, fmt.Errorf("read body: %w", err)
	}
	_, rest, ok1 := bytes.Cut(start, []byte(`"model":"bench-`))
	name, rest, ok2 := bytes.Cut(rest, []byte(`"`))
	_, digits, ok3 := bytes.Cut(rest, []byte(`"seed":`))
	if !ok1 || !ok2 || !ok3 || len(digits) < seedWidth {
		return nil, 0, fmt.Errorf("no bench model and seed in the first bytes of a body of %d", length)
	}
	if seed, err = strconv.ParseInt(string(digits[:seedWidth]), 10, 64); err != nil {
		return nil, 0, fmt.Errorf("seed: %w", err)
	}
	model = bytes.Clone(name)
	if _, err = br.Discard(length); err != nil {
		return nil, 0, fmt.Errorf("read body: %w", err)
	}
	return model, seed, nil
}

// scriptedConn plays scripts on one connection, each from a copy of its wire bytes that it writes the seed into.
type scriptedConn struct {
	conn  net.Conn
	wires map[*script][]byte
}

// play sends the answer; it returns early with nil when gone is closed.
func (s *scriptedConn) play(sc *script, seed int64, gone <-chan struct{}) error {
	wire := s.wires[sc]
	if wire == nil {
		wire = bytes.Clone(sc.wire)
		s.wires[sc] = wire
	}
	stamp(wire, sc.wireSeeds, seed)
	switch sc.shape {
	case shapePackets:
		return s.write(wire, sc.ends)
	case shapeSplit, shapeSplitTool:
		return s.write(wire, randomCuts(seed, len(wire)))
	case shapePaced:
		return s.playPaced(sc, wire, gone)
	case shapeOpen:
		if err := s.write(wire, sc.ends[len(sc.ends)-1:]); err != nil {
			return err
		}
		<-gone
		return nil
	default:
		return s.write(wire, coalesce(sc.ends))
	}
}

// write sends wire in pieces that end at the given offsets.
func (s *scriptedConn) write(wire []byte, ends []int) error {
	from := 0
	for _, to := range ends {
		if _, err := s.conn.Write(wire[from:to]); err != nil {
			return fmt.Errorf("write stream: %w", err)
		}
		from = to
	}
	return nil
}

// playPaced sends one event each 5 ms, by the clock and not by the sleep, with the time of sending in it.
func (s *scriptedConn) playPaced(sc *script, wire []byte, gone <-chan struct{}) error {
	stamps, from := sc.wireStamps, 0
	next := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for _, to := range sc.ends {
		select {
		case <-timer.C:
		case <-gone:
			return nil
		}
		if len(stamps) > 0 && stamps[0] < to {
			stamp(wire, stamps[:1], time.Now().UnixNano())
			stamps = stamps[1:]
		}
		if _, err := s.conn.Write(wire[from:to]); err != nil {
			return fmt.Errorf("write event: %w", err)
		}
		from = to
		next = next.Add(pace)
		timer.Reset(time.Until(next))
	}
	return nil
}

// coalesce picks the ends that make writes of about 16 KiB.
func coalesce(ends []int) []int {
	var cut []int
	from := 0
	for i, to := range ends {
		if to-from >= coalescedWrite || i == len(ends)-1 {
			cut = append(cut, to)
			from = to
		}
	}
	return cut
}

// randomCuts cuts n bytes anywhere, the same way for the same seed: mostly up to 4 KiB, one in eight of a few bytes.
func randomCuts(seed int64, n int) []int {
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	var cut []int
	for at := 0; at < n; {
		most := 4096
		if rng.IntN(8) == 0 {
			most = 8
		}
		at = min(n, at+1+rng.IntN(most))
		cut = append(cut, at)
	}
	return cut
}
