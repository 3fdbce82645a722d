package main

import (
	"fmt"
	"time"
)

// memory measures each hop fresh: idle, and with open streams.
func (s *suite) memory() error {
	perStream := map[string][]float64{}
	for _, name := range s.names() {
		if name == hopDirect {
			continue
		}
		for _, d := range gated {
			if d != chat && name != hopHeldcall && name != hopBase {
				continue // the others do not know dialects
			}
			err := s.fresh(name, heldcallOptions{policy: "allow", keepalive: defaultKeepalive, cold: true}, func(h *hop) error {
				fp, err := openStreams(h, d, s.streams, s.settle)
				if err == nil {
					s.results.Memory = append(s.results.Memory, memoryResult{name, d.name, fp})
					perStream[name] = append(perStream[name], fp.PerStream/1024)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	s.compare("open streams of the three dialects: KiB each", false, perStream[hopHeldcall], perStream[hopBase])
	return nil
}

// decisions is how many decisions are timed.
func (s *suite) decisions() int {
	if s.short {
		return 50
	}
	return 400
}

// held measures both versions of heldcall that ask about every call: memory per held stream, then the time from a decision to the bytes at
// the agent with one call held and with many.
func (s *suite) held() error {
	for _, d := range gated {
		costs := map[string]heldResult{}
		for _, name := range s.versions() {
			r, err := s.heldIn(name, d)
			if err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
			s.results.Held = append(s.results.Held, r)
			costs[name] = r
		}
		now, base := costs[hopHeldcall], costs[hopBase]
		s.compare(d.name+": held streams at rest: KiB each", false, []float64{now.AtRest / 1024}, []float64{base.AtRest / 1024})
		s.compare(d.name+": decision to bytes, one held, p50 ms", false, []float64{now.One.P50}, []float64{base.One.P50})
		s.compare(d.name+": decision to bytes, many held, p50 ms", false, []float64{now.Many.P50}, []float64{base.Many.P50})
	}
	return nil
}

// restTime is how long calls are held before memory is read again. People take longer to answer, and until then the memory
// needed to record the holds is still there.
const restTime = 25 * time.Second

func (s *suite) heldIn(name string, d *dialect) (heldResult, error) {
	r := heldResult{Hop: name, Dialect: d.name, Keepalive: defaultKeepalive}
	err := s.fresh(name, heldcallOptions{policy: "ask", keepalive: defaultKeepalive, cold: true}, func(h *hop) error {
		idle, err := warmMemory(h, s.settle)
		if err != nil {
			return err
		}
		// One call more than stay held is decided at a time, so that never fewer than s.streams are held.
		total := s.streams + s.decisions()
		agents, err := holdStreams(h, d, s.streams)
		if err != nil {
			return err
		}
		time.Sleep(s.settle)
		full, err := memoryOf(h.pid())
		if err != nil {
			return err
		}
		r.footprint = footprint{Idle: idle.start, Streams: s.streams}
		r.PerStream = float64(full.Resident-idle.warm.Resident) / float64(s.streams)
		time.Sleep(restTime)
		if full, err = memoryOf(h.pid()); err != nil {
			return err
		}
		r.AtRest = float64(full.Resident-idle.warm.Resident) / float64(s.streams)
		if err := h.profiles.heap(h, "heap with held streams"); err != nil {
			return err
		}
		more, err := holdStreams(h, d, total-s.streams)
		held := &heldCalls{agents: append(more, agents...)}
		defer closeAgents(held.agents)
		if err != nil {
			return err
		}
		if held.ids, err = h.requestIDs(held.agents, 30*time.Second); err != nil {
			return err
		}
		delays, err := h.decideAll(d, held, len(more))
		r.Many = newLatency(delays)
		return err
	})
	if err != nil {
		return r, err
	}
	err = s.fresh(name, heldcallOptions{policy: "ask", keepalive: defaultKeepalive}, func(h *hop) error {
		delays, err := s.decideSingly(h, d)
		r.One = newLatency(delays)
		return err
	})
	return r, err
}

// decideSingly holds one call at a time and decides it.
func (s *suite) decideSingly(h *hop, d *dialect) ([]int64, error) {
	var delays []int64
	for range s.decisions() {
		held, err := holdCalls(h, d, shapeHeld, 1)
		if err != nil {
			return nil, err
		}
		one, err := h.decideAll(d, held, 1)
		closeAgents(held.agents)
		if err != nil {
			return nil, err
		}
		delays = append(delays, one...)
	}
	return delays, nil
}

// leaveStreaming measures, for every hop, agents that leave streams.
func (s *suite) leaveStreaming() error {
	kinds := []struct {
		name  string
		shape shape
	}{{"silent stream", shapeOpen}, {"stream of an event each 5 ms", shapePaced}}
	for _, h := range s.hops {
		n, limit := 5, time.Second
		switch {
		case h.name == hopHeldcall:
			n, limit = 30, 5*time.Second
		case s.short:
			n = 1
		}
		for _, k := range kinds {
			l, err := leaveStreams(h, s.upstream, k.shape, n, limit)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", h.name, k.name, err)
			}
			s.results.Leaving = append(s.results.Leaving, leaveResult{
				Hop: h.name, Kind: k.name, Until: "upstream closed", Limit: limit.String(), Missed: l.Missed, Took: newLatency(l.Delays),
			})
		}
	}
	return nil
}

// leaveHeld measures agents that leave held calls.
func (s *suite) leaveHeld() error {
	if !s.has(hopHeldcall) {
		return nil
	}
	return s.fresh(hopHeldcall, heldcallOptions{policy: "ask", keepalive: leaveKeepalive}, func(h *hop) error {
		for _, k := range leaveKinds() {
			limit := 4 * leaveKeepalive
			l, err := leaveHeld(h, k, 10, limit)
			if err != nil {
				return err
			}
			s.results.Leaving = append(s.results.Leaving, leaveResult{
				Hop: h.name, Kind: k.Name, Until: "detached", Limit: limit.String(), Missed: l.Missed, Took: newLatency(l.Delays), held: true,
			})
		}
		return nil
	})
}

// correctness sends many events through heldcall, or the last hop if heldcall does not run.
func (s *suite) correctness() error {
	h := s.hops[len(s.hops)-1]
	for _, other := range s.hops {
		if other.name == hopHeldcall {
			h = other
		}
	}
	r, err := checkEvents(h, s.events, s.limit)
	s.results.Integrity = &r
	if err == nil && !r.faultless() {
		err = fmt.Errorf("%s: of %d events %d lost, %d torn, %d reordered; first: %s", h.name, r.Events, r.Lost, r.Torn, r.Reordered, r.First)
	}
	return err
}

// drain drops the pending notices of the upstream.
func (p *process) drain() {
	for {
		select {
		case <-p.notices:
		default:
			return
		}
	}
}
