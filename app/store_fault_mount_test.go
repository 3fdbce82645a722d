//go:build mount

package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heldcall/heldcall/app"
)

// A full disk and one that does not answer: see testStoreFault. Disks are mounted, which needs
// root: make load runs this test.
func TestMountedDiskFaults(t *testing.T) {
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		mount(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"), dir)
		fill := filepath.Join(dir, "fill")
		testStoreFault(t, storeFault{
			noticed: "/readyz", // the server's files may have room for a call
			cause:   "no space left on device", configure: dataIn(dir),
			begin: func() {
				if err := os.WriteFile(fill, make([]byte, 16<<20), 0o600); err == nil {
					t.Fatal("the disk did not get full")
				}
			},
			end: func() { _ = os.Remove(fill) }, // it is gone at the second call
		})
	})
	for _, noticed := range []string{"/readyz", "a decision"} {
		t.Run("frozen, noticed by "+noticed, func(t *testing.T) {
			t.Parallel()
			dir, image := t.TempDir(), filepath.Join(t.TempDir(), "image")
			run(t, "truncate", "--size=64M", image)
			run(t, "mkfs.ext4", "-q", image)
			run(t, "mount", "-o", "loop", image, dir)
			mount(t, nil, dir)
			testStoreFault(t, storeFault{
				noticed: noticed, cause: "the disk is too slow", configure: dataIn(dir), slow: true,
				begin: func() { run(t, "fsfreeze", "--freeze", dir) },
				end:   func() { _ = exec.Command("fsfreeze", "--unfreeze", dir).Run() }, // it is not frozen at the second call
			})
		})
	}
}

func dataIn(dir string) func(*app.Config) {
	return func(c *app.Config) { c.NATS.Dir = filepath.Join(dir, "data") }
}

func run(t *testing.T, name string, arguments ...string) {
	t.Helper()
	if out, err := exec.Command(name, arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// mount unmounts a mounted folder at the end of the test.
func mount(t *testing.T, err error, dir string) {
	t.Helper()
	if err != nil {
		t.Fatalf("mount a disk, which needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}
