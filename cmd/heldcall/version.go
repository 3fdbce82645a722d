package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is set by the linker in released builds.
var release string

// version is the release, or what the Go tool knows of the build.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

type versionCommand struct{ outputFlag }

// Run prints the version.
func (c *versionCommand) Run(s *streams) error {
	if c.json() {
		return printJSON(s.out, map[string]string{"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
	}
	_, err := fmt.Fprintf(s.out, "heldcall %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
