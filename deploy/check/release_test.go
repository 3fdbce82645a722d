package check_test

import (
	"bytes"
	"debug/buildinfo"
	"debug/pe"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// A release for this machine: its checksums are right, its program prints its version, the
// bill of materials is CycloneDX and names the linked modules, its packages install, and the
// same tree elsewhere gives the same bytes.
func TestRelease(t *testing.T) {
	buildsTheProgram(t)
	const version = "v9.8.7-rc.1"
	here := runtime.GOOS + "/" + runtime.GOARCH
	first := makeRelease(t, "../..", version, here)
	if out, err := inFolder(first, "sha256sum", "--check", "--strict", "SHA256SUMS"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	name := "heldcall-" + version + "-" + runtime.GOOS + "-" + runtime.GOARCH
	if out, err := inFolder(first, "tar", "-xzf", name+".tar.gz"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := filepath.Join(first, name, "heldcall")
	out, err := exec.Command(program, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "heldcall "+version+" ") {
		t.Errorf("%v: %s", err, out)
	}
	checkBill(t, filepath.Join(first, name+".cdx.json"), program, version)

	testPackages(t, first, version)

	elsewhere := t.TempDir()
	copyTo(t, "../..", elsewhere)
	second := makeRelease(t, elsewhere, version, here)
	for line := range strings.Lines(string(read(t, filepath.Join(first, "SHA256SUMS")))) {
		if !strings.Contains(string(read(t, filepath.Join(second, "SHA256SUMS"))), line) {
			t.Errorf("differs when it is built elsewhere: %s", line)
		}
	}
}

// A release for Windows has a program for it, in a zip and in the packages that
// install there.
func TestReleaseForWindows(t *testing.T) {
	buildsTheProgram(t)
	const version = "v9.8.7"
	release := makeRelease(t, "../..", version, "windows/amd64")
	unpacked := t.TempDir()
	run(t, "python3", "-m", "zipfile", "--extract", filepath.Join(release, "heldcall-"+version+"-windows-amd64.zip"), unpacked)
	program := filepath.Join(unpacked, "heldcall-"+version+"-windows-amd64", "heldcall.exe")
	file, err := pe.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if file.Machine != pe.IMAGE_FILE_MACHINE_AMD64 {
		t.Errorf("it is for machine %#x", file.Machine)
	}
	packed := map[string]string{
		"heldcall-win32-x64-9.8.7.tgz":          run(t, "tar", "-tzf", filepath.Join(release, "heldcall-win32-x64-9.8.7.tgz")),
		"heldcall-9.8.7-py3-none-win_amd64.whl": run(t, "python3", "-m", "zipfile", "--list", filepath.Join(release, "heldcall-9.8.7-py3-none-win_amd64.whl")),
	}
	for name, list := range packed {
		if !strings.Contains(list, "/heldcall.exe") {
			t.Errorf("%s has no program:\n%s", name, list)
		}
	}
	if _, err := os.Stat(filepath.Join(release, "heldcall.rb")); err == nil {
		t.Error("there is a formula without an archive that Homebrew installs")
	}
}

// A release requires a valid version.
func TestReleaseNeedsAVersion(t *testing.T) {
	for _, version := range []string{"1.2", "v1.2.3-next"} {
		command := exec.Command("go", "run", ".", "-version", version, "-out", t.TempDir())
		command.Dir = "../release"
		if out, err := command.CombinedOutput(); err == nil || !strings.Contains(string(out), "is no version") {
			t.Errorf("%s: %v: %s", version, err, out)
		}
	}
}

func makeRelease(t *testing.T, tree, version, platform string) string {
	t.Helper()
	out := t.TempDir()
	command := exec.Command("go", "run", ".", "-version", version, "-out", out, "-platforms", platform)
	command.Dir = filepath.Join(tree, "deploy/release")
	if printed, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	return out
}

// checkBill compares a bill of materials with the program's build information.
func checkBill(t *testing.T, file, program, version string) {
	t.Helper()
	var bill cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(read(t, file)), cdx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	if bill.SpecVersion != cdx.SpecVersion1_6 || bill.Metadata.Component.Version != version {
		t.Errorf("it is %v of %v", bill.SpecVersion, bill.Metadata.Component)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, c := range *bill.Components {
		listed[c.Name] = c.Version
	}
	if len(info.Deps) == 0 || len(listed) != len(info.Deps)+1 || listed["std"] != info.GoVersion {
		t.Errorf("%d components for %d modules and Go's own %q", len(listed), len(info.Deps), listed["std"])
	}
	for _, module := range info.Deps {
		if listed[module.Path] != module.Version {
			t.Errorf("%s is %q, the bill has %q", module.Path, module.Version, listed[module.Path])
		}
	}
}

func inFolder(folder, name string, args ...string) ([]byte, error) {
	command := exec.Command(name, args...)
	command.Dir = folder
	return command.CombinedOutput()
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
