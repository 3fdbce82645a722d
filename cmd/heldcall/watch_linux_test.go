package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestWatch drives the real program in a pseudo-terminal, against a served
// heldcall that holds an agent's calls: they appear, and are approved, denied with
// a note, and edited.
func TestWatch(t *testing.T) {
	t.Parallel()
	upstream, err := fakemodel.New(func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"command":"rm -r drafts"}`}}}.Reply(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	agents, console := serveForTerminal(t, upstream.URL(), "default: ask\n")

	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nprintf '{\"command\":\"ls cache\"}' >\"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := startWatch(t, console, editor)
	w.until("Nothingtoreview", "")

	answer := ask(t, agents)
	w.until("rm-rdrafts", "")
	w.until("user'smessage", "\r")
	w.answered(answer, "a", `rm -r drafts`)

	answer = ask(t, agents)
	w.until("rm-rdrafts", "")
	w.until("user'smessage", "\r")
	w.until("Reason(senttothemodel)", "d")
	w.press("\x15keep the drafts")
	w.until("Reason(senttothemodel):keepthedrafts", "")
	w.answered(answer, "\r", "Understood.")
	told := false
	for _, r := range upstream.Requests() {
		told = told || strings.Contains(string(r.Body), "keep the drafts")
	}
	if !told {
		t.Error("the model does not get the note")
	}

	answer = ask(t, agents)
	w.until("rm-rdrafts", "")
	w.until("user'smessage", "\r")
	w.still = true // it redraws after the editor has closed
	w.until("lscache", "e")
	w.answered(answer, "\r", "ls cache")
	w.quit()
	if colours := regexp.MustCompile("\x1b\\[(?:[0-9]+;)*(?:3|4|9|10)[0-7](?:;[0-9]+)*m").FindString(w.shown()); colours != "" {
		t.Errorf("with NO_COLOR it sends %q", colours)
	}
}

// serveForTerminal runs `heldcall serve` with a policy and returns where agents and reviewers
// reach it.
func serveForTerminal(t *testing.T, upstream, policy string) (agents, console string) {
	t.Helper()
	free, err := fakemodel.FreeAddresses(2)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := fmt.Sprintf("proxy: {listen: '%s', upstreams: [{prefix: /v1, url: '%s'}]}\nconsole: {listen: '%s'}\nnats: {listen: '', dir: data}\n", free[0], upstream, free[1])
	file := filepath.Join(dir, "heldcall.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := exec.Command("heldcall", "serve", "--config", file)
	serve.Dir = dir
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		if err := serve.Wait(); err != nil {
			t.Errorf("heldcall serve ends with %v", err)
		}
	})
	console = "http://" + free[1]
	c, err := client.New(console)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(soon); c.Ready(t.Context()) != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("heldcall is not ready: %v", c.Ready(t.Context()))
		}
	}
	return "http://" + free[0], console
}

// ask is an agent's request, of a session of its own if none is given; the channel gets its answer.
func ask(t *testing.T, agents string, session ...string) <-chan string {
	t.Helper()
	answer := make(chan string, 1)
	go func() {
		body := `{"model":"m","messages":[{"role":"user","content":"tidy up"}],"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}]}`
		ctx, cancel := context.WithTimeout(context.Background(), 2*soon)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, agents+"/v1/chat/completions", strings.NewReader(body))
		if err == nil {
			request.Close = true
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("X-Heldcall-Session", strings.Join(append(session, fmt.Sprint(time.Now().UnixNano()))[:1], "")) // nothing denied before counts
			if len(session) > 0 {
				request.Header.Set("X-Heldcall-Run", "run-of-"+session[0])
			}
			var response *http.Response
			if response, err = http.DefaultClient.Do(request); err == nil {
				defer response.Body.Close()
				content, readErr := io.ReadAll(response.Body)
				answer <- string(content)
				err = readErr
			}
		}
		if err != nil {
			answer <- err.Error()
		}
	}()
	return answer
}

// watched is `heldcall watch` in a pseudo-terminal.
type watched struct {
	t        *testing.T
	keyboard *os.File
	ended    chan error

	mu   sync.Mutex
	sent []byte // to the terminal
	wide bool
	// still keeps its size: Bubble Tea 2.0.9 reads the size of its terminal without a
	// lock, and opens the terminal again after an editor.
	still bool
}

func startWatch(t *testing.T, console, editor string) *watched {
	t.Helper()
	keyboard, terminal := openTerminal(t)
	w := &watched{t: t, keyboard: keyboard, ended: make(chan error, 1)}
	w.resize()
	watch := exec.Command("heldcall", "watch", "--console", console)
	watch.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=1", "VISUAL=", "EDITOR="+editor)
	watch.Stdin, watch.Stdout, watch.Stderr = terminal, terminal, terminal
	watch.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		block := make([]byte, 16<<10)
		for {
			n, err := keyboard.Read(block)
			w.mu.Lock()
			w.sent = append(w.sent, block[:n]...)
			w.mu.Unlock()
			if err != nil { // EIO after the other end is closed
				return
			}
		}
	}()
	go func() { w.ended <- watch.Wait() }()
	t.Cleanup(func() {
		_ = watch.Process.Kill() // it has ended, or the test has failed
		<-read
		keyboard.Close()
	})
	return w
}

// resize gives the terminal another width, so that the program redraws.
func (w *watched) resize() {
	w.wide = !w.wide
	size := &unix.Winsize{Row: 30, Col: 100}
	if w.wide {
		size.Col++
	}
	if err := unix.IoctlSetWinsize(int(w.keyboard.Fd()), unix.TIOCSWINSZ, size); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watched) shown() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.sent)
}

func (w *watched) press(keys string) {
	w.t.Helper()
	if _, err := io.WriteString(w.keyboard, keys); err != nil {
		w.t.Fatal(err)
	}
}

// controls are what moves the cursor or colours; blanks may be drawn by either.
var controls = regexp.MustCompile("\x1b\\[[0-9;?>=:$ ]*[a-zA-Z@`]|\x1b[()][A-Z0-9]|\x1b[=>78M]|\x1b[\\]P][^\x07\x1b]*(\x07|\x1b\\\\)|[\\s\x00-\x1f]")

// until waits until the screen shows a text, which is given without blanks, and
// presses keys until it does, where there are any.
func (w *watched) until(text, keys string) {
	w.t.Helper()
	from := len(w.shown())
	for deadline := time.Now().Add(soon); ; {
		if keys != "" {
			w.press(keys)
		}
		for range 20 {
			if !w.still {
				w.resize()
			}
			time.Sleep(50 * time.Millisecond)
			if strings.Contains(controls.ReplaceAllString(w.shown()[from:], ""), text) {
				return
			}
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the screen does not show %q:\n%q", text, w.shown()[from:])
		}
	}
}

// quit presses q, which leads to the list and out of it.
func (w *watched) quit() {
	w.t.Helper()
	for deadline := time.Now().Add(soon); ; {
		w.press("q")
		select {
		case err := <-w.ended:
			if err != nil {
				w.t.Errorf("it ends with %v", err)
			}
			return
		case <-time.After(time.Second):
		}
		if time.Now().After(deadline) {
			w.t.Fatal("it does not end")
		}
	}
}

// answered presses a key until the agent has its answer, which must have a text.
func (w *watched) answered(answer <-chan string, keys, want string) {
	w.t.Helper()
	for deadline := time.Now().Add(soon); ; {
		w.press(keys)
		select {
		case got := <-answer:
			if !strings.Contains(got, want) {
				w.t.Errorf("the agent got %s, want %s", got, want)
			}
			return
		case err := <-w.ended:
			w.t.Fatal(errors.Join(errors.New("it has ended"), err))
		case <-time.After(time.Second):
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("the agent is not answered:\n%q", w.shown())
		}
	}
}
