package main

import (
	"debug/buildinfo"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
)

// What packages say of heldcall.
const (
	summary  = "Holds the tool calls of LLM agents until policy or people allow them"
	homepage = "https://github.com/heldcall/heldcall"
	license  = "Apache-2.0"
)

// program is heldcall, built for one platform.
type program struct {
	platform
	version string // with its v
	path    string
	content []byte
	info    *buildinfo.BuildInfo
}

// forPlatform builds heldcall for a platform and returns the files of the release that
// are for this platform alone, by name.
func forPlatform(version string, on platform) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "heldcall-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p, err := build(version, on, dir)
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for _, pack := range []func() (map[string][]byte, error){p.materials, p.archive, p.linuxPackages, p.npmProgram, p.pythonWheel} {
		packed, err := pack()
		if err != nil {
			return nil, err
		}
		maps.Copy(files, packed)
	}
	return files, nil
}

// build builds heldcall into a folder.
func build(version string, on platform, dir string) (*program, error) {
	p := &program{platform: on, version: version, path: filepath.Join(dir, executable(on))}
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X main.release="+version, "-o", p.path, "./cmd/heldcall")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+on.goos, "GOARCH="+on.goarch)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	var err error
	if p.info, err = buildinfo.ReadFile(p.path); err != nil {
		return nil, fmt.Errorf("read the program's modules: %w", err)
	}
	p.content, err = os.ReadFile(p.path)
	return p, err
}

// executable is the name of the program's file.
func executable(on platform) string {
	if on.goos == "windows" {
		return "heldcall.exe"
	}
	return "heldcall"
}

// released is the name of the files of the release for the platform, without extension.
func (p *program) released() string { return nameOf(p.version, p.platform) }

func nameOf(version string, on platform) string {
	return fmt.Sprintf("heldcall-%s-%s-%s", version, on.goos, on.goarch)
}
