package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// TestRunWithoutAPolicy: a command in a folder without a policy runs with the one to start from.
func TestRunWithoutAPolicy(t *testing.T) {
	t.Parallel()
	r, _ := alone(t, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"command":"ls src"}`}}}.Reply(r)
	})
	app := filepath.Join(r.folder, "app")
	if err := os.Mkdir(app, 0o755); err != nil {
		t.Fatal(err)
	}
	run := r.command([]string{"--log-file", "../log"}, "asks-model", bashTool)
	for i, arg := range run.Args {
		if arg == "heldcall.yaml" {
			run.Args[i] = "../heldcall.yaml"
		}
	}
	run.Dir = app
	if err := run.Run(); err != nil { // without a decision
		t.Fatalf("%v\n%s", err, r.err.String())
	}
	if !strings.Contains(r.out.String(), "ls src") {
		t.Errorf("the agent got\n%s", r.out.String())
	}
	for _, want := range []string{"there is no policy.yaml here, so the policy to start from applies: " + filepath.Join(r.folder, "state"), "In " + app, "run any code that an agent writes"} {
		if !strings.Contains(r.err.String(), want) {
			t.Errorf("no %q in\n%s", want, r.err.String())
		}
	}
	if _, err := os.Stat(filepath.Join(app, "policy.yaml")); err == nil {
		t.Error("the policy is in the folder of the agent")
	}
	again := r.command(nil, "asks-model", bashTool)
	again.Args, again.Dir = run.Args, app
	r.err.Reset()
	if err := again.Run(); err != nil {
		t.Fatalf("%v\n%s", err, r.err.String())
	}
	starts := []string{"heldcall: approve calls at http://", "heldcall: there is no policy.yaml here, so the policy to start from applies: ", "heldcall: the log is in "}
	lines := strings.Split(strings.TrimSuffix(r.err.String(), "\n"), "\n")
	for i, line := range lines {
		if len(lines) != len(starts) || !strings.HasPrefix(line, starts[i]) {
			t.Errorf("line %d of the second start is %q", i, line)
		}
	}
	if log := r.read("log"); !strings.Contains(log, "run any code that an agent writes") {
		t.Errorf("the log does not state what the policy lets pass:\n%s", log)
	}
}

// TestRunWithThePolicyOfTheFolder: the policy of the command's folder applies, also if the configuration is in
// another folder and names none.
func TestRunWithThePolicyOfTheFolder(t *testing.T) {
	t.Parallel()
	r, _ := alone(t, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"command":"frobnicate"}`}}}.Reply(r)
	})
	app := filepath.Join(r.folder, "app")
	if err := os.Mkdir(app, 0o755); err != nil {
		t.Fatal(err)
	}
	policy := filepath.Join(app, "policy.yaml")
	if err := os.WriteFile(policy, []byte("rules:\n  - allow: ['bash(frobnicate)']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := r.command([]string{"--log-file", "../log"}, "asks-model", bashTool)
	for i, arg := range run.Args {
		if arg == "heldcall.yaml" {
			run.Args[i] = "../heldcall.yaml"
		}
	}
	run.Dir = app
	if err := run.Run(); err != nil { // without a decision
		t.Fatalf("%v\n%s", err, r.err.String())
	}
	if !strings.Contains(r.out.String(), "frobnicate") {
		t.Errorf("the agent got\n%s", r.out.String())
	}
	if said := r.err.String(); strings.Contains(said, "there is no policy.yaml") || !strings.Contains(said, "that of this folder applies: "+policy) {
		t.Errorf("the start prints\n%s", said)
	}
}

// TestRunBesideAConfiguration: the policy to start from applies in a folder with a heldcall.yaml of the user, named or not,
// and the agent can neither read nor write that file unasked.
func TestRunBesideAConfiguration(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		r, _ := alone(t, func(r *fakemodel.Request) fakemodel.Reply {
			return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"command":"ls src"}`}, {ID: "call_2", Name: "bash", Arguments: `{"command":"echo x > heldcall.yaml"}`}}}.Reply(r)
		})
		app := filepath.Join(r.folder, "app")
		if err := os.Mkdir(app, 0o755); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(r.folder, "heldcall.yaml"))
		if err == nil {
			err = os.WriteFile(filepath.Join(app, "heldcall.yaml"), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		run := r.command([]string{"--log-file", "../log"}, "asks-model", bashTool)
		run.Dir = app
		if !named {
			run.Args[slices.Index(run.Args, "heldcall.yaml")] = "../heldcall.yaml"
		}
		if err := run.Run(); err != nil { // without a decision
			t.Fatalf("%v\n%s", err, r.err.String())
		}
		if !strings.Contains(r.out.String(), "ls src") || strings.Contains(r.out.String(), "echo x") {
			t.Errorf("named %t: the agent got\n%s", named, r.out.String())
		}
		if said := r.err.String(); !strings.Contains(said, "the policy to start from applies") {
			t.Errorf("named %t: the start prints\n%s", named, said)
		}
	}
}
