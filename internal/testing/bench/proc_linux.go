package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time, user and system, that a process has used. The kernel's per-process clock has nanoseconds, where
// /proc/PID/stat has ticks of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	const schedClock = 2 // CPUCLOCK_SCHED of a process, not of a thread: see clock_getcpuclockid(3)
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedClock), &ts); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// machineTime is the CPU time that all programs, the kernel and the hypervisor's other guests have used of this machine.
func machineTime() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("CPU time of the machine: %w", err)
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	f := bytes.Fields(line) // cpu user nice system idle iowait irq softirq steal ...
	if len(f) < 9 {
		return 0, fmt.Errorf("CPU time of the machine: %q", line)
	}
	var ticks int64
	for i, v := range f[1:9] {
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("CPU time of the machine: %w", err)
		}
		if idle := i == 3 || i == 4; !idle {
			ticks += n
		}
	}
	return time.Duration(ticks) * (time.Second / 100), nil // the kernel's unit here is always 10 ms
}

// memoryOf reads the memory of a process.
func memoryOf(pid int) (memory, error) {
	var m memory
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if errors.Is(err, fs.ErrPermission) { // heldcall hides its memory from all but root
		b, err = os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	}
	if err != nil {
		return m, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	fields := map[string]*int64{"Rss:": &m.Resident, "VmRSS:": &m.Resident, "Anonymous:": &m.Own, "RssAnon:": &m.Own}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) != 3 || fields[string(f[0])] == nil {
			continue
		}
		kb, err := strconv.ParseInt(string(f[1]), 10, 64)
		if err != nil {
			return m, fmt.Errorf("memory of process %d: %w", pid, err)
		}
		*fields[string(f[0])] = kb << 10
	}
	if m.Resident == 0 {
		return m, fmt.Errorf("memory of process %d: no Rss line", pid)
	}
	return m, nil
}

// peakMemory reads the highest resident memory that a process has had, in bytes.
func peakMemory(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	for line := range bytes.Lines(b) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == "VmHWM:" {
			kb, err := strconv.ParseInt(string(f[1]), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("memory of process %d: no VmHWM line", pid)
}

// checkOpenFiles checks that a process may open n files. Go programs raise the soft limit to the hard one by themselves.
func checkOpenFiles(n int) error {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	if lim.Max < uint64(n) {
		return fmt.Errorf("%d open files are needed and the hard limit is %d: raise it (ulimit -Hn) or lower -streams", n, lim.Max)
	}
	return nil
}
