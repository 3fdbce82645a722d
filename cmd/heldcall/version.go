package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/heldcall/heldcall/internal/textview"
)

// release is set by the linker in released builds.
var release string

// undated is the version of a build that the Go tool knows nothing of, as with
// `go run`. It is one that NATS takes for its service.
const undated = "v0.0.0-devel"

// build describes this program.
type build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	CommitTime string `json:"commit_time,omitempty"` // RFC 3339
	Modified   bool   `json:"modified,omitempty"`    // since the commit
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

func thisBuild() build {
	b := build{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	module := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.CommitTime = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
		if info.Main.Version != "(devel)" {
			module = info.Main.Version // of a tag, or with time and commit
		}
	}
	b.Version = cmp.Or(release, module, undated)
	return b
}

// version is the release, or what the Go tool knows of the build.
func version() string { return thisBuild().Version }

type versionCommand struct{ outputFlag }

// Run prints the version, and the commit if that is known.
func (c *versionCommand) Run(s *streams) error {
	b := thisBuild()
	if c.json() {
		return textview.JSON(s.out, b)
	}
	text := fmt.Sprintf("heldcall %s (%s, %s)\n", b.Version, b.Go, b.Platform)
	if b.Commit != "" {
		text += fmt.Sprintf("commit %s of %s", b.Commit, b.CommitTime)
		if b.Modified {
			text += ", with changes"
		}
		text += "\n"
	}
	_, err := fmt.Fprint(s.out, text)
	return err
}
