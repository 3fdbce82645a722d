package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/approvals"
)

// What the last third of a soak may use of what the first third did. The store's records of an hour are in memory
// too, and grow for the first hour.
const (
	soakMemory     = 1.25
	soakGoroutines = 1.05
)

// In each round of a soak, a part of the agents leaves and sends the same request again after a while. The calls of as many are decided,
// and others take their place.
const (
	soakPart    = 100 // one of so many
	soakAbsence = 3 * time.Second
	soakSession = 1_000_000 // the first conversation, apart from those of other steps
)

// soakSample is one measurement of a soak.
type soakSample struct {
	at         time.Duration
	resident   int64
	goroutines int
	decided    int
	returned   int
}

// soak holds s.streams calls for s.soakFor while agents leave and return, and fails if memory or goroutines grow.
func (s *suite) soak() error {
	if s.soakFor == 0 {
		return nil
	}
	return s.fresh(hopHeldcall, heldcallOptions{policy: "wait", keepalive: defaultKeepalive, more: "audit: {retention: 1h}\nhold: {max_wait: 24h}\n"}, func(h *hop) error {
		w := &soaking{suite: s, hop: h, session: soakSession}
		defer func() { closeAgents(w.agents) }()
		if err := w.hold(s.streams); err != nil {
			return err
		}
		samples, err := w.run()
		if err != nil {
			return err
		}
		return judgeSoak(samples)
	})
}

// soaking is a soak in progress.
type soaking struct {
	*suite
	hop      *hop
	agents   []*agent
	session  int64
	decided  int
	returned int
}

// hold lets n more agents wait for people, each in a conversation of its own.
func (w *soaking) hold(n int) error {
	more := make([]*agent, n)
	var g errgroup.Group
	g.SetLimit(64)
	for i := range more {
		w.session++
		session := w.session
		g.Go(func() (err error) {
			more[i], err = w.ask(seeds.Add(1), session)
			return err
		})
	}
	err := g.Wait()
	for _, a := range more {
		if a != nil {
			w.agents = append(w.agents, a)
		}
	}
	return err
}

// ask sends a request and reads the answer until its call is held.
func (w *soaking) ask(seed, session int64) (*agent, error) {
	a, err := dial(w.hop.addr, 4096)
	if err != nil {
		return nil, err
	}
	a.seed, a.session = seed, session
	if err := a.begin(newPrompt(chat, shapeHeld, chat.held, shortPrompt, session).render(seed)); err != nil {
		a.close()
		return nil, err
	}
	textEnd := newScript(chat, shapeHeld, chat.held).callAt
	if err := a.await(func(body []byte) bool { return len(body) >= textEnd }); err != nil {
		a.close()
		return nil, fmt.Errorf("agent %d, until its call is held: %w", seed, err)
	}
	return a, a.conn.SetDeadline(time.Time{})
}

// run lets agents come and go, and measures.
func (w *soaking) run() (samples []soakSample, err error) {
	began, each := time.Now(), min(time.Minute, w.soakFor/9)
	w.say("%8s %6s %8s %11s %8s %9s", "time", "held", "MiB", "goroutines", "decided", "returned")
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for next := each; time.Since(began) < w.soakFor; <-second.C {
		if err := errors.Join(w.decide(), w.leave()); err != nil {
			return samples, err
		}
		if time.Since(began) < next {
			continue
		}
		next += each
		sample, err := w.sample(time.Since(began))
		if err != nil {
			return samples, err
		}
		samples = append(samples, sample)
		w.say("%8s %6d %8d %11d %8d %9d", sample.at.Round(time.Second), len(w.agents), sample.resident>>20, sample.goroutines, sample.decided, sample.returned)
	}
	return samples, nil
}

// take removes n random agents from those that wait.
func (w *soaking) take(n int) []*agent {
	rand.Shuffle(len(w.agents), func(i, j int) { w.agents[i], w.agents[j] = w.agents[j], w.agents[i] })
	n = min(n, len(w.agents))
	taken := w.agents[:n:n]
	w.agents = w.agents[n:]
	return taken
}

// decide approves some calls, and replaces their agents.
func (w *soaking) decide() error {
	page, err := w.hop.console.Requests(context.Background(), approvals.Filter{Status: approvals.StatusPending, Limit: 500})
	if err != nil {
		return fmt.Errorf("list pending requests: %w", err)
	}
	ids := map[string]string{}
	for _, r := range page.Items {
		ids[r.ToolCallID] = r.ID
	}
	done := 0
	var kept []*agent
	for _, a := range w.agents {
		id := ids[callID(a.seed)]
		if id == "" || done == w.streams/soakPart {
			kept = append(kept, a)
			continue
		}
		if err := a.conn.SetDeadline(time.Now().Add(exchangeLimit)); err != nil {
			return err
		}
		if _, err := w.hop.decide(chat, a, id); err != nil {
			return fmt.Errorf("agent %d, request %s: %w", a.seed, id, err)
		}
		a.close()
		done++
	}
	w.agents = kept
	w.decided += done
	return w.hold(w.streams - len(w.agents))
}

// leave lets some agents close their connections, and send the same request again after a while.
func (w *soaking) leave() error {
	var g errgroup.Group
	left := w.take(w.streams / soakPart)
	back := make([]*agent, len(left))
	for _, a := range left {
		a.close()
	}
	time.Sleep(soakAbsence)
	for i, a := range left {
		g.Go(func() (err error) {
			back[i], err = w.ask(a.seed, a.session)
			return err
		})
	}
	err := g.Wait()
	for _, a := range back {
		if a != nil {
			w.agents = append(w.agents, a)
			w.returned++
		}
	}
	return err
}

func (w *soaking) sample(at time.Duration) (soakSample, error) {
	s := soakSample{at: at, decided: w.decided, returned: w.returned}
	used, err := memoryOf(w.hop.pid())
	if err != nil {
		return s, err
	}
	goroutines, err := w.hop.metric("go_goroutines")
	s.resident, s.goroutines = used.Resident, int(goroutines)
	return s, err
}

// judgeSoak compares the last third of the samples with the first.
func judgeSoak(samples []soakSample) error {
	third := len(samples) / 3
	if third == 0 {
		return errors.New("the soak was too short for three measurements")
	}
	mean := func(of []soakSample, value func(soakSample) float64) float64 {
		sum := 0.0
		for _, s := range of {
			sum += value(s)
		}
		return sum / float64(len(of))
	}
	grown := func(name string, limit float64, value func(soakSample) float64) error {
		first, last := mean(samples[:third], value), mean(samples[len(samples)-third:], value)
		if last > first*limit {
			return fmt.Errorf("%s grew from %.0f in the first third to %.0f in the last, more than %.2f times", name, first, last, limit)
		}
		return nil
	}
	return errors.Join(
		grown("memory in MiB", soakMemory, func(s soakSample) float64 { return float64(s.resident >> 20) }),
		grown("goroutines", soakGoroutines, func(s soakSample) float64 { return float64(s.goroutines) }),
	)
}
