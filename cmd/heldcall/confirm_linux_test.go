package main

import (
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestApproveOnATerminal: the target that a request asks for is typed on the terminal.
func TestApproveOnATerminal(t *testing.T) {
	t.Parallel()
	upstream, err := fakemodel.New(func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "drop_table", Arguments: `{"name":"users"}`}}}.Reply(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	agents, address := serveForTerminal(t, upstream.URL(), "rules:\n  - ask: [drop_table]\n    confirm: type\n")
	console, err := client.New(address)
	if err != nil {
		t.Fatal(err)
	}
	answer := ask(t, agents)
	var page approvals.Page
	for deadline := time.Now().Add(soon); len(page.Items) == 0; time.Sleep(20 * time.Millisecond) {
		if page, err = console.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending}); err != nil || time.Now().After(deadline) {
			t.Fatalf("no request: %v", err)
		}
	}
	typing := func(text string) (shown string, err error) {
		keyboard, terminal := openTerminal(t)
		command := exec.Command("heldcall", "approve", page.Items[0].ID, "--console", address)
		command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
		command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		terminal.Close()
		if _, err := io.WriteString(keyboard, text+"\n"); err != nil {
			t.Fatal(err)
		}
		all, _ := io.ReadAll(keyboard) // EIO after the other end is closed
		err = command.Wait()
		keyboard.Close()
		return string(all), err
	}
	if shown, err := typing("users"); err == nil || !strings.Contains(shown, "another text was typed") {
		t.Errorf("another text: %v\n%s", err, shown)
	}
	if shown, err := typing("drop_table"); err != nil || !strings.Contains(shown, "Type drop_table to approve it: ") || !strings.Contains(shown, "approved ") {
		t.Errorf("%v\n%s", err, shown)
	}
	if got := <-answer; !strings.Contains(got, "drop_table") {
		t.Errorf("the agent got %s", got)
	}
}
