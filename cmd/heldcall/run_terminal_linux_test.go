package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Issue 12, number 34: while the command draws on the terminal nothing is written there;
// held calls are in the log and in a notification, without arguments. A command that
// only reads lines leaves the terminal to heldcall's lines.
func TestRunOnATerminal(t *testing.T) {
	t.Parallel()
	for _, drawing := range []bool{true, false} {
		r, _ := alone(t, func(r *fakemodel.Request) fakemodel.Reply {
			if strings.Contains(string(r.Body), `"role":"tool"`) {
				return fakemodel.Answer{Text: "Understood."}.Reply(r)
			}
			return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"command":"ls sesame"}`}}}.Reply(r)
		})
		r.write("policy.yaml", "rules: [{ask: [bash], timeout: 1s}]")
		r.write("notify-send", "#!/bin/sh\necho \"$@\" >>"+r.folder+"/shown\nenv >>"+r.folder+"/shown\n")
		if err := os.Chmod(filepath.Join(r.folder, "notify-send"), 0o700); err != nil {
			t.Fatal(err)
		}
		r.environment = append(r.environment, "PATH="+r.folder+":"+os.Getenv("PATH"))
		script := `asks-model '` + bashTool + `' >/dev/null`
		if drawing {
			script = "stty raw; " + script
		}
		keyboard, terminal := openTerminal(t)
		run := r.command(nil, "sh", "-c", script)
		run.Stdin, run.Stdout, run.Stderr = terminal, terminal, terminal
		run.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		terminal.Close()
		shown, _ := io.ReadAll(keyboard) // EIO after the other end is closed
		if err := run.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, shown)
		}
		keyboard.Close()
		state := launch.StateFolder(func(string) (string, bool) { return filepath.Join(r.folder, "state"), true }, r.folder)
		log, err := os.ReadFile(filepath.Join(state, "heldcall.log"))
		if err != nil {
			t.Fatal(err)
		}
		screen := string(shown)
		if !strings.Contains(screen, "heldcall: the log is in "+state+"/heldcall.log") || !strings.Contains(screen, "/#token=") || strings.Contains(screen, "level=") {
			t.Errorf("drawing %t: the terminal has\n%s", drawing, screen)
		}
		if !strings.Contains(string(log), `msg="call held" tool=bash`) || !strings.Contains(string(log), `msg="call expired" tool=bash`) {
			t.Errorf("drawing %t: the log has\n%s", drawing, log)
		}
		for _, line := range []string{"held  bash  ls sesame   ", "expired  bash  no decision in time   heldcall show "} {
			if strings.Contains(screen, line) == drawing {
				t.Errorf("drawing %t: %q: the terminal has\n%s", drawing, line, screen)
			}
		}
		notified, err := os.ReadFile(filepath.Join(r.folder, "shown"))
		if drawing != (err == nil) || (drawing && !strings.Contains(string(notified), "heldcall bash: Reads sesame\n")) {
			t.Errorf("drawing %t: the desktop shows %q, %v", drawing, notified, err)
		}
		if drawing && !strings.Contains(screen, "\x1b]2;heldcall: 1 call held\x1b\\\a\x1b]2;\x1b\\\x1b[23;2t") {
			t.Errorf("the terminal has no signs:\n%q", screen)
		}
		if text := string(log) + string(notified); strings.Contains(text, "ls sesame") || strings.Contains(text, modelKey) {
			t.Errorf("drawing %t: arguments or keys are in\n%s", drawing, text)
		}
	}
}
