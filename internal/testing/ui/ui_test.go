//go:build ui

package ui_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/heldcall/heldcall/console/oidc"
	"github.com/heldcall/heldcall/internal/testing/fakeidp"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/testdeps"
)

var (
	shots = flag.String("shots", "", "folder that screenshots are kept in")
	only  = flag.String("only", "", "part of the names of the files that TestInbox runs")
	part  = flag.String("part", "1/1", "K/N: play only each Nth flow at the width of a phone, from the Kth on")
)

const repository = "../../.."

// TestInbox has Node run its tests, four files at a time: they wait more than they compute.
func TestInbox(t *testing.T) {
	if !regexp.MustCompile(`^[1-9]\d*/[1-9]\d*$`).MatchString(*part) {
		t.Fatalf("-part %s: want K/N, such as 1/2", *part)
	}
	dir := stage(t)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"+*only+"*.test.js"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files have %q in their names (%v)", *only, err)
	}
	node(t, append([]string{"--test", "--test-concurrency=4", "--test-reporter=spec"}, files...)...)
}

// TestArrival measures how soon a request is on the page, while many wait.
func TestArrival(t *testing.T) {
	node(t, filepath.Join(stage(t), "measure", "arrival.js"))
}

// TestList measures what the list costs the page with many requests.
func TestList(t *testing.T) {
	node(t, filepath.Join(stage(t), "measure", "list.js"))
}

// node runs a script with a heldcall to start, a model for it and a browser.
func node(t *testing.T, args ...string) {
	t.Helper()
	upstream, err := fakemodel.New(answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	addresses, err := fakemodel.FreeAddresses(2)
	if err != nil {
		t.Fatal(err)
	}
	organization, err := fakeidp.Start(addresses[0], "http://"+addresses[1]+oidc.CallbackPath)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(organization.Close)
	organization.Know("ann", fakeidp.Person{IDToken: map[string]any{"email": "ann@corp.example", "email_verified": true}})
	organization.Know("eve", fakeidp.Person{IDToken: map[string]any{"email": "eve@other.example", "email_verified": true}})
	// Node 20 and 21 keep the digits of numbers only with the flag, browsers always.
	run := exec.CommandContext(t.Context(), "node", append([]string{"--no-warnings", "--harmony-json-parse-with-source"}, args...)...)
	run.Env = append(os.Environ(), "HELDCALL="+testdeps.Heldcall(t), "UPSTREAM="+upstream.URL(), "PROVIDER="+organization.Issuer(), "PROVIDER_CONSOLE="+addresses[1],
		"PART="+*part, "SHOTS="+absolute(t, *shots), "CHROMIUM="+browser(t, "chromium"), "HEADLESS_SHELL="+browser(t, "chromium-headless-shell"))
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	if err := run.Run(); err != nil {
		t.Fatal(err)
	}
}

// answer makes the calls that the agent's request has in its metadata, once, and
// then gives its next answer, that it is done if none is named.
func answer(r *fakemodel.Request) fakemodel.Reply {
	var body struct {
		Messages []struct{ Role string }
		Metadata struct{ Text, Calls, Next string }
	}
	if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Messages) == 0 {
		return fakemodel.Fail(http.StatusBadRequest, "bad_request", "not a conversation")
	}
	if last := body.Messages[len(body.Messages)-1]; last.Role == "tool" || body.Metadata.Calls == "" {
		return fakemodel.Answer{Text: cmp.Or(body.Metadata.Next, "Understood.")}.Reply(r)
	}
	said := fakemodel.Answer{Text: body.Metadata.Text, Fragment: 1 << 20}
	if err := json.Unmarshal([]byte(body.Metadata.Calls), &said.Calls); err != nil {
		return fakemodel.Fail(http.StatusBadRequest, "bad_request", err.Error())
	}
	return said.Reply(r)
}

// stage lays out a folder with the tests, the inbox and the installed modules,
// and returns it.
func stage(t *testing.T) string {
	t.Helper()
	dir := testdeps.Scripts(t, "npm")
	if err := os.CopyFS(filepath.Join(dir, "inbox"), os.DirFS(filepath.Join(repository, "console", "inbox"))); err != nil {
		t.Fatal(err)
	}
	headings, err := os.ReadFile(filepath.Join(repository, "approvals", "testdata", "headings.json")) // which the inbox makes as Go does
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "headings.json"), headings, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// browser returns the path of a browser that has the name of its Debian package.
func browser(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("the tests need Chromium and its headless shell (Debian: apt-get install chromium chromium-headless-shell): %v", err)
	}
	return path
}

func absolute(t *testing.T, dir string) string {
	t.Helper()
	if dir == "" {
		return ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(repository, dir)
	}
	path, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(path, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
