//go:build memory

package memory

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// group is a control group with a limit of memory and no swap, of version 1 or 2.
type group struct {
	dir       string
	peakFile  string
	eventFile string
}

// newGroup makes a group below that of the test. It needs root.
func newGroup(t *testing.T, limit int) *group {
	t.Helper()
	name := fmt.Sprintf("heldcall-memory-%d", os.Getpid())
	for _, version := range []struct {
		root   string
		parent string
		limits [][2]string // in this order; those without "!" may be missing
		peak   string
		events string
	}{
		{"/sys/fs/cgroup", ownGroup(t, ""), [][2]string{{"!memory.max", strconv.Itoa(limit)}, {"memory.swap.max", "0"}}, "memory.peak", "memory.events"},
		{"/sys/fs/cgroup/memory", ownGroup(t, "memory"), [][2]string{{"!memory.limit_in_bytes", strconv.Itoa(limit)}, {"memory.memsw.limit_in_bytes", strconv.Itoa(limit)}, {"memory.swappiness", "0"}}, "memory.max_usage_in_bytes", "memory.oom_control"},
	} {
		// A group of version 2 with processes has no children with limits: the new one is beside it.
		for _, parent := range []string{version.parent, filepath.Dir(version.parent), "/"} {
			dir := filepath.Join(version.root, parent, name)
			if os.Mkdir(dir, 0o755) != nil {
				continue
			}
			t.Cleanup(func() { _ = os.Remove(dir) })
			if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
				_ = os.Remove(dir)
				continue // a folder, but no group
			}
			g := &group{dir: dir, peakFile: filepath.Join(dir, version.peak), eventFile: filepath.Join(dir, version.events)}
			if g.limit(version.limits) {
				t.Logf("heldcall runs in %s", dir)
				return g
			}
			_ = os.Remove(dir)
		}
	}
	t.Fatal("no control group for memory can be made here; it takes root, and version 1 or 2 with the memory controller")
	return nil
}

// ownGroup is the group of this process in a hierarchy: that of version 2 has no name.
func ownGroup(t *testing.T, controller string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.SplitN(strings.TrimSpace(line), ":", 3); len(fields) == 3 && fields[1] == controller {
			return fields[2]
		}
	}
	return "/"
}

func (g *group) limit(limits [][2]string) bool {
	for _, l := range limits {
		file, needed := strings.CutPrefix(l[0], "!")
		if err := os.WriteFile(filepath.Join(g.dir, file), []byte(l[1]), 0); err != nil && needed {
			return false
		}
	}
	return true
}

// command is a command that enters the group before it begins.
func (g *group) command(program string, arguments ...string) *exec.Cmd {
	return exec.Command("/bin/sh", append([]string{"-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, g.dir, program}, arguments...)...)
}

// peak is the most memory that the group has had since the last call, where the kernel lets that be reset.
func (g *group) peak() int {
	text, _ := os.ReadFile(g.peakFile)
	_ = os.WriteFile(g.peakFile, []byte("0"), 0)
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// kills is how many processes of the group the kernel has killed.
func (g *group) kills() int {
	text, _ := os.ReadFile(g.eventFile)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "oom_kill" {
			n, _ := strconv.Atoi(fields[1])
			return n
		}
	}
	return 0
}
