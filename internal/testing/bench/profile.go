package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// profileEnv names the variable with the folder for the CPU profiles of a profiled heldcall.
const profileEnv = "HELDCALL_BENCH_PROFILE"

// profilerSource is laid over cmd/heldcall for a profiled run only. A CPU profile begins with the program, and again with SIGUSR1; SIGUSR2 ends
// and keeps it, or keeps the heap if none was begun.
const profilerSource = `package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

func init() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	name := fmt.Sprintf("%s.%d", os.Getenv("HELDCALL_BENCH_PROFILE"), os.Getpid())
	f, _ := os.Create(name + ".part")
	_ = pprof.StartCPUProfile(f)
	go func() {
		running, n := true, 0
		for s := range signals {
			if running {
				pprof.StopCPUProfile()
			}
			if s == syscall.SIGUSR1 {
				running = true
				f, _ = os.Create(name + ".part")
				_ = pprof.StartCPUProfile(f)
				continue
			}
			if !running {
				f, _ = os.Create(name + ".part")
				_ = pprof.WriteHeapProfile(f)
			}
			running = false
			f.Close()
			_ = os.Rename(f.Name(), fmt.Sprintf("%s.%03d.pprof", name, n))
			n++
		}
	}()
}
`

// profilerOverlay writes the overlay file for go build of heldcall's sources in a folder, into a folder of its own.
func profilerOverlay(source string) (file string, err error) {
	dir, err := os.MkdirTemp("", "heldcall-profiler-")
	if err != nil {
		return "", fmt.Errorf("profiler: %w", err)
	}
	profiler := filepath.Join(dir, "profiler.go")
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(source, "cmd", "heldcall", "bench_profiler.go"): profiler},
	})
	file = filepath.Join(dir, "overlay.json")
	if err = errors.Join(err, os.WriteFile(profiler, []byte(profilerSource), 0o600), os.WriteFile(file, overlay, 0o600)); err != nil {
		return "", fmt.Errorf("profiler: %w", err)
	}
	return file, nil
}

// profiles takes profiles of one heldcall and names them by what it did meanwhile. A nil one takes none.
type profiles struct {
	dir    string // where they end up; made for the first
	prefix string // what heldcall writes
	taken  int    // by the process that runs
}

// started keeps the CPU profile of heldcall's start.
func (p *profiles) started(h *hop) error {
	if p == nil {
		return nil
	}
	return p.finish(h, "start")
}

// during runs f under a CPU profile that ends as dir/NAME.PID.NNN.pprof.
func (p *profiles) during(h *hop, name string, f func() error) error {
	if p == nil {
		return f()
	}
	if err := h.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		return fmt.Errorf("start a CPU profile: %w", err)
	}
	time.Sleep(20 * time.Millisecond)
	if err := f(); err != nil {
		return err
	}
	return p.finish(h, name)
}

// heap writes what the heap was at its last collection to dir/NAME.PID.NNN.pprof.
func (p *profiles) heap(h *hop, name string) error {
	if p == nil {
		return nil
	}
	return p.finish(h, name)
}

// finish lets heldcall write its profile and gives the file its name.
func (p *profiles) finish(h *hop, name string) error {
	if err := h.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		return fmt.Errorf("write a profile: %w", err)
	}
	number := fmt.Sprintf(".%d.%03d.pprof", h.pid(), p.taken)
	from, to := p.prefix+number, strings.NewReplacer(", ", "-", ": ", "-", " ", "-").Replace(name)+number
	p.taken++
	err := os.MkdirAll(p.dir, 0o755)
	if err != nil {
		return fmt.Errorf("folder for profiles: %w", err)
	}
	for range 100 {
		time.Sleep(20 * time.Millisecond)
		if err = os.Rename(from, filepath.Join(p.dir, to)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("keep a profile: %w", err)
}
