package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// profileEnv names the variable that tells a profiled heldcall where its CPU profiles go.
const profileEnv = "HELDCALL_BENCH_PROFILE"

// profilerSource is laid over cmd/heldcall for a profiled run only: SIGUSR1 starts a CPU profile, SIGUSR2 ends it.
const profilerSource = `package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
)

func init() {
	name := os.Getenv("HELDCALL_BENCH_PROFILE")
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		var f *os.File
		n := 0
		for s := range signals {
			if s == syscall.SIGUSR2 && f != nil {
				pprof.StopCPUProfile()
				f.Close()
				f = nil
			}
			if s == syscall.SIGUSR1 && f == nil {
				f, _ = os.Create(fmt.Sprintf("%s.%03d.pprof", name, n))
				n++
				_ = pprof.StartCPUProfile(f)
			}
		}
	}()
}
`

// profilerOverlay writes the overlay file for go build and gives its name.
func profilerOverlay(dir, pkg string) (string, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", pkg, err)
	}
	source := filepath.Join(dir, "profiler.go")
	if err := os.WriteFile(source, []byte(profilerSource), 0o600); err != nil {
		return "", fmt.Errorf("profiler: %w", err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(strings.TrimSpace(string(out)), "bench_profiler.go"): source},
	})
	if err != nil {
		return "", fmt.Errorf("profiler: %w", err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", fmt.Errorf("profiler: %w", err)
	}
	return file, nil
}

// profiler takes one CPU profile of heldcall per measurement and sorts them by workload.
type profiler struct {
	dir    string // where the profiles end up; empty for none
	prefix string // what heldcall writes
	taken  int
}

// around runs f under a CPU profile that ends as dir/NAME.NNN.pprof.
func (p *profiler) around(h *hop, name string, f func() error) error {
	if p.dir == "" || h.name != hopHeldcall {
		return f()
	}
	if err := h.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		return fmt.Errorf("start profile: %w", err)
	}
	time.Sleep(20 * time.Millisecond)
	runErr := f()
	if err := h.cmd.Process.Signal(syscall.SIGUSR2); err != nil {
		return fmt.Errorf("end profile: %w", err)
	}
	time.Sleep(300 * time.Millisecond) // the profile is written when its last samples are in
	file := strings.Map(func(r rune) rune {
		if r == ' ' || r == ',' {
			return '-'
		}
		return r
	}, strings.ReplaceAll(name, ", ", "-"))
	from := fmt.Sprintf("%s.%03d.pprof", p.prefix, p.taken)
	if err := os.Rename(from, filepath.Join(p.dir, fmt.Sprintf("%s.%03d.pprof", file, p.taken))); err != nil {
		return fmt.Errorf("keep profile: %w", err)
	}
	p.taken++
	return runErr
}
