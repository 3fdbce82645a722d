//go:build !race

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/grants"
	"github.com/heldcall/heldcall/approvals/secrets"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Each script in testdata runs heldcall as people do. Beside testscript's own commands there are
//
//	gate FILE...    start a gate with a console and ask each FILE, a request in
//	                JSON; sets HELDCALL_CONSOLE, ID1, ID2..., SHORT1... as lists show
//	                them, and for each the shortest BEGIN and END that no other has, of 4 characters or
//	                more; ALIKE is what all begin with
//	exits CODE CMD  run CMD, which must exit with CODE
//	eventually CMD  run CMD until it succeeds, for a while
//
// and PORT1 to PORT3, ports that are free, and ESC, the escape character. CMD is
//
//	heldcall ARG...      heldcall in the process of the test, without standard input
//	exec PROGRAM ARG...  a process, also of heldcall
//
// Commands have a process of their own where they serve, heed signals, start programs, read standard
// input or end the process themselves, as --help does. Each of these takes 0.05 s of CPU time only to
// start, and 0.2 s with the race detector: the scripts run without it. serve, run, demo, watch, approve
// and answer have other tests, with it.
//
// No other test runs at the same time: commands in this process change its environment and folder.
func TestScripts(t *testing.T) {
	letHangUp(t)
	scripts, err := filepath.Abs("testdata") // from any folder
	if err != nil {
		t.Fatal(err)
	}
	p := &process{variables: variablesOfScripts(t)}
	path := os.Getenv("PATH") // which a command in this process may have changed when a script is set up
	testscript.Run(t, testscript.Params{
		Dir: scripts,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", path)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("ESC", "\x1b")
			env.Setenv("GOGC", "400") // a fifth of what a heldcall costs that lives for a second
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			free, err := fakemodel.FreeAddresses(3)
			for i, address := range free {
				_, port, _ := net.SplitHostPort(address)
				env.Setenv(fmt.Sprintf("PORT%d", i+1), port)
			}
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gate": startGate, "exits": p.exits, "eventually": p.eventually,
		},
	})
}

// process runs commands in the process of the test, which has one environment and one folder: one
// command runs at a time.
type process struct {
	mu        sync.Mutex
	variables []string // that a command may see
}

// variablesOfScripts returns the names of the variables that a script has from testscript, from
// TestScripts and startGate, or sets itself.
func variablesOfScripts(t *testing.T) []string {
	names := []string{"PATH", "HOME", "TMPDIR", "NO_COLOR", "XDG_STATE_HOME", "HELDCALL_CONSOLE", "PORT1", "PORT2", "PORT3"}
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		content, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, assignment := range regexp.MustCompile(`(?m)^env (\w+)=`).FindAllSubmatch(content, -1) {
			names = append(names, string(assignment[1]))
		}
	}
	return names
}

// heldcall runs heldcall with the environment and in the folder of a script, and returns its exit code.
func (p *process) heldcall(ts *testscript.TestScript, args []string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	folder, err := os.Getwd()
	ts.Check(err)
	environment := os.Environ()
	defer func() {
		os.Clearenv()
		for _, entry := range environment {
			name, value, _ := strings.Cut(entry, "=")
			ts.Check(os.Setenv(name, value))
		}
		ts.Check(os.Chdir(folder))
	}()
	os.Clearenv()
	for _, name := range p.variables {
		if value := ts.Getenv(name); value != "" {
			ts.Check(os.Setenv(name, value))
		}
	}
	ts.Check(os.Chdir(ts.MkAbs(".")))
	ts.Check(os.Setenv("PWD", ts.MkAbs(".")))
	return execute(context.Background(), args, &streams{strings.NewReader(""), ts.Stdout(), ts.Stderr()}, newHangups())
}

// run runs a command of [process.exits] or [process.eventually], and returns its exit code.
func (p *process) run(ts *testscript.TestScript, command []string) int {
	if command[0] == "heldcall" {
		return p.heldcall(ts, command[1:])
	}
	if command[0] != "exec" || len(command) < 2 {
		ts.Fatalf("%s: want heldcall ARG... or exec PROGRAM ARG...", strings.Join(command, " "))
	}
	err := ts.Exec(command[1], command[2:]...)
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return failed.ExitCode()
	}
	ts.Check(err)
	return 0
}

func (p *process) exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if code := p.run(ts, args[1:]); code != want {
		ts.Fatalf("the exit code is %d, want %d", code, want)
	}
}

func (p *process) eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: eventually COMMAND ARG...")
	}
	for deadline := time.Now().Add(soon); p.run(ts, args) != 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not succeed", strings.Join(args, " "))
		}
	}
}

// startGate runs the real gate with the real store and the real console.
func startGate(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: gate FILE...")
	}
	ctx, cancel := context.WithCancel(context.Background())
	s, err := store.Open(ctx, store.Options{Dir: ts.MkAbs("gate-data"), Listen: "-"})
	ts.Check(err)
	book := grants.New(grants.Options{Store: s.ForGrants(), Judge: anyGrant{}})
	kept, err := secrets.New(secrets.Options{Store: s.Secrets, KeyFile: ts.MkAbs("secrets.key")})
	ts.Check(err)
	gate := gate.New(gate.Options{Store: s.ForGate(), Grants: book, Conceal: kept.Conceal})
	ran := make(chan error, 2)
	go func() { ran <- book.Run(ctx) }()
	go func() { ran <- gate.Run(ctx) }()
	<-book.Ready()
	<-gate.Ready()
	server, err := console.New(console.Options{Listen: "127.0.0.1:0", Gate: gate, Signals: gate.Signals(), Grants: book})
	ts.Check(err)
	ts.Check(server.Start())
	ts.Defer(func() {
		ts.Check(server.Shutdown(context.Background()))
		cancel()
		ts.Check(errors.Join(<-ran, <-ran))
		ts.Check(s.Close())
	})
	ts.Setenv("HELDCALL_CONSOLE", "http://"+server.Addr())

	ids := make([]string, len(args))
	for i, file := range args {
		var r approvals.Request
		content := os.Expand(ts.ReadFile(file), func(name string) string { return hostile[name] })
		ts.Check(json.Unmarshal([]byte(content), &r))
		hold, err := gate.Open(ctx, []approvals.Request{r})
		ts.Check(err)
		ids[i] = hold.Requests()[0].ID
	}
	for i, id := range ids {
		begin, end := 4, 4
		for j, other := range ids {
			for j != i && strings.HasPrefix(other, id[:begin]) {
				begin++
			}
			for j != i && strings.HasSuffix(other, id[len(id)-end:]) {
				end++
			}
		}
		number := strconv.Itoa(i + 1)
		ts.Setenv("ID"+number, id)
		ts.Setenv("SHORT"+number, approvals.ShortID(id))
		ts.Setenv("BEGIN"+number, strings.ToLower(id[:begin]))
		ts.Setenv("END"+number, strings.ToLower(id[len(id)-end:]))
	}
	ts.Setenv("ALIKE", ids[0][:4])
}

// anyGrant is a policy that takes every grant and covers every call of the tools
// that its patterns begin with.
type anyGrant struct{}

func (anyGrant) CheckGrant(g approvals.Grant, r *approvals.Request) (approvals.Grant, error) {
	if g.Scope == "" {
		g.Scope = approvals.GrantUser
	}
	if r != nil && len(g.Patterns) == 0 {
		g.Patterns = r.SuggestedPatterns[:1]
	}
	return g, nil
}

func (a anyGrant) GrantCovers(g approvals.Grant) func(approvals.Event) bool {
	return func(e approvals.Event) bool { return a.GrantIsFor(g, e.ToolName) }
}

func (anyGrant) GrantIsFor(g approvals.Grant, tool string) bool {
	return strings.HasPrefix(g.Patterns[0], tool)
}

// hostile is text that must not reach a terminal as it is; a script's file
// cannot hold it legibly.
var hostile = map[string]string{
	"CLEAR": `\u001b[2J`,
	"BIDI":  "\u202e",
	"ZERO":  "\u200b",
	"CSI":   "\u009b",
}
