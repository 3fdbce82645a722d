package check_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The commands in docs/install.md and docs/kubernetes.md exist, and so do the files that
// they name. Those of helm are run, as far as they work without a cluster.
func TestInstallCommands(t *testing.T) {
	var text []byte
	for _, name := range []string{"install.md", "kubernetes.md"} {
		page, err := os.ReadFile(filepath.Join("../../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, page...)
	}
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			commands++
			t.Run(strings.TrimSpace(line), func(t *testing.T) { tryCommand(t, strings.Fields(line)) })
		}
	}
	if commands < 9 {
		t.Errorf("found %d commands", commands)
	}
}

func tryCommand(t *testing.T, words []string) {
	t.Helper()
	sources := words
	if words[0] == "install" {
		sources = words[:len(words)-1] // the last is where it goes
	}
	for _, word := range sources {
		if strings.HasPrefix(word, "deploy/") {
			if _, err := os.Stat(filepath.Join("../..", word)); err != nil {
				t.Error(err)
			}
		}
	}
	switch strings.Join(words[:2], " ") {
	case "heldcall token":
		if out, err := exec.Command(heldcall, words[1:]...).CombinedOutput(); err != nil || !strings.Contains(string(out), "token_sha256") {
			t.Errorf("%v: %s", err, out)
		}
	case "heldcall completion", "echo 'source":
		at := slices.Index(words, "completion")
		if out, err := exec.Command(heldcall, "completion", strings.TrimRight(words[at+1], ")'")).CombinedOutput(); err != nil || !strings.Contains(string(out), "heldcall") {
			t.Errorf("%v: %s", err, out)
		}
	case "helm install":
		args := append([]string{"tool", "helm", "template", words[2], filepath.Join("../..", words[3])}, words[4:]...)
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	case "export HTTPS_PROXY=http://proxy.example:3128": // of the next command
	case "heldcall doctor":
		doctorUsesProxy(t)
	case "kubectl create":
		secretIsWhatIsWanted(t, words)
	case "kubectl apply":
		if _, err := os.Stat(filepath.Join("../..", words[3], "kustomization.yaml")); words[2] != "-k" || err != nil {
			t.Errorf("%v: %v", words, err)
		}
	case "go install":
		canInstall(t, words[2])
	case "systemctl enable", "systemctl start", "systemctl stop":
		unit := words[len(words)-1]
		if !strings.HasSuffix(unit, ".socket") {
			unit += ".service"
		}
		if _, err := os.Stat(filepath.Join("../systemd", unit)); err != nil {
			t.Error(err)
		}
	case "docker build", "docker compose", "install -m", "install -D": // of files that are there
	default:
		t.Errorf("the test knows no %s", words[0])
	}
}

// canInstall checks that the Go tool can install a package at a version: it is there, and
// the module replaces nothing.
func canInstall(t *testing.T, pkg string) {
	t.Helper()
	pkg, _, _ = strings.Cut(pkg, "@")
	list := exec.Command("go", "list", "-f", "{{.Name}}", pkg)
	list.Dir = "../.."
	if out, err := list.CombinedOutput(); err != nil || string(out) != "main\n" {
		t.Errorf("%v: %s", err, out)
	}
	if regexp.MustCompile(`(?m)^(replace|exclude)\b`).Match(read(t, "../../go.mod")) {
		t.Error("go.mod replaces or excludes modules, so `go install` refuses it")
	}
}

// secretIsWhatIsWanted compares the keys of a secret with those that manifests
// and configuration take from it.
func secretIsWhatIsWanted(t *testing.T, words []string) {
	t.Helper()
	wanted := ""
	for _, file := range []string{"../kubernetes/gateway/deployment.yaml", "../kubernetes/sidecar/agent.yaml", "../helm/heldcall/values.yaml", "../../docs/configuration.md"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wanted += string(content)
	}
	for _, word := range words[5:] {
		key := strings.TrimPrefix(strings.TrimPrefix(word, "--from-literal="), "--from-file=")
		key, _, _ = strings.Cut(key, "=")
		if !strings.Contains(wanted, "key: "+key) && !strings.Contains(wanted, "${"+key+"}") {
			t.Errorf("nothing takes %s from the secret", key)
		}
	}
}

// doctorUsesProxy has doctor use a proxy of the environment at a port where nothing listens: it reaches no other host.
func doctorUsesProxy(t *testing.T) {
	t.Helper()
	doctor := exec.Command(heldcall, "doctor")
	doctor.Dir = t.TempDir()
	doctor.Env = []string{"HOME=" + doctor.Dir, "HTTPS_PROXY=http://127.0.0.1:1"}
	out, err := doctor.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "the proxy refused the connection") {
		t.Errorf("%v: %s", err, out)
	}
}
