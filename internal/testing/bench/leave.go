package main

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// leaving is how long after an agent's leaving a hop's connection to the upstream closed.
type leaving struct {
	Delays []int64
	Missed int // not within the limit
	Limit  time.Duration
}

// leaveStreams opens streams one after the other, leaves each, and waits for the upstream to see it. Streams of shapeOpen are silent
// by then, those of shapePaced flow.
func leaveStreams(h *hop, upstream *process, s shape, n int, limit time.Duration) (leaving, error) {
	l := leaving{Limit: limit}
	events, begun := openEvents, len(newScript(chat, shapeOpen, openEvents).body)
	if s == shapePaced {
		events = int(2 * limit / pace)
	}
	for range n {
		agents, err := beginStreams(h.addr, chat, s, events, 1, func(body []byte) bool { return len(body) >= begun })
		if err != nil {
			return l, err
		}
		left := time.Now().UnixNano()
		agents[0].close()
		at, ok := upstream.sawClose(agents[0].seed, limit)
		if !ok {
			l.Missed++
			continue
		}
		l.Delays = append(l.Delays, max(0, at-left))
	}
	return l, nil
}

// sawClose waits until the upstream reports that a stream's other side closed.
func (p *process) sawClose(seed int64, limit time.Duration) (at int64, ok bool) {
	timeout := time.After(limit)
	for {
		select {
		case n, open := <-p.notices:
			if !open {
				return 0, false
			}
			if n.Closed == seed {
				return n.At, true
			}
		case <-timeout:
			return 0, false
		}
	}
}

// leaveKind is how an agent leaves a held call.
type leaveKind struct {
	Name  string
	shape shape
	half  bool // only its sending side is closed
}

func leaveKinds() []leaveKind {
	return []leaveKind{
		{"stream held, connection closed", shapeHeld, false},
		{"stream held, half closed", shapeHeld, true},
		{"whole answer held, connection closed", shapeHeldWhole, false},
	}
}

// leaveHeld lets n agents leave their held calls at once and measures until each request's agent counts as disconnected.
func leaveHeld(h *hop, kind leaveKind, n int, limit time.Duration) (leaving, error) {
	l := leaving{Limit: limit}
	held, err := holdCalls(h, chat, kind.shape, n)
	if err != nil {
		return l, err
	}
	defer closeAgents(held.agents)
	type result struct {
		delay time.Duration
		err   error
	}
	results := make(chan result, n)
	for _, a := range held.agents {
		id := held.ids[a.seed]
		go func() {
			start := time.Now()
			if kind.half {
				_ = a.conn.(*net.TCPConn).CloseWrite()
			} else {
				a.close()
			}
			err := h.awaitDetached(id, limit)
			results <- result{time.Since(start), err}
		}()
	}
	for range n {
		r := <-results
		switch {
		case errors.Is(r.err, errNotInTime):
			l.Missed++
		case r.err != nil:
			err = fmt.Errorf("%s: %w", kind.Name, r.err)
		default:
			l.Delays = append(l.Delays, int64(r.delay))
		}
	}
	return l, err
}
