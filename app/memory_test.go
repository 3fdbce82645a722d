package app

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemoryLimits(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for text, want := range map[string]int64{"536870912\n": 512 << 20, "max\n": 0, "": 0, "-1\n": 0} {
		if got, ok := cgroupLimit(file(text)); ok != (want > 0) || (ok && got != want) {
			t.Errorf("cgroupLimit of %q = %d, %v, want %d", text, got, ok, want)
		}
	}
	if got, ok := totalMemory(file("MemFree: 1 kB\nMemTotal:       2048 kB\n")); !ok || got != 2<<20 {
		t.Errorf("totalMemory = %d, %v, want 2 MiB", got, ok)
	}
	if _, ok := totalMemory(file("MemFree: 1 kB\n")); ok {
		t.Error("totalMemory found a total where there is none")
	}
	if availableMemory() <= 0 {
		t.Error("availableMemory is not positive")
	}
}
