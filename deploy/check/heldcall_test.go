package check_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// heldcall is the path of the program, built from this tree.
var heldcall string

func TestMain(m *testing.M) { os.Exit(withProgram(m)) }

func withProgram(m *testing.M) int {
	dir, err := os.MkdirTemp("", "heldcall-deploy-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	heldcall = filepath.Join(dir, "heldcall")
	build := exec.Command("go", "build", "-o", heldcall, "./cmd/heldcall")
	build.Dir = "../.."
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		panic("build heldcall: " + err.Error())
	}
	return m.Run()
}

// The values of what the deployments take from secrets. The key of a model API is
// none of them: without it the agent's own passes on.
var secrets = []string{
	"HELDCALL_ADMIN_SHA256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
}

// checkConfig has heldcall's own strict loader read a configuration, with its
// policy.
func checkConfig(t *testing.T, file string) {
	t.Helper()
	command := exec.Command(heldcall, "config", "check", file)
	command.Env = secrets
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("heldcall does not take the configuration: %v\n%s", err, out)
	}
	var config struct {
		Proxy struct{ Upstreams []any }
	}
	if err := yaml.Unmarshal(read(t, file), &config); err != nil || config.Proxy.Upstreams != nil {
		t.Errorf("%s does not serve the default model APIs, OpenAI and Anthropic: %v, %v", file, config, err)
	}
}

// buildsTheProgram leaves out a test of a -short run: it compiles heldcall and all that is in it with
// other flags than the tests, which takes minutes.
func buildsTheProgram(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds the program anew: make deploy without -short has it")
	}
}

// commandLine checks that heldcall has a command and its flags.
func commandLine(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(heldcall, append(args, "--help")...).CombinedOutput(); err != nil {
		t.Errorf("heldcall %v: %v\n%s", args, err, out)
	}
}
