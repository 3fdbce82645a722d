package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// workload is one way of loading a hop at full speed.
type workload struct {
	Name    string
	Dialect *dialect // its name begins Name
	Shape   shape
	Conns   int
	Events  int // of a stream; 0 for whole answers
	Prompt  promptForm
}

// unit is what the figures of a workload count.
func (w workload) unit() string {
	if w.Events > 0 {
		return "event"
	}
	return "request"
}

// perExchange is how many units one exchange makes.
func (w workload) perExchange() int { return max(1, w.Events) }

const streamLen = 200

// workloads are the full-speed ones, in the order they run.
func workloads() (list []workload) {
	for _, d := range gated {
		list = append(list,
			workload{"whole answers, 1 connection", d, shapeWhole, 1, 0, shortPrompt},
			workload{"whole answers, 64 connections", d, shapeWhole, 64, 0, shortPrompt},
			workload{"coalesced, 1 stream", d, shapeCoalesced, 1, streamLen, shortPrompt},
			workload{"coalesced, 32 streams", d, shapeCoalesced, 32, streamLen, shortPrompt},
			workload{"one event per packet, 1 stream", d, shapePackets, 1, streamLen, shortPrompt},
			workload{"one event per packet, 32 streams", d, shapePackets, 32, streamLen, shortPrompt},
			workload{"tool call at the end, 1 stream", d, shapeTool, 1, streamLen, shortPrompt},
			workload{"tool call at the end, 32 streams", d, shapeTool, 32, streamLen, shortPrompt},
			workload{"200 KB prompt, 16 connections", d, shapeWhole, 16, 0, agentPrompt},
		)
		list = append(list, promptWorkloads(d)...)
	}
	for i := range list {
		list[i].Name = list[i].Dialect.name + ": " + list[i].Name
	}
	return list
}

// promptWorkloads are prompts of two lengths, plain and with escapes, as one message and as many.
func promptWorkloads(d *dialect) (list []workload) {
	for _, kilobytes := range []int{20, 200} {
		for _, text := range []string{plainText, escapedText} {
			for _, messages := range []int{1, 200} {
				kind := "plain"
				if text == escapedText {
					kind = "escapes"
				}
				name := fmt.Sprintf("%d KB prompt, %s, messages: %d", kilobytes, kind, messages)
				list = append(list, workload{name, d, shapeWhole, 16, 0, promptForm{kilobytes << 10, messages, text}})
			}
		}
	}
	return list
}

// sample is what one hop did with one workload in one round.
type sample struct {
	Units     int           // requests or events
	Elapsed   time.Duration // from the first request to the last answer's end
	HopCPU    time.Duration // 0 for direct
	OthersCPU time.Duration // load generator and upstream together
	Latencies []int64       // ns, one per exchange
}

func (s sample) perSecond() float64 { return float64(s.Units) / s.Elapsed.Seconds() }

// perUnit is in microseconds.
func (s sample) perUnit() float64 { return 1e6 / s.perSecond() }

// cpuPerUnit is in microseconds.
func (s sample) cpuPerUnit() float64 { return float64(s.HopCPU.Nanoseconds()) / 1e3 / float64(s.Units) }

// seeds numbers every exchange of the run.
var seeds = func() *atomic.Int64 { n := new(atomic.Int64); n.Store(firstSeed); return n }()

// worker is one connection at full speed, with its request and the answer it must get.
type worker struct {
	agent  *agent
	prompt *prompt
	script *script
	forms  []expected // of the answer, with room for the number of the exchange
	times  []int64
}

// newWorkers connects all connections of a workload.
func newWorkers(addr string, w workload) ([]*worker, error) {
	sc := newScript(w.Dialect, w.Shape, w.Events)
	workers := make([]*worker, w.Conns)
	for i := range workers {
		a, err := dial(addr, 64<<10)
		if err != nil {
			closeWorkers(workers)
			return nil, err
		}
		workers[i] = &worker{
			agent: a, script: sc,
			prompt: newPrompt(w.Dialect, w.Shape, w.Events, w.Prompt, int64(i)),
		}
		for _, form := range sc.forms {
			workers[i].forms = append(workers[i].forms, form.clone())
		}
	}
	return workers, nil
}

func closeWorkers(workers []*worker) {
	for _, k := range workers {
		if k != nil {
			k.agent.close()
		}
	}
}

// once makes one exchange and compares the answer byte for byte; an answer that differs is a *faults error.
func (k *worker) once() error {
	seed := seeds.Add(1)
	if err := k.agent.exchange(k.prompt.render(seed)); err != nil {
		return err
	}
	if !slices.ContainsFunc(k.forms, func(form expected) bool { return form.is(k.agent.body, seed) }) {
		return diagnose(k.agent.body, k.forms[len(k.forms)-1].body)
	}
	if k.agent.closing {
		return fmt.Errorf("the hop closes the connection after one answer")
	}
	return nil
}

// drive loads a hop for about d, from connections that have had one exchange each before.
func drive(hop *hop, upstream *process, w workload, d time.Duration) (sample, error) {
	workers, err := newWorkers(hop.addr, w)
	if err != nil {
		return sample{}, err
	}
	defer closeWorkers(workers)
	if err := eachWorker(workers, (*worker).once); err != nil {
		return sample{}, err
	}
	before, err := readClocks(hop, upstream)
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	err = eachWorker(workers, func(k *worker) error {
		for at := time.Now(); at.Sub(start) < d; {
			if err := k.once(); err != nil {
				return err
			}
			end := time.Now()
			k.times = append(k.times, int64(end.Sub(at)))
			at = end
		}
		return nil
	})
	s := sample{Elapsed: time.Since(start)}
	if err != nil {
		return sample{}, err
	}
	after, err := readClocks(hop, upstream)
	if err != nil {
		return sample{}, err
	}
	s.HopCPU, s.OthersCPU = after.hop-before.hop, after.others-before.others
	for _, k := range workers {
		s.Latencies = append(s.Latencies, k.times...)
	}
	s.Units = len(s.Latencies) * w.perExchange()
	return s, nil
}

// eachWorker runs f for all workers at once and returns the first error.
func eachWorker(workers []*worker, f func(*worker) error) error {
	g, _ := errgroup.WithContext(context.Background())
	for _, k := range workers {
		g.Go(func() error { return f(k) })
	}
	return g.Wait()
}

// clocks are CPU times used so far.
type clocks struct{ hop, others time.Duration }

func readClocks(h *hop, upstream *process) (clocks, error) {
	var c clocks
	var err error
	if h.pid() != 0 {
		if c.hop, err = cpuTime(h.pid()); err != nil {
			return c, err
		}
	}
	up, err := cpuTime(upstream.cmd.Process.Pid)
	if err != nil {
		return c, err
	}
	own, err := cpuTime(os.Getpid())
	if err != nil {
		return c, err
	}
	c.others = up + own
	return c, nil
}
