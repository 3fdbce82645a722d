package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestClosedTerminalStopsServe: SIGHUP means another thing when the terminal of
// `heldcall serve` has closed than when somebody sends it.
func TestClosedTerminalStopsServe(t *testing.T) {
	t.Parallel()
	keyboard, terminal := openTerminal(t)
	letHangUp(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "heldcall.yaml")
	if err := os.WriteFile(config, []byte("proxy: {listen: '127.0.0.1:0'}\nconsole: {listen: '127.0.0.1:0'}\nnats: {listen: ''}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	serve := exec.Command("heldcall", "serve", "--config", config)
	serve.Stdin, serve.Stderr = terminal, log
	serve.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	terminal.Close()
	logged := func(text string) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			content, err := os.ReadFile(log.Name())
			if err != nil || time.Now().After(deadline) {
				_ = serve.Process.Kill()
				t.Fatalf("%q is not in the log: %s (%v)", text, content, err)
			}
			if bytes.Contains(content, []byte(text)) {
				return
			}
		}
	}
	logged("proxy ready")
	if err := serve.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	logged("there is no policy to read again")
	keyboard.Close()
	logged("msg=stopping")
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// openTerminal opens a pseudo-terminal and returns both ends.
func openTerminal(t *testing.T) (keyboard, terminal *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return keyboard, terminal
}
