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
	"strconv"
	"strings"
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

// Each script in testdata runs the real program. Beside testscript's own
// commands there are
//
//	gate FILE...    start a gate with a console and ask each FILE, a request in
//	                JSON; sets HELDCALL_CONSOLE, ID1, ID2..., SHORT1... as lists show
//	                them, and for each the shortest BEGIN and END that no other has, of 4 characters or
//	                more; ALIKE is what all begin with
//	exits CODE CMD  run CMD, which must exit with CODE
//	eventually CMD  run CMD until it succeeds, for a while
//
// and PORT1 to PORT3, ports that are free, and ESC, the escape character.
//
// The scripts start the program 480 times, which takes 0.2 s of CPU time each with the race
// detector. They run without it; serve, run, demo, watch, approve and answer have other tests,
// with it.
func TestScripts(t *testing.T) {
	t.Parallel()
	letHangUp(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			env.Setenv("ESC", "\x1b")
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			free, err := fakemodel.FreeAddresses(3)
			for i, address := range free {
				_, port, _ := net.SplitHostPort(address)
				env.Setenv(fmt.Sprintf("PORT%d", i+1), port)
			}
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gate": startGate, "exits": exits, "eventually": eventually,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed := (*exec.ExitError)(nil)
		if !errors.As(err, &failed) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("the exit code is %d, want %d", got, want)
	}
}

func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: eventually COMMAND ARG...")
	}
	deadline := time.Now().Add(soon)
	for ts.Exec(args[0], args[1:]...) != nil {
		if time.Now().After(deadline) {
			ts.Fatalf("%s did not succeed", strings.Join(args, " "))
		}
		time.Sleep(50 * time.Millisecond)
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
