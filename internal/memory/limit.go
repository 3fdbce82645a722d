// Package memory has several users: the data plane, the store's bus and their wiring share one account of
// the memory that they may use. It also hides how the operating system reports their limit.
// Read limit.go, then budget.go.
package memory

import (
	"bufio"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// unknown is taken for the machine's memory where it is not known.
const unknown = 4 << 30

// Available is how many bytes of memory the process may use: the smallest limit of its control group and the
// groups around it (version 1 or 2), or the memory of the machine, the least of them.
func Available() int64 {
	if runtime.GOOS != "linux" {
		return unknown
	}
	return available("/")
}

// available is [Available] with the files of the system below root.
func available(root string) int64 {
	bytes := int64(unknown)
	if total, ok := totalMemory(filepath.Join(root, "proc/meminfo")); ok {
		bytes = total
	}
	groups, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(groups) + "0::/\n0:memory:/\n") { // the root of a container may be its group
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		for _, h := range hierarchies {
			if h.has(fields[1]) {
				bytes = min(bytes, h.limit(filepath.Join(root, h.root), fields[2]))
			}
		}
	}
	return bytes
}

// hierarchy is a tree of control groups: cgroups(7).
type hierarchy struct {
	controller string // of version 1; "" for version 2
	root       string
	files      []string // the limits of a group
}

// hierarchies are the trees where systems mount them.
var hierarchies = []hierarchy{
	{"", "sys/fs/cgroup", []string{"memory.max", "memory.high"}},
	{"", "sys/fs/cgroup/unified", []string{"memory.max", "memory.high"}},
	{"memory", "sys/fs/cgroup/memory", []string{"memory.limit_in_bytes"}},
}

// has reports whether a line of /proc/self/cgroup with these controllers is about the hierarchy.
func (h *hierarchy) has(controllers string) bool {
	for name := range strings.SplitSeq(controllers, ",") {
		if name == h.controller {
			return true
		}
	}
	return false
}

// limit is the smallest limit of a group and of the groups around it. Groups that are not there have none: a
// container may see the name that its group has outside.
func (h *hierarchy) limit(root, group string) int64 {
	least := int64(math.MaxInt64)
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		for _, file := range h.files {
			if n, ok := groupLimit(filepath.Join(root, group, file)); ok {
				least = min(least, n)
			}
		}
		if group == "/" {
			return least
		}
	}
}

// groupLimit reads a limit of a control group. "max" is none.
func groupLimit(path string) (bytes int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && n > 0
}

// totalMemory reads MemTotal of proc_meminfo(5), which is in KiB.
func totalMemory(path string) (bytes int64, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err == nil && kib > 0
		}
	}
	return 0, false
}

// GoLimit is the limit of Go's memory for a process that may use so many bytes. The rest is for what Go does not
// count: the program, the files that the store maps, and buffers of the kernel.
func GoLimit(available int64) int64 { return available / 100 * 78 }

// LimitGo sets Go's memory limit, unless the environment sets it: garbage is collected in time, whatever is in use.
func LimitGo(limit int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
}
