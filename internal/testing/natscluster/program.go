//go:build unix

package natscluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// server is the program, at the version that go.mod pins.
const server = "github.com/nats-io/nats-server/v2"

// program returns the path of a nats-server. It is built once a version, in the user's
// cache folder.
var program = sync.OnceValues(func() (string, error) {
	version, err := output("go", "list", "-m", "-f", "{{.Version}}", server)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("build nats-server: %w", err)
	}
	dir := filepath.Join(cache, "heldcall-tests")
	path := filepath.Join(dir, "nats-server-"+version)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build nats-server: %w", err)
	}
	built := fmt.Sprintf("%s.%d", path, os.Getpid()) // other test programs may build it now
	if _, err := output("go", "build", "-o", built, server); err != nil {
		return "", err
	}
	return path, os.Rename(built, path)
})

// output runs a command, and returns what it prints.
func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
