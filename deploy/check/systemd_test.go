package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// systemd takes the unit, judges it hardened, and starts a command that there is
// with a configuration that heldcall takes.
func TestSystemdUnit(t *testing.T) {
	content, err := os.ReadFile("../systemd/heldcall.service")
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/heldcall (.*)$`).FindStringSubmatch(string(content))
	if start == nil {
		t.Fatal("the unit does not start /usr/bin/heldcall")
	}
	commandLine(t, strings.Fields(start[1])[0])
	if !strings.Contains(start[1], "--config /etc/heldcall/heldcall.yaml") {
		t.Errorf("it reads another configuration: %s", start[1])
	}
	unit := filepath.Join(t.TempDir(), "heldcall.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(content), "/usr/bin/heldcall", heldcall)), 0o644); err != nil {
		t.Fatal(err)
	}
	socket, err := os.ReadFile("../systemd/heldcall.socket")
	if err != nil {
		t.Fatal(err)
	}
	ports := strings.TrimSuffix(unit, "service") + "socket"
	if err := os.WriteFile(ports, socket, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", "--man=no", unit, ports}, {"security", "--offline=true", "--threshold=20", unit}} {
		if out, err := exec.Command("systemd-analyze", args...).CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze %v: %v\n%s", args, err, out)
		}
	}
	checkConfig(t, "../systemd/heldcall.yaml")
}

// Every deployment requires a token, over the console and over NATS.
func TestEveryDeploymentAsksForAToken(t *testing.T) {
	files, err := filepath.Glob("../*/heldcall.yaml")
	nested, err2 := filepath.Glob("../*/*/heldcall.yaml")
	if files = append(files, nested...); err != nil || err2 != nil || len(files) < 4 {
		t.Fatalf("found %v: %v, %v", files, err, err2)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), "token_sha256: ") {
			t.Errorf("%s names no reviewer with a token", file)
		}
		if !strings.Contains(string(content), `nats: {listen: ""`) && !strings.Contains(string(content), "nats: {url: ") {
			t.Errorf("%s leaves the port of the embedded NATS open", file)
		}
	}
}
