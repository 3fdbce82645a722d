package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

const (
	// allowedLen is the number of events of an answer with a call that policy allows.
	allowedLen = 26
	// hopDisk is the row of the disk among the hops: what one durable write costs at least.
	hopDisk = "write and sync"
	// diskBytes is the size of that write, about that of an entry of the audit log.
	diskBytes = 1 << 10
)

// allowedConns are the numbers of connections.
var allowedConns = []int{1, 8, 32, 128}

// allowedCalls measures short answers that end with a call. Policy judges the call and allows it, and the audit log records that before the
// call leaves: so the table also has the time of one synced write to the same disk.
func (s *suite) allowedCalls() error {
	all := s.hops
	defer func() { s.hops = all }()
	s.hops = slices.Clone(all)
	for i, h := range s.hops {
		if h.console == nil {
			continue
		}
		judging, err := s.start(h.name, heldcallOptions{policy: "judge", keepalive: defaultKeepalive})
		if err != nil {
			return err
		}
		defer judging.stop()
		s.hops[i] = judging
	}
	for _, conns := range allowedConns {
		w := workload{fmt.Sprintf("chat: answers with an allowed call, connections: %d", conns), chat, shapeTool, conns, allowedLen, shortPrompt}
		if err := s.noise.listen(s.hops, s.upstream, func() error { return s.load(w) }); err != nil {
			return err
		}
		disk, err := timeDisk(s.dir, s.duration)
		if err != nil {
			return err
		}
		last := &s.results.Load[len(s.results.Load)-1]
		last.Hops = append(last.Hops, disk)
	}
	return nil
}

// timeDisk appends to a file in a folder for about d, and syncs it after each write.
func timeDisk(dir string, d time.Duration) (row hopLoad, err error) {
	file, err := os.CreateTemp(dir, "disk-")
	if err != nil {
		return row, fmt.Errorf("time the disk: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	data := make([]byte, diskBytes)
	var times []int64
	start := time.Now()
	for at := start; at.Sub(start) < d; {
		_, err := file.Write(data)
		if err := cmp.Or(err, file.Sync()); err != nil {
			return row, fmt.Errorf("time the disk: %w", err)
		}
		end := time.Now()
		times = append(times, int64(end.Sub(at)))
		at = end
	}
	return hopLoad{
		Hop: hopDisk, Exchanges: len(times), PerSecond: spreadOf([]float64{float64(len(times)) / time.Since(start).Seconds()}),
		P50: spreadOf([]float64{percentile(times, 0.50) / 1e3}), P99: spreadOf([]float64{percentile(times, 0.99) / 1e3}),
	}, nil
}

// judgeAllowed compares answers that have an allowed call with those of the plain hop and with synced writes.
func judgeAllowed(l loadResult, h *hopLoad) []target {
	name := l.Workload.Name
	ts := []target{
		atLeast(name+": of fasthttp's throughput", h.VsFasthttp.Median, allowedVsFasthttp, "%.2f"),
		atMost(name+": CPU of an answer", h.CPU.Median*allowedLen, allowedCPU, "%.0f us"),
	}
	plain, disk := l.find(hopFasthttp), l.find(hopDisk)
	if l.Workload.Conns == 1 && plain != nil && disk != nil {
		ts = append(ts, atMost(name+": p50, more than fasthttp's and a synced write's", h.P50.Median-plain.P50.Median-disk.P50.Median, allowedMore, "%.0f us"))
	}
	return ts
}
