package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// baseFile, in the repository, has the revision that today's heldcall is compared with. It is moved by hand, only to a version that is at
// least as fast.
const baseFile = "benchmarks/base"

// moduleRoot returns the folder of this module: the sources of today's heldcall, and its git history.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module of heldcall: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("find the module of heldcall: run this in its repository")
	}
	return filepath.Dir(mod), nil
}

// readBase returns the revision of the base of a repository, as the file has it.
func readBase(repository string) (string, error) {
	text, err := os.ReadFile(filepath.Join(repository, baseFile))
	if err != nil {
		return "", fmt.Errorf("read the base: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// buildBase returns heldcall's program of a revision, with the profiler if asked for. It is kept in the user's cache folder, by revision
// and version of Go.
func buildBase(repository, revision string, profiling bool) (program string, err error) {
	out, err := exec.Command("git", "-C", repository, "rev-parse", "--quiet", "--verify", revision+"^{commit}").Output()
	if err != nil {
		return "", fmt.Errorf("the base, revision %s in %s, is not in the git history of %s: get the whole history (git fetch --unshallow), or "+
			"leave the base out of -hops: %w", revision, baseFile, repository, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("folder for the base: %w", err)
	}
	name := "heldcall-" + strings.TrimSpace(string(out)) + "-" + runtime.Version()
	if profiling {
		name += fmt.Sprintf("-profiler-%x", sha256.Sum256([]byte(profilerSource)))
	}
	program = filepath.Join(cache, "heldcall-bench", name)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	source, err := os.MkdirTemp("", "heldcall-base-")
	if err != nil {
		return "", fmt.Errorf("folder for the base: %w", err)
	}
	defer os.RemoveAll(source)
	archive := filepath.Join(source, "source.tar")
	for _, command := range [][]string{
		{"git", "-C", repository, "archive", "--output", archive, revision},
		{"tar", "-x", "-f", archive, "-C", source},
	} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("get the sources of the base: %s: %w\n%s", strings.Join(command, " "), err, out)
		}
	}
	err = os.MkdirAll(filepath.Dir(program), 0o755)
	if err != nil {
		return "", fmt.Errorf("folder for the base: %w", err)
	}
	built := fmt.Sprintf("%s.%d", program, os.Getpid()) // a run beside this one finds the whole program or none
	if err := buildHeldcall(source, built, profiling); err != nil {
		return "", fmt.Errorf("the base, revision %s: %w", revision, err)
	}
	return program, os.Rename(built, program)
}
