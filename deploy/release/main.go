// Command release builds heldcall for every platform that it is released for:
// an archive each, a bill of materials of the program (CycloneDX), and SHA256SUMS of
// all of them. The same tree and version give the same bytes,
// wherever they are built with the same Go.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// released are the platforms of a release.
const released = "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64"

// besides are the files that an archive holds beside the program.
var besides = []string{"LICENSE", "README.md", "CHANGELOG.md"}

func main() {
	version := flag.String("version", "", "the version, such as v1.2.3")
	out := flag.String("out", "bin/release", "the folder to write to")
	platforms := flag.String("platforms", released, "what to build for, separated by spaces")
	flag.Parse()
	if err := release(*version, *out, strings.Fields(*platforms)); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var semantic = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// release builds every platform and then sums up what it wrote.
func release(version, out string, platforms []string) error {
	if !semantic.MatchString(version) {
		return fmt.Errorf("%q is no version: write for example VERSION=v1.2.3", version)
	}
	if len(platforms) == 0 {
		return errors.New("no platform to build for")
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums []string
	for _, platform := range platforms {
		goos, goarch, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("%q is no platform, such as linux/amd64", platform)
		}
		written, err := build(version, out, goos, goarch)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		for name, content := range written {
			if err := os.WriteFile(filepath.Join(out, name), content, 0o644); err != nil {
				return err
			}
			sums = append(sums, fmt.Sprintf("%x  %s\n", sha256.Sum256(content), name))
			fmt.Println(filepath.Join(out, name))
		}
	}
	slices.SortFunc(sums, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(strings.Join(sums, "")), 0o644)
}

// build makes the archive and the bill of materials of one platform, by file name.
func build(version, out, goos, goarch string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp(out, "build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "heldcall")
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.release="+version, "-o", program, "./cmd/heldcall")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read the program's modules: %w", err)
	}
	name := fmt.Sprintf("heldcall-%s-%s-%s", version, goos, goarch)
	packed, err := pack(name, program)
	if err != nil {
		return nil, err
	}
	bill, err := materials(version, goos, goarch, info)
	return map[string][]byte{name + ".tar.gz": packed, name + ".cdx.json": bill}, err
}

// pack makes an archive that holds nothing of the machine it was made on: neither
// times nor owners.
func pack(folder, program string) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, file := range append([]string{program}, besides...) {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		mode := int64(0o644)
		if file == program {
			mode = 0o755
		}
		header := &tar.Header{Name: folder + "/" + filepath.Base(file), Mode: mode, Size: int64(len(content)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(content); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), zipped.Close())
	return out.Bytes(), err
}
