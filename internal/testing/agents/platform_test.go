//go:build agents

package agents_test

import (
	"path/filepath"
	"runtime"
	"testing"
)

// module is the path of a file of a package of npm.
func module(dir, path string) string {
	return filepath.Join(dir, "node_modules", filepath.FromSlash(path))
}

// native is the path of a program that a package of this platform holds. The
// agents' own start scripts look for it; npm's install scripts are not run.
func native(t *testing.T, dir string, byPlatform map[string]string) string {
	t.Helper()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	path, ok := byPlatform[platform]
	if !ok {
		t.Fatalf("this test does not know the agent's package for %s", platform)
	}
	return module(dir, path)
}
