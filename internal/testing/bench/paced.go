package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// pacedSample is what one hop did to paced streams in one round.
type pacedSample struct {
	Delays []int64 // ns from the upstream's write to the agent's having the whole event, one per event
	HopCPU time.Duration
	Events int
}

// cpuPerEvent is in microseconds.
func (s pacedSample) cpuPerEvent() float64 {
	return float64(s.HopCPU.Nanoseconds()) / 1e3 / float64(s.Events)
}

// settling is how many events of a paced stream are not counted: the streams start one after the other.
const settling = 20

// drivePaced opens streams of one event each 5 ms, spread over those 5 ms, for about d.
func drivePaced(h *hop, upstream *process, streams int, d time.Duration) (pacedSample, error) {
	events := settling + int(d/pace)
	agents, err := openAgents(h.addr, streams, 16<<10)
	if err != nil {
		return pacedSample{}, err
	}
	defer closeAgents(agents)
	before, err := readClocks(h, upstream)
	if err != nil {
		return pacedSample{}, err
	}
	delays := make([][]int64, streams)
	var g errgroup.Group
	for i, a := range agents {
		g.Go(func() error {
			time.Sleep(pace * time.Duration(i) / time.Duration(streams))
			p := newPrompt(chat, shapePaced, events, shortPrompt, int64(i))
			delays[i] = make([]int64, 0, events)
			return a.readPaced(p.render(seeds.Add(1)), events, func(delay int64) { delays[i] = append(delays[i], delay) })
		})
	}
	if err := g.Wait(); err != nil {
		return pacedSample{}, err
	}
	after, err := readClocks(h, upstream)
	if err != nil {
		return pacedSample{}, err
	}
	s := pacedSample{HopCPU: after.hop - before.hop, Events: streams * events}
	for _, ds := range delays {
		s.Delays = append(s.Delays, ds[min(settling, len(ds)):]...)
	}
	return s, nil
}

// readPaced reads a paced stream event by event, checks that none is missing, and gives each text event's delay.
func (a *agent) readPaced(request []byte, events int, delay func(int64)) error {
	if err := a.begin(request); err != nil {
		return err
	}
	const texts = 2 // the role and the finish carry no number
	seen := 0
	for {
		for {
			i := bytes.Index(a.body, []byte("\n\n"))
			if i < 0 {
				break
			}
			now := time.Now().UnixNano()
			if number, sent, ok := stampOf(a.body[:i]); ok {
				if seen++; number != seen {
					return fmt.Errorf("paced stream: event %d came where %d was due", number, seen)
				}
				delay(now - sent)
			}
			a.body = a.body[:copy(a.body, a.body[i+2:])]
		}
		if a.done {
			break
		}
		if err := a.step(); err != nil && !a.done {
			return err
		}
	}
	if seen != events-texts {
		return fmt.Errorf("paced stream: %d of %d events came", seen, events-texts)
	}
	return nil
}

// stampOf finds the number and the time of sending in a text event.
func stampOf(event []byte) (number int, sent int64, ok bool) {
	_, text, ok := bytes.Cut(event, []byte(`"delta":{"content":" `))
	if !ok || len(text) < 7+stampWidth {
		return 0, 0, false
	}
	number, err1 := strconv.Atoi(string(text[:6]))
	sent, err2 := strconv.ParseInt(string(text[7:7+stampWidth]), 10, 64)
	return number, sent, err1 == nil && err2 == nil
}

// openAgents connects n agents, 64 at a time.
func openAgents(addr string, n, buffer int) ([]*agent, error) {
	agents := make([]*agent, n)
	g, _ := errgroup.WithContext(context.Background())
	g.SetLimit(64)
	for i := range agents {
		g.Go(func() (err error) {
			agents[i], err = dial(addr, buffer)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		closeAgents(agents)
		return nil, err
	}
	return agents, nil
}

func closeAgents(agents []*agent) {
	for _, a := range agents {
		if a != nil {
			a.close()
		}
	}
}
