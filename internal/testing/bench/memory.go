package main

import (
	"bytes"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// memory is what a process has in memory, in bytes.
type memory struct {
	Resident int64 // all of it
	Own      int64 // without the pages of its program file, which the kernel can drop
}

// footprint is the memory of one hop.
type footprint struct {
	Idle      memory  // some seconds after the start
	PerStream float64 // resident, more per stream
	Streams   int     // open at once
}

// openStreams measures a fresh hop: its memory idle, then what each of n streams that have begun and gone silent adds.
// settle is how long memory is left alone before it is read.
func openStreams(h *hop, d *dialect, n int, settle time.Duration) (footprint, error) {
	fp := footprint{Streams: n}
	idle, err := warmMemory(h, settle)
	if err != nil {
		return fp, err
	}
	fp.Idle = idle.start
	sc := newScript(d, shapeOpen, openEvents)
	agents, err := beginStreams(h.addr, d, shapeOpen, openEvents, n, func(body []byte) bool { return len(body) >= len(sc.body) })
	if err != nil {
		return fp, err
	}
	defer closeAgents(agents)
	time.Sleep(settle)
	open, err := memoryOf(h.pid())
	if err != nil {
		return fp, err
	}
	fp.PerStream = float64(open.Resident-idle.warm.Resident) / float64(n)
	return fp, h.profiles.heap(h, "heap with open streams")
}

// openEvents is how many events a stream has before it goes silent.
const openEvents = 5

// idleMemory is a hop's memory before its first request and after a few.
type idleMemory struct{ start, warm memory }

// warmMemory reads a fresh hop's memory, makes some requests so that its code and its first buffers are in, and reads it again.
func warmMemory(h *hop, settle time.Duration) (idleMemory, error) {
	var m idleMemory
	time.Sleep(settle)
	var err error
	if m.start, err = memoryOf(h.pid()); err != nil {
		return m, err
	}
	workers, err := newWorkers(h.addr, workload{Dialect: chat, Shape: shapeCoalesced, Conns: 4, Events: openEvents, Prompt: shortPrompt})
	if err != nil {
		return m, err
	}
	defer closeWorkers(workers)
	if h.console != nil {
		if err := h.warmUp(); err != nil {
			return m, err
		}
	}
	for range 10 {
		if err := eachWorker(workers, (*worker).once); err != nil {
			return m, err
		}
	}
	time.Sleep(settle / 4)
	if m.warm, err = memoryOf(h.pid()); err != nil {
		return m, err
	}
	return m, h.profiles.heap(h, "heap idle")
}

// holdLimit is how long an agent of a silent stream lives.
const holdLimit = 10 * time.Minute

// beginStreams starts n exchanges and reads each until its body satisfies enough.
func beginStreams(addr string, d *dialect, s shape, events, n int, enough func([]byte) bool) ([]*agent, error) {
	agents, err := openAgents(addr, n, 4096)
	if err != nil {
		return nil, err
	}
	var g errgroup.Group
	g.SetLimit(64)
	for _, a := range agents {
		g.Go(func() error { return a.beginStream(d, s, events, enough) })
	}
	if err := g.Wait(); err != nil {
		closeAgents(agents)
		return nil, err
	}
	return agents, nil
}

// beginStream starts an exchange and reads until its body satisfies enough. No call may be in it.
func (a *agent) beginStream(d *dialect, s shape, events int, enough func([]byte) bool) error {
	a.seed, a.deadline = seeds.Add(1), holdLimit
	p := newPrompt(d, s, events, shortPrompt, a.seed) // equal requests would continue held turns
	if err := a.begin(p.render(a.seed)); err != nil {
		return err
	}
	if err := a.await(enough); err != nil {
		return err
	}
	if bytes.Contains(a.body, []byte(d.callMark)) {
		return fmt.Errorf("leak: a held call reached the agent: %.300q", a.body)
	}
	return nil
}
