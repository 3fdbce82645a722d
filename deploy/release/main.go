// Command release builds heldcall for every platform that it is released for: an
// archive each, packages for dpkg, rpm, Homebrew, npm and pip, a bill of materials of the
// program (CycloneDX), and SHA256SUMS of all of them. The same tree and version give
// the same bytes, wherever they are built with the same Go. It is a module of its own,
// so that the library that writes deb and rpm is no dependency of heldcall.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// platform is one that heldcall is released for, and its names at package registries.
type platform struct {
	goos, goarch string
	npm          string // process.platform and process.arch of Node
	wheel        string // platform tags of Python
}

// released are the platforms of a release. The programs for Linux are static, so that
// their wheels suit every libc. Go requires macOS 12.
var released = []platform{
	{"linux", "amd64", "linux-x64", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"},
	{"linux", "arm64", "linux-arm64", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"},
	{"darwin", "amd64", "darwin-x64", "macosx_12_0_x86_64"},
	{"darwin", "arm64", "darwin-arm64", "macosx_12_0_arm64"},
	{"windows", "amd64", "win32-x64", "win_amd64"},
}

// String is the platform as Go writes it, such as linux/amd64.
func (p platform) String() string { return p.goos + "/" + p.goarch }

func main() {
	version := flag.String("version", "", "the version, such as v1.2.3")
	tree := flag.String("tree", "../..", "the root of the repository")
	out := flag.String("out", "bin/release", "the folder to write to, in the tree if it is relative")
	platforms := flag.String("platforms", "", "what to build for, separated by spaces, such as linux/amd64; everything if empty")
	flag.Parse()
	err := os.Chdir(*tree)
	if err == nil {
		err = release(*version, *out, strings.Fields(*platforms))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// semantic are the versions of a release. Python knows no other pre-releases.
var semantic = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// release builds every platform, then the packages that serve them all, and sums up
// what it wrote.
func release(version, out string, names []string) error {
	if !semantic.MatchString(version) {
		return fmt.Errorf("%q is no version: write for example VERSION=v1.2.3 or VERSION=v1.2.3-rc.1", version)
	}
	platforms, err := chosen(names)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	sums := make(map[string]string)
	write := func(files map[string][]byte) error {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := os.WriteFile(filepath.Join(out, name), files[name], 0o644); err != nil {
				return err
			}
			sums[name] = fmt.Sprintf("%x", sha256.Sum256(files[name]))
			fmt.Println(filepath.Join(out, name))
		}
		return nil
	}
	for _, p := range platforms {
		files, err := forPlatform(version, p)
		if err == nil {
			err = write(files)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	formula, err := formula(version, platforms, sums)
	if err != nil {
		return err
	}
	npm, err := npmChooser(version, platforms)
	if err = errors.Join(err, write(formula), write(npm)); err != nil {
		return err
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&lines, "%s  %s\n", sums[name], name)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(lines.String()), 0o644)
}

// chosen returns the platforms with these names, or all.
func chosen(names []string) ([]platform, error) {
	if len(names) == 0 {
		return released, nil
	}
	var platforms []platform
	for _, name := range names {
		i := slices.IndexFunc(released, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("%q is no platform of a release, which are %v", name, released)
		}
		platforms = append(platforms, released[i])
	}
	return platforms, nil
}
