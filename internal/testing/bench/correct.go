package main

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// integrity is the state in which the events sent through a hop arrived.
type integrity struct {
	Hop       string
	Asked     int64
	Events    int64
	Lost      int
	Torn      int
	Reordered int
	First     string
	Seconds   float64
}

// faultless reports whether every event arrived, complete and in order.
func (r integrity) faultless() bool { return r.Lost+r.Torn+r.Reordered == 0 }

// checkEvents sends events through a hop on 11 connections a dialect, and compares every byte. Each stream has its own number and
// is cut into writes at random bytes; on 3 of 11 connections the streams end in a tool call. It stops early after limit.
func checkEvents(h *hop, events int64, limit time.Duration) (integrity, error) {
	result := integrity{Hop: h.name, Asked: events}
	var workers []*worker
	defer func() { closeWorkers(workers) }()
	for _, d := range gated {
		for _, w := range []workload{
			{Dialect: d, Shape: shapeSplit, Conns: 8, Events: streamLen, Prompt: shortPrompt},
			{Dialect: d, Shape: shapeSplitTool, Conns: 3, Events: streamLen, Prompt: shortPrompt},
		} {
			more, err := newWorkers(h.addr, w)
			if err != nil {
				return result, err
			}
			workers = append(workers, more...)
		}
	}
	var sent, received atomic.Int64
	var mu sync.Mutex
	start := time.Now()
	err := eachWorker(workers, func(k *worker) error {
		for sent.Add(streamLen)-streamLen < events && time.Since(start) < limit {
			err := k.once()
			var f *faults
			if errors.As(err, &f) {
				mu.Lock()
				result.add(f)
				mu.Unlock()
			} else if err != nil {
				return err
			}
			received.Add(streamLen)
		}
		return nil
	})
	result.Events, result.Seconds = received.Load(), time.Since(start).Seconds()
	return result, err
}

func (r *integrity) add(f *faults) {
	r.Lost += f.Lost
	r.Torn += f.Torn
	r.Reordered += f.Reordered
	if r.First == "" {
		r.First = f.first
	}
}
