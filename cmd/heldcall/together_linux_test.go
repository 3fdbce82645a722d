package main

import (
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/console/client"
)

// Issue 17, number 14: a command in another terminal finds heldcall without flags, asks for the token, which the terminal
// does not show, and acts on the only pending request.
func TestCommandAsksForTheToken(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	first := p.run("one", "sh", "-c", untilGo)
	link := first.err.await(t, linkOfRun)
	second := p.run("two", "asks-model", bashTool)
	second.err.await(t, `attached to the heldcall that runs`)
	console, err := client.New(link[1])
	if err != nil {
		t.Fatal(err)
	}
	pending(t, console.WithToken(link[2]), 1)
	for _, arguments := range [][]string{{"show"}, {"approve"}} {
		keyboard, terminal := openTerminal(t)
		command := p.command("one", arguments...)
		command.Stdin, command.Stdout, command.Stderr = terminal, terminal, terminal
		command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		terminal.Close()
		for deadline := time.Now().Add(soon); echoes(t, keyboard); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the terminal shows what is typed")
			}
		}
		if _, err := io.WriteString(keyboard, link[2]+"\n"); err != nil {
			t.Fatal(err)
		}
		shown, _ := io.ReadAll(keyboard) // EIO after the other end is closed
		if err := command.Wait(); err != nil {
			t.Fatalf("%s: %v\n%s", arguments, err, shown)
		}
		keyboard.Close()
		text := string(shown)
		if !strings.Contains(text, "heldcall runs at\r\n  "+link[1]+" (asks-model ~/two, sh ~/one)\r\n") || strings.Contains(text, link[2]) {
			t.Errorf("%s: the terminal has\n%s", arguments, text)
		}
		if arguments[0] == "show" && (!strings.Contains(text, "launch-it") || !strings.Contains(text, "asks-model ~/two")) {
			t.Errorf("the request is shown as\n%s", text)
		}
	}
	second.done(t)
	if !strings.Contains(second.out.String(), "launch-it") {
		t.Errorf("the agent got\n%s", second.out.String())
	}
	p.write("go")
	first.done(t)
}
