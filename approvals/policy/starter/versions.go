package starter

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed versions
var files embed.FS

// Version is a text that policies extend. It never changes once it is released: what it lets pass is what people agreed to.
type Version struct {
	Name string // starter/1
	Text []byte // a policy, with parts between lines "#:PART" and "#:end PART"
}

// Checks is the part of each version that lets the project's own checks and programs pass. A policy can leave it out.
const Checks = "checks"

// Versions returns all versions, the oldest first.
func Versions() []Version {
	var versions []Version
	for {
		number := len(versions) + 1
		text, err := files.ReadFile(fmt.Sprintf("versions/%d.yaml", number))
		if err != nil {
			return versions
		}
		versions = append(versions, Version{fmt.Sprintf("starter/%d", number), text})
	}
}

// Newest returns the name of the newest version.
func Newest() string {
	versions := Versions()
	return versions[len(versions)-1].Name
}

// Find returns the version of a name. The error names the known ones.
func Find(name string) (Version, error) {
	var names []string
	for _, version := range Versions() {
		if version.Name == name {
			return version, nil
		}
		names = append(names, version.Name)
	}
	return Version{}, fmt.Errorf("is %q, which this heldcall does not have: write %s", name, strings.Join(names, " or "))
}

// Parts are what counts of a version for one policy.
type Parts struct {
	Workspace bool // the policy names one
	Checks    bool // see [Checks]
}

// For returns the text of what counts for a policy. All other lines are empty, so that those left keep their numbers.
func (v Version) For(parts Parts) []byte {
	leftOut := map[string]bool{"workspace": !parts.Workspace, "no workspace": parts.Workspace, Checks: !parts.Checks}
	var b strings.Builder
	until := "" // the line at which the part ends that is left out
	for line := range strings.Lines(string(v.Text)) {
		text := strings.TrimSpace(line)
		part, begins := strings.CutPrefix(text, "#:")
		switch {
		case until == "" && leftOut[part]:
			until = "#:end " + part
		case until != "", begins:
			if text == until {
				until = ""
			}
		default:
			b.WriteString(line)
			continue
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}
