package main

import (
	"os"
	"time"
)

// noise adds up what the machine did while hops were loaded, and how much of it was this benchmark's.
type noise struct{ used, own time.Duration }

// foreign is the share of the CPU time used that went to other programs.
func (n noise) foreign() float64 {
	if n.used <= 0 {
		return 0
	}
	return max(0, 1-float64(n.own)/float64(n.used))
}

// listen runs f and adds what went on meanwhile.
func (n *noise) listen(hops []*hop, upstream *process, f func() error) error {
	used, own, err := readNoise(hops, upstream)
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	usedAfter, ownAfter, err := readNoise(hops, upstream)
	if err != nil {
		return err
	}
	n.used += usedAfter - used
	n.own += ownAfter - own
	return nil
}

// readNoise reads the CPU time used by everything, and by the processes of the benchmark.
func readNoise(hops []*hop, upstream *process) (used, own time.Duration, err error) {
	if used, err = machineTime(); err != nil {
		return 0, 0, err
	}
	pids := []int{os.Getpid(), upstream.cmd.Process.Pid}
	for _, h := range hops {
		if h.pid() != 0 {
			pids = append(pids, h.pid())
		}
	}
	for _, pid := range pids {
		t, err := cpuTime(pid)
		if err != nil {
			return 0, 0, err
		}
		own += t
	}
	return used, own, nil
}
