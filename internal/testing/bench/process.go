package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// process is a hop or the upstream, running as a child.
type process struct {
	name    string
	addr    string      // host:port that agents connect to
	notices chan notice // printed by the upstream after its address; nil for heldcall
	cmd     *exec.Cmd
	stdin   io.Closer // a child in a role ends when this closes
	exited  chan struct{}
}

// startRole runs this program again in a role and waits for its address.
func startRole(role, upstreamAddr string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, "-role", role, "-upstream", upstreamAddr)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", role, err)
	}
	p := &process{name: role, cmd: cmd, stdin: stdin, notices: make(chan notice, 16384), exited: make(chan struct{})}
	go p.readNotices(stdout)
	select {
	case first := <-p.notices:
		p.addr = first.Addr
	case <-time.After(10 * time.Second):
	}
	if p.addr == "" {
		p.stop()
		return nil, fmt.Errorf("start %s: it told no address", role)
	}
	return p, nil
}

// readNotices passes on the child's lines and ends with the child.
func (p *process) readNotices(stdout io.Reader) {
	defer close(p.exited)
	p.scanNotices(stdout)
	_ = p.cmd.Wait() // its exit code has no meaning: it is stopped by closing its input
}

func (p *process) scanNotices(stdout io.Reader) {
	defer close(p.notices)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var n notice
		if json.Unmarshal(lines.Bytes(), &n) == nil {
			p.notices <- n
		}
	}
}

// stop ends the child and waits for it.
func (p *process) stop() {
	if p == nil {
		return
	}
	if p.stdin != nil {
		p.stdin.Close()
	} else {
		_ = p.cmd.Process.Signal(os.Interrupt)
	}
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// waitForClosedInput ends a child in a role when its parent is gone, however that came.
func waitForClosedInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// tail gives the end of a log file, for an error.
func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(b[max(0, len(b)-2000):]))
}
