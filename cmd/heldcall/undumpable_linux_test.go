package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Finding 7 (control side): the command read the token of a reviewer and the model's
// key in /proc/$PPID/environ. Root reads everything, so this runs as nobody.
func TestCommandCannotReadHeldcallsEnvironment(t *testing.T) {
	t.Parallel()
	r, _ := alone(t, func(r *fakemodel.Request) fakemodel.Reply { return fakemodel.Answer{Text: "Fine."}.Reply(r) })
	run := r.command(nil, "asks-model")
	if os.Getuid() == 0 {
		const nobody = 65534
		run.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		program, err := exec.LookPath("heldcall")
		if err != nil {
			t.Fatal(err)
		}
		for _, folder := range []string{filepath.Dir(program), r.folder} { // with those around it
			for ; len(folder) > len(os.TempDir()); folder = filepath.Dir(folder) {
				if err := os.Chmod(folder, 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, name := range []string{".", "heldcall.yaml"} {
			if err := os.Chown(filepath.Join(r.folder, name), nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s", err, r.err.String())
	}
	if !strings.Contains(r.out.String(), "environment of heldcall: 0 bytes, readable: false\n") {
		t.Errorf("the command reads heldcall's environment:\n%s", r.out.String())
	}
}
