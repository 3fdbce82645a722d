package check_test

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// A release for this machine: its checksums are right, its program prints its version, the
// bill of materials is CycloneDX and names the linked modules, and the same tree elsewhere
// gives the same bytes.
func TestRelease(t *testing.T) {
	const version = "v9.8.7-check"
	first := makeRelease(t, "../..", version)
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

	elsewhere := t.TempDir()
	copyTo(t, "../..", elsewhere)
	second := makeRelease(t, elsewhere, version)
	for _, file := range []string{"SHA256SUMS", name + ".tar.gz", name + ".cdx.json"} {
		if !bytes.Equal(read(t, filepath.Join(first, file)), read(t, filepath.Join(second, file))) {
			t.Errorf("%s differs when it is built elsewhere", file)
		}
	}
}

// A release requires a valid version.
func TestReleaseNeedsAVersion(t *testing.T) {
	command := exec.Command("go", "run", "./deploy/release", "-version", "1.2", "-out", t.TempDir())
	command.Dir = "../.."
	if out, err := command.CombinedOutput(); err == nil || !strings.Contains(string(out), "is no version") {
		t.Errorf("%v: %s", err, out)
	}
}

func makeRelease(t *testing.T, tree, version string) string {
	t.Helper()
	out := t.TempDir()
	command := exec.Command("go", "run", "./deploy/release", "-version", version, "-out", out, "-platforms", runtime.GOOS+"/"+runtime.GOARCH)
	command.Dir = tree
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
