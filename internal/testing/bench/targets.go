package main

import (
	"fmt"
	"math"
)

// target is one of the figures to reach, beside what was measured.
type target struct {
	Figure   string
	Want     string
	Measured string
	Reached  bool
}

// The figures to reach.
const (
	wholeVsFasthttp   = 0.90 // throughput, of the plain fasthttp hop's
	wholeCPU          = 45.0 // microseconds an answer, many connections
	manyWhole         = 64   // connections
	promptVsTCP       = 0.85 // throughput, of the TCP copy's
	streamVsFasthttp  = 2.5
	streamVsTCP       = 0.70 // many streams
	streamCPU         = 1.6  // microseconds an event
	manyStreamsCPU    = 0.6
	manyStreams       = 32
	allowedVsFasthttp = 1.0
	allowedCPU        = 150.0 // microseconds an answer
	allowedMore       = 300.0 // microseconds at one connection
	packetCPUVs       = 1.0   // CPU, of the plain fasthttp hop's
	addedP50Vs        = 1.5   // of the TCP copy's
	addedP99Vs        = 3.0
	idleBytes         = 10e6 // without the pages of the program file
	openStreamBytes   = 24 << 10
	heldStreamBytes   = 24 << 10
	leaveMilliseconds = 50.0
	decisionMillis    = 20.0
	stoppedSeconds    = 5.0
	readySeconds      = 3.0
	historyReadySecs  = 2.0
	channelMillis     = 250.0
	historyBytes      = 60e6
	historyMillis     = 100.0
	historyCallsVs    = 0.95 // of those before
	heldPerSecond     = 1000.0
	requestDiskBytes  = 4e3
	manyPeakBytes     = 400 << 20
	manyRestBytes     = 250 << 20
	judgingGrowth     = 10.0 // with ten times the grants, or the rules: no worse than linear
	eventsChecked     = 10_000_000
)

// judge compares the results with the targets. Nothing fails on it: wall-clock figures of one machine are no test.
func judge(r *results) []target {
	var ts []target
	for _, l := range r.Load {
		ts = append(ts, judgeLoad(l)...)
	}
	for _, p := range r.Paced {
		if p.Streams == 50 {
			ts = append(ts, judgePaced(p)...)
		}
	}
	for _, m := range r.Memory {
		if m.Hop == hopHeldcall {
			if m.Dialect == chat.name { // idle is the same process for all
				ts = append(ts, atMost("idle memory, without the program file", float64(m.Idle.Own)/1e6, idleBytes/1e6, "%.1f MB"))
			}
			ts = append(ts, atMost(fmt.Sprintf("%s: memory per open stream at %d", m.Dialect, m.Streams), m.PerStream/1024, openStreamBytes/1024, "%.1f KiB"))
		}
	}
	for _, h := range r.Held {
		if h.Hop != hopHeldcall {
			continue
		}
		ts = append(ts, atMost(fmt.Sprintf("%s: memory per held stream at %d, %s later", h.Dialect, h.Streams, restTime), h.AtRest/1024, heldStreamBytes/1024, "%.1f KiB"),
			atMost(fmt.Sprintf("%s: decision to bytes, %d held, p99", h.Dialect, h.Streams), h.Many.P99, decisionMillis, "%.2f ms"))
	}
	for _, m := range r.Many {
		if m.Hop != hopHeldcall {
			continue
		}
		name := fmt.Sprintf("%d held: ", m.Held)
		ts = append(ts, atMost(name+"peak memory", float64(m.Peak>>20), manyPeakBytes>>20, "%.0f MiB"),
			atMost(name+"memory "+restTime.String()+" later", float64(m.Rest>>20), manyRestBytes>>20, "%.0f MiB"),
			atMost(name+"decision to bytes, p99", m.Decision.P99, decisionMillis, "%.2f ms"),
			atMost(name+"ended after SIGTERM", m.Stopped.Seconds(), stoppedSeconds, "%.2f s"),
			atMost(name+"ready again after kill -9", m.Ready.Seconds(), readySeconds, "%.2f s"))
	}
	for _, h := range r.History {
		ts = append(ts, judgeHistory(h)...)
	}
	for _, l := range r.Leaving {
		if l.Hop == hopHeldcall {
			ts = append(ts, judgeLeaving(l))
		}
	}
	for _, c := range r.Channels {
		ts = append(ts, atMost(fmt.Sprintf("from a request to %s's wire, %d waiting, p99", c.Channel, c.Waiting), c.Took.P99, channelMillis, "%.0f ms"))
	}
	ts = append(ts, judgeJudging(r.Judging)...)
	if i := r.Integrity; i != nil && i.Hop == hopHeldcall {
		ts = append(ts, target{
			Figure: "lost, torn or reordered events", Want: fmt.Sprintf("0 in %d", eventsChecked),
			Measured: fmt.Sprintf("%d in %d", i.Lost+i.Torn+i.Reordered, i.Events), Reached: i.faultless() && i.Events >= eventsChecked,
		})
	}
	return ts
}

func judgeLoad(l loadResult) []target {
	h := l.find(hopHeldcall)
	if h == nil || h.VsFasthttp == nil || h.CPU == nil || h.CPUVs == nil {
		return nil
	}
	name := l.Workload.Name
	switch {
	case l.Workload.Shape == shapeWhole:
		return judgeWhole(l, h)
	case l.Workload.Shape == shapeCoalesced:
		return judgeCoalesced(l, h)
	case l.Workload.Shape == shapeTool && l.Workload.Events == allowedLen:
		return judgeAllowed(l, h)
	case l.Workload.Shape == shapePackets:
		return []target{atMost(name+": of fasthttp's CPU per event", h.CPUVs.Median, packetCPUVs, "%.2f")}
	}
	return nil
}

func judgeWhole(l loadResult, h *hopLoad) (ts []target) {
	name := l.Workload.Name
	switch l.Workload.Prompt {
	case shortPrompt:
		ts = append(ts, atLeast(name+": of fasthttp's throughput", h.VsFasthttp.Median, wholeVsFasthttp, "%.2f"))
	case agentPrompt:
		if h.VsTCP != nil {
			ts = append(ts, atLeast(name+": of the TCP copy's throughput", h.VsTCP.Median, promptVsTCP, "%.2f"))
		}
	}
	if l.Workload.Conns == manyWhole {
		ts = append(ts, atMost(name+": CPU of an answer", h.CPU.Median, wholeCPU, "%.1f us"))
	}
	return ts
}

func judgeCoalesced(l loadResult, h *hopLoad) []target {
	name, cpu := l.Workload.Name, streamCPU
	ts := []target{atLeast(name+": of fasthttp's throughput", h.VsFasthttp.Median, streamVsFasthttp, "%.2f")}
	if l.Workload.Conns == manyStreams {
		cpu = manyStreamsCPU
		if h.VsTCP != nil {
			ts = append(ts, atLeast(name+": of the TCP copy's throughput", h.VsTCP.Median, streamVsTCP, "%.2f"))
		}
	}
	return append(ts, atMost(name+": CPU per event", h.CPU.Median, cpu, "%.2f us"))
}

func judgePaced(p pacedResult) []target {
	h := p.find(hopHeldcall)
	if h == nil || h.AddedP50Vs == nil || h.AddedP99Vs == nil {
		return nil
	}
	return []target{
		atMost("50 paced streams: delay added, p50, of the TCP copy's", h.AddedP50Vs.Median, addedP50Vs, "%.2f"),
		atMost("50 paced streams: delay added, p99, of the TCP copy's", h.AddedP99Vs.Median, addedP99Vs, "%.2f"),
	}
}

// judgeLeaving takes the slowest: one agent that is not noticed is one too many.
func judgeLeaving(l leaveResult) target {
	limit := leaveMilliseconds
	if l.held {
		limit = float64(leaveKeepalive.Milliseconds())
	}
	slowest := l.Took.Max
	if l.Missed > 0 {
		slowest = math.Inf(1)
	}
	return atMost("agent gone to "+l.Until+", "+l.Kind+", slowest", slowest, limit, "%.1f ms")
}

func atLeast(figure string, got, want float64, format string) target {
	return target{figure, ">= " + fmt.Sprintf(format, want), fmt.Sprintf(format, got), got >= want}
}

func atMost(figure string, got, want float64, format string) target {
	return target{figure, "<= " + fmt.Sprintf(format, want), fmt.Sprintf(format, got), got <= want}
}
