package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestAnswerOnATerminal: the value of a secret is typed on a terminal that does not show it, and
// the model reads its handle.
func TestAnswerOnATerminal(t *testing.T) {
	t.Parallel()
	const value = "ghp_R4nd0mSecret-Value/42"
	upstream, err := fakemodel.New(func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "request_env_var", Arguments: `{"message":"for the upload","fields":[{"name":"GITHUB_TOKEN","secret":true}]}`}}}.Reply(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	agents, address := serveForTerminal(t, upstream.URL(), "questions: {offer: [env_var]}\n")
	console, err := client.New(address)
	if err != nil {
		t.Fatal(err)
	}
	answer := ask(t, agents)
	var page approvals.Page
	for deadline := time.Now().Add(soon); len(page.Items) == 0; time.Sleep(20 * time.Millisecond) {
		if page, err = console.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending}); err != nil || time.Now().After(deadline) {
			t.Fatalf("no question: %v", err)
		}
	}

	keyboard, terminal := openTerminal(t)
	command := exec.Command("heldcall", "answer", page.Items[0].ID, "--field", "GITHUB_TOKEN", "--console", address)
	command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	awaitEcho(t, keyboard, false)
	if _, err := io.WriteString(keyboard, value+"\n"); err != nil {
		t.Fatal(err)
	}
	shown, _ := io.ReadAll(keyboard) // EIO after the other end is closed
	if err := command.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	keyboard.Close()
	if text := string(shown); strings.Contains(text, "R4nd0m") || !strings.Contains(text, "Value of GITHUB_TOKEN: ") || !strings.Contains(text, "answered ") {
		t.Errorf("the terminal has\n%s", text)
	}
	if got := <-answer; !strings.Contains(got, "Understood.") {
		t.Errorf("the agent got %s", got)
	}
	requests := upstream.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "secret://GITHUB_TOKEN") || strings.Contains(last, "R4nd0m") {
		t.Errorf("the model reads %s", last)
	}
}

// TestInterruptAtASecret: Ctrl-C ends a command that waits for a secret, and the terminal shows
// again what is typed.
func TestInterruptAtASecret(t *testing.T) {
	t.Parallel()
	_, address := serveForTerminal(t, "http://127.0.0.1:9/v1", "default: ask\n")
	keyboard, terminal := openTerminal(t)
	defer terminal.Close()
	command := exec.Command("heldcall", "secrets", "set", "GITHUB_TOKEN", "--user", "ann", "--console", address)
	command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	awaitEcho(t, keyboard, false)
	if _, err := io.WriteString(keyboard, "half a val\x03"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-ended:
		if failed := (*exec.ExitError)(nil); !errors.As(err, &failed) || failed.ExitCode() != exitFailed {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(soon):
		_ = command.Process.Kill()
		t.Fatal("it waits on")
	}
	awaitEcho(t, keyboard, true)
}

// awaitEcho waits until a terminal shows its input or does not.
func awaitEcho(t *testing.T, keyboard *os.File, shows bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); echoes(t, keyboard) != shows; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the terminal shows what is typed: %t", !shows)
		}
	}
}

// echoes reports whether a terminal shows its input.
func echoes(t *testing.T, keyboard *os.File) bool {
	t.Helper()
	settings, err := unix.IoctlGetTermios(int(keyboard.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return settings.Lflag&unix.ECHO != 0
}
