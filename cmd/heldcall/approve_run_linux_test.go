package main

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestApproveARunOnATerminal: what waits of a run is asked question by question. A call that comes after the look waits, and one
// that was decided meanwhile does not keep the others from their decision.
func TestApproveARunOnATerminal(t *testing.T) {
	t.Parallel()
	bash := func(id, command string) fakemodel.Call {
		return fakemodel.Call{ID: id, Name: "bash", Arguments: fmt.Sprintf(`{"command":%q}`, command)}
	}
	answers := make(chan []fakemodel.Call, 2)
	answers <- []fakemodel.Call{bash("c1", "make test"), bash("c2", "make lint"), bash("c3", "touch notes.txt"), bash("c4", "git push"), bash("c5", "curl https://files.example/a")}
	answers <- []fakemodel.Call{bash("c6", "make all")}
	upstream, err := fakemodel.New(func(r *fakemodel.Request) fakemodel.Reply {
		select {
		case calls := <-answers:
			return fakemodel.Answer{Calls: calls}.Reply(r)
		default: // after a denial
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	agents, address := serveForTerminal(t, upstream.URL(), "default: ask\ntools:\n  bash: {resource: command, as: shell}\nrules:\n  - ask: ['bash(git push *)', 'bash(git push)']\n")
	console, err := client.New(address)
	if err != nil {
		t.Fatal(err)
	}
	answer := ask(t, agents, "s")
	byCommand := map[string]approvals.Request{}
	for _, r := range pending(t, console, 5) {
		byCommand[r.ArgsPreview] = r
	}
	keyboard, terminal := openTerminal(t)
	defer keyboard.Close()
	command := exec.Command("heldcall", "approve", "--run", "run-of-s", "--console", address)
	command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	var shown strings.Builder
	until := func(text string) {
		t.Helper()
		part := make([]byte, 4096)
		for from := shown.Len(); !strings.Contains(shown.String()[from:], text); {
			n, err := keyboard.Read(part)
			if err != nil {
				t.Fatalf("no %q: %v\n%s", text, err, shown.String())
			}
			shown.Write(part[:n])
		}
	}
	typed := func(text string) {
		t.Helper()
		if _, err := io.WriteString(keyboard, text+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	until("Type yes to decide these 3 calls: ")
	if want := "Runs 2 checks, fetches data in 1 call (3 calls)"; !strings.Contains(shown.String(), want) {
		t.Errorf("no heading %s:\n%s", want, shown.String())
	}
	decided := byCommand["make lint"].ID
	if _, err := console.Decide(t.Context(), approvals.Decision{RequestID: decided, Action: approvals.ActionApprove, Note: "before"}); err != nil {
		t.Fatal(err)
	}
	late := ask(t, agents, "s")
	pending(t, console, 5) // with the late one
	typed("yes")
	until("Type yes to decide this call: ")
	typed("no")
	until("Type yes to decide this call: ")
	typed("yes")
	rest, _ := io.ReadAll(keyboard) // EIO after the other end is closed
	shown.Write(rest)
	if err := command.Wait(); err == nil {
		t.Error("it exits 0, though not all calls were decided by it")
	}
	for _, want := range []string{"request " + decided + " was already approved by local", "not decided: " + byCommand["touch notes.txt"].ID + ": another text was typed"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("no %q:\n%s", want, shown.String())
		}
	}
	var left []string
	for _, r := range pending(t, console, 2) {
		left = append(left, r.ArgsPreview)
		if _, err := console.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionDeny}); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(left)
	if !slices.Equal(left, []string{"make all", "touch notes.txt"}) {
		t.Errorf("%q wait", left)
	}
	for _, channel := range []<-chan string{answer, late} {
		<-channel
	}
}
