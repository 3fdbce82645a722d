package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// hop is a program between agents and the upstream.
type hop struct {
	name    string
	addr    string         // where agents connect
	console *client.Client // of heldcall, today's or the base; nil for the others
	logFile string         // of heldcall

	consoleURL string
	natsURL    string
	profiles   *profiles // of heldcall; nil when none are asked for
	*process
}

// pid is 0 for direct.
func (h *hop) pid() int {
	if h.process == nil {
		return 0
	}
	return h.process.cmd.Process.Pid
}

// policies are the policies that heldcall is measured with. A tool that is allowed by
// its name streams; under a default of allow, calls of path and shell tools are
// compared with the list of secrets, and so held until they are complete. A tool that is
// allowed by a pattern is held until the call is judged.
var policies = map[string]string{
	"allow": "default: allow\nrules: [{allow: [read_file, bash]}, {ask: [deploy]}]\n",
	"ask":   "default: ask\n",
	"wait":  "default: ask\nrules: [{ask: [\"*\"], timeout: 24h}]\n",
	"judge": "default: ask\ntools: {read_file: {resource: path, as: path}}\nrules: [{allow: [\"read_file(./src/**)\", \"read_file(./**/main.go)\"]}]\n",
}

// heldcallOptions configure one instance of heldcall.
type heldcallOptions struct {
	policy    string        // of policies
	keepalive time.Duration // while held
	profiles  string        // folder; empty for none
	more      string        // of the configuration
	cold      bool          // the process has had no call: see warmUp
}

// buildHeldcall builds the program from the sources of its module in a folder. With profiling, a file is laid over them that takes
// profiles on request: the program itself has no such thing.
func buildHeldcall(source, program string, profiling bool) error {
	args := []string{"build", "-buildvcs=false", "-o", program}
	if profiling {
		overlay, err := profilerOverlay(source)
		if err != nil {
			return err
		}
		defer os.RemoveAll(filepath.Dir(overlay))
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.Command("go", append(args, "./cmd/heldcall")...)
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build heldcall: %w\n%s", err, out)
	}
	return nil
}

// startHeldcall runs `heldcall serve` of a program with a configuration of its own, waits until it is ready, and warms it up. Today's and
// the base read the same configuration.
func startHeldcall(name, program, dir, upstreamAddr string, o heldcallOptions) (*hop, error) {
	dir, err := os.MkdirTemp(dir, name+"-"+o.policy+"-")
	if err != nil {
		return nil, fmt.Errorf("heldcall's folder: %w", err)
	}
	addrs, err := fakemodel.FreeAddresses(3)
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf(`proxy:
  listen: %s
  upstreams:
    - {prefix: /v1, url: "http://%s/v1", api_key: sk-bench}
  keepalive: %s
console: {listen: "%s"}
nats: {listen: "%s", dir: "%s"}
policy: {file: "%s"}
log: {level: warn}
%s`, addrs[0], upstreamAddr, o.keepalive, addrs[1], addrs[2], filepath.Join(dir, "data"), filepath.Join(dir, "policy.yaml"), o.more)
	configFile := filepath.Join(dir, "heldcall.yaml")
	err = errors.Join(
		os.WriteFile(configFile, []byte(config), 0o600),
		os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(policies[o.policy]), 0o600),
	)
	if err != nil {
		return nil, fmt.Errorf("write heldcall's configuration: %w", err)
	}
	cmd := exec.Command(program, "serve", "--config", configFile)
	cmd.Dir, cmd.Env = dir, os.Environ()
	h := &hop{name: name, addr: addrs[0], consoleURL: "http://" + addrs[1], natsURL: "nats://" + addrs[2], logFile: filepath.Join(dir, "log")}
	h.process = &process{name: name, addr: addrs[0], cmd: cmd}
	if o.profiles != "" {
		h.profiles = &profiles{dir: filepath.Join(o.profiles, name), prefix: filepath.Join(dir, "profile")}
		cmd.Env = append(cmd.Env, profileEnv+"="+h.profiles.prefix)
	}
	if h.console, err = client.New(h.consoleURL); err != nil {
		return nil, fmt.Errorf("heldcall's console: %w", err)
	}
	if err := h.launch(); err != nil {
		return nil, err
	}
	if err := h.waitReady(); err != nil {
		h.stop()
		return nil, fmt.Errorf("heldcall is not ready: %w\n%s", err, tail(h.logFile))
	}
	err = h.profiles.started(h)
	if err == nil && !o.cold {
		err = h.warmUp()
	}
	if err != nil {
		h.stop()
		return nil, err
	}
	return h, nil
}

// launch starts heldcall's program, again if it has ended, with the same arguments.
func (h *hop) launch() error {
	log, err := os.OpenFile(h.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("heldcall's log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(h.cmd.Path, h.cmd.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = h.cmd.Dir, h.cmd.Env, log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start heldcall: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // stop asks for its end, not for its exit code
	}()
	h.cmd, h.exited = cmd, exited
	if h.profiles != nil {
		h.profiles.taken = 0
	}
	return nil
}

// waitReady polls the console for at most a minute.
func (h *hop) waitReady() error {
	var last error
	for range 600 {
		select {
		case <-h.exited:
			return errors.New("it ended")
		case <-time.After(100 * time.Millisecond):
		}
		if last = h.console.Ready(context.Background()); last == nil {
			return nil
		}
	}
	return last
}

// metric reads one of heldcall's metrics without labels.
func (h *hop) metric(name string) (float64, error) {
	answer, err := http.Get(h.consoleURL + "/metrics")
	if err != nil {
		return 0, fmt.Errorf("read heldcall's metrics: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, fmt.Errorf("read heldcall's metrics: %w", err)
	}
	for line := range bytes.Lines(text) {
		if value, found := bytes.CutPrefix(line, []byte(name+" ")); found {
			return strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
		}
	}
	return 0, fmt.Errorf("heldcall has no metric %s", name)
}
