package app

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// unknownMemory is taken for the machine's memory where it is not known.
const unknownMemory = 4 << 30

// availableMemory is how many bytes of memory heldcall may use: the limit of its
// control group (version 2 or 1) or the memory of the machine, the lesser.
func availableMemory() int64 {
	if runtime.GOOS != "linux" {
		return unknownMemory
	}
	memory := int64(unknownMemory)
	if total, ok := totalMemory("/proc/meminfo"); ok {
		memory = total
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if limit, ok := cgroupLimit(path); ok {
			memory = min(memory, limit)
		}
	}
	return memory
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

// cgroupLimit reads the limit of a control group. "max" is none.
func cgroupLimit(path string) (bytes int64, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil && n > 0
}
