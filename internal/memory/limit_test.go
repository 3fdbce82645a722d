package memory

import (
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

const total = "MemFree: 1 kB\nMemTotal: 2097152 kB\n" // 2 GiB

func TestAvailable(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"the machine": {map[string]string{}, 2 << 30},
		"a container of version 2": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n",
		}, 512 << 20},
		"a container of version 1 that sees its name outside": {map[string]string{
			"proc/self/cgroup": "7:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
		}, 512 << 20},
		"a unit of systemd": {map[string]string{
			"proc/self/cgroup":                                        "0::/system.slice/heldcall.service\n",
			"sys/fs/cgroup/system.slice/memory.max":                   "max\n",
			"sys/fs/cgroup/system.slice/heldcall.service/memory.max":  "268435456\n",
			"sys/fs/cgroup/system.slice/heldcall.service/memory.high": "max\n",
		}, 256 << 20},
		"MemoryHigh of a unit": {map[string]string{
			"proc/self/cgroup": "0::/system.slice/heldcall.service\n",
			"sys/fs/cgroup/system.slice/heldcall.service/memory.max":  "268435456\n",
			"sys/fs/cgroup/system.slice/heldcall.service/memory.high": "134217728\n",
		}, 128 << 20},
		"the group around is smaller": {map[string]string{
			"proc/self/cgroup":                                        "0::/kubepods/pod1/c1\n",
			"sys/fs/cgroup/kubepods/memory.max":                       "1073741824\n",
			"sys/fs/cgroup/kubepods/pod1/memory.max":                  "134217728\n",
			"sys/fs/cgroup/kubepods/pod1/c1/memory.max":               "536870912\n",
			"sys/fs/cgroup/kubepods/pod2/memory.max":                  "1048576\n",
			"sys/fs/cgroup/memory/kubepods/memory.limit_in_bytes":     "1048576\n",
			"sys/fs/cgroup/unified/kubepods/pod1/c1/memory.max":       "max\n",
			"sys/fs/cgroup/memory/kubepods/pod1/memory.limit_in_byte": "1\n",
		}, 128 << 20},
		"nested groups of version 1": {map[string]string{
			"proc/self/cgroup":                               "5:cpu:/\n4:memory:/a/b\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "104857600\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "209715200\n",
		}, 100 << 20},
		"both versions": {map[string]string{
			"proc/self/cgroup": "4:memory:/a\n0::/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/unified/a/memory.max":           "52428800\n",
		}, 50 << 20},
		"a process outside of its namespace": {map[string]string{
			"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "52428800\n",
		}, 50 << 20},
		"more than there is": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "4294967296\n",
		}, 2 << 30},
		"files without numbers": {map[string]string{
			"proc/self/cgroup": "0::/\nx\n", "sys/fs/cgroup/memory.max": "\n", "sys/fs/cgroup/memory.high": "-1\n",
		}, 2 << 30},
	} {
		root := t.TempDir()
		tt.files["proc/meminfo"] = total
		for file, text := range tt.files {
			file = filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := available(root); got != tt.want {
			t.Errorf("%s: %d bytes, want %d", name, got, tt.want)
		}
	}
	if got := available(t.TempDir()); got != unknown {
		t.Errorf("without files: %d bytes", got)
	}
	if Available() <= 0 {
		t.Error("Available is not positive")
	}
}

// The environment has the last word on Go's limit.
func TestLimitGo(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for environment, want := range map[string]int64{"": 3 << 40, "1TiB": math.MaxInt64} {
		t.Setenv("GOMEMLIMIT", environment)
		debug.SetMemoryLimit(math.MaxInt64)
		LimitGo(3 << 40)
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("GOMEMLIMIT %q: the limit is %d, want %d", environment, got, want)
		}
	}
}
