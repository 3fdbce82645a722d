package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/sync/errgroup"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/intercept/hooks"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// hookInputs are events of all clients about one call of a shell.
var hookInputs = map[string]string{
	"claude-code": `{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"make all"},"tool_use_id":"toolu_1"}`,
	"codex":       `{"session_id":"s","turn_id":"t","cwd":"/w","hook_event_name":"PreToolUse","model":"m","tool_name":"Bash","tool_input":{"command":"make all"},"tool_use_id":"call_1"}`,
	"copilot":     `{"sessionId":"s","timestamp":1,"cwd":"/w","toolName":"bash","toolArgs":{"command":"make all"}}`,
	"cursor":      `{"conversation_id":"s","hook_event_name":"preToolUse","tool_name":"Shell","tool_input":{"command":"make all"},"tool_use_id":"t1"}`,
	"gemini":      `{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"make all"}}`,
}

// hookResult is the end of a hook's process.
type hookResult struct {
	exit           int
	stdout, stderr string
}

// runs applies the documented contract of a client to the end of its hook: would it run the tool?
func (r hookResult) runs(form string) bool {
	out := strings.TrimSpace(r.stdout)
	valid := gjson.Valid(out) && strings.HasPrefix(out, "{")
	specific := gjson.Get(out, "hookSpecificOutput")
	switch form {
	case "claude-code": // exit 2 blocks, other codes do not; a denial in JSON blocks
		return r.exit != 2 && !(r.exit == 0 && valid && specific.Get("permissionDecision").String() == "deny")
	case "codex": // exit 2 needs a text, a denial a reason, and unknown fields are an error after which the call runs
		if r.exit == 2 {
			return strings.TrimSpace(r.stderr) == ""
		}
		return !(r.exit == 0 && valid && specific.Get("permissionDecision").String() == "deny" && specific.Get("permissionDecisionReason").String() != "")
	case "copilot": // any other exit code blocks
		return r.exit == 0 && (!valid || gjson.Get(out, "permissionDecision").String() != "deny")
	case "cursor": // exit 2 blocks
		return r.exit != 2 && (!valid || gjson.Get(out, "permission").String() != "deny")
	case "gemini": // without any text it runs
		text := out
		if text == "" {
			text = strings.TrimSpace(r.stderr)
		}
		if gjson.Valid(text) && strings.HasPrefix(text, "{") {
			decision := gjson.Get(text, "decision").String()
			return decision != "deny" && decision != "block"
		}
		return text == "" || r.exit < 2
	}
	panic("no contract of " + form)
}

// hookIn runs a hook in this process.
func hookIn(t *testing.T, form, input string, args ...string) hookResult {
	t.Helper()
	var out, err bytes.Buffer
	code, isHook := askHook(append([]string{"hook", form}, args...), &streams{strings.NewReader(input), &out, &err})
	if !isHook {
		t.Fatalf("hook %s is not answered", form)
	}
	return hookResult{code, out.String(), err.String()}
}

// Whatever happens to heldcall or to the hook, no client runs the call.
func TestHookIsClosed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	allowed := hooks.Answer{Allow: true}
	type server func(w http.ResponseWriter, r *http.Request)
	nonce := func(r *http.Request) string { return r.Header.Get(hooks.HeaderNonce) }
	text := func(status int, body string) server {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = io.WriteString(w, body) }
	}
	var yes string
	servers := map[string]server{
		"empty":           text(200, ""),
		"no content":      text(204, ""),
		"an empty object": text(200, "{}"),
		"a page":          text(200, "<html>Sign in</html>"),
		"an error":        text(500, "no"),
		"allowed but 500": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			_, _ = w.Write(allowed.Encode(nonce(r), nil))
		},
		"of the client": text(200, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"},"permission":"allow","decision":"allow","permissionDecision":"allow"}`),
		"another nonce": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(allowed.Encode("another", nil)) },
		"cut":           func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(allowed.Encode(nonce(r), nil)[:40]) },
		"two": func(w http.ResponseWriter, r *http.Request) {
			for range 2 {
				_, _ = w.Write(allowed.Encode(nonce(r), nil))
			}
		},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, yes, http.StatusTemporaryRedirect) },
		"denied": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(hooks.Answer{Reason: "no"}.Encode(nonce(r), nil))
		},
		"no reason": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"nonce":"`+nonce(r)+`","decision":"deny","arguments":"","reason":"","proof":""}`)
		},
		"gone": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"gone within": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write(allowed.Encode(nonce(r), nil))
			panic(http.ErrAbortHandler)
		},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 64<<10)); err != nil {
					return
				}
			}
		},
		"slow": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"slow within": func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(allowed.Encode(nonce(r), nil)[:10])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	}
	quiet := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(allowed.Encode(nonce(r), nil)) }))
	t.Cleanup(quiet.Close)
	yes = quiet.URL + hooks.Path + "codex"
	stopped, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, and no program answers, as after SIGSTOP
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped.Close() })
	away, err := fakemodel.FreeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("the key of an agent\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	faults := map[string][]string{
		"away":              {"--url", "http://" + away[0]},
		"stopped":           {"--url", "http://" + stopped.Addr().String(), "--timeout", "40ms"},
		"no run":            nil,
		"only a run":        {"--running"},
		"an unknown flag":   {"--url", quiet.URL, "--allow"},
		"an argument":       {"--url", quiet.URL, "all"},
		"a bad time-out":    {"--url", quiet.URL, "--timeout", "soon"},
		"no value":          {"--url"},
		"no key":            {"--url", quiet.URL, "--key-file", key + "s"},
		"an unproved key":   {"--url", quiet.URL, "--key-file", key},
		"a bad address":     {"--url", "heldcall"},
		"an address, path":  {"--url", quiet.URL + "/v1"},
		"an address, login": {"--url", strings.Replace(quiet.URL, "://", "://u:p@", 1)},
	}
	for name, handler := range servers {
		server := httptest.NewServer(http.HandlerFunc(handler))
		server.Config.ErrorLog = nil
		t.Cleanup(server.CloseClientConnections)
		faults["answer "+name] = []string{"--url", server.URL, "--timeout", map[bool]string{true: "60ms", false: "30s"}[strings.HasPrefix(name, "slow") || name == "endless"]}
	}
	var count atomic.Int32
	var calls errgroup.Group
	calls.SetLimit(32)
	try := func(name, form, input string, args ...string) {
		calls.Go(func() error {
			count.Add(1)
			if r := hookIn(t, form, input, args...); r.runs(form) {
				t.Errorf("%s, %s: the client runs the call: %+v", form, name, r)
			}
			return nil
		})
	}
	for form, input := range hookInputs {
		for range 5 {
			for name, args := range faults {
				try(name, form, input, args...)
			}
			for name, bad := range map[string]string{"empty": "", "no JSON": "hello", "cut": input[:len(input)-2], "another event": strings.NewReplacer("PreToolUse", "Stop", "preToolUse", "stop", "BeforeTool", "AfterTool", "toolName", "prompt").Replace(input)} {
				try("input "+name, form, bad, "--url", quiet.URL)
				try("input "+name, form, bad, "--url", quiet.URL)
			}
		}
		if r := hookIn(t, form, input, "--url", quiet.URL); !r.runs(form) {
			t.Errorf("%s: an allowed call does not run: %+v", form, r)
		}
	}
	_ = calls.Wait() // they return no errors
	if n := count.Load(); n < 900 {
		t.Errorf("only %d calls were made", n)
	}
}

// brokenPipe is an output that was closed.
type brokenPipe struct{}

func (brokenPipe) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, syscall.EPIPE
}

// stuck is an input that never ends, or a panic.
type stuck struct{ panics bool }

func (s stuck) Read([]byte) (int, error) {
	if s.panics {
		panic("a fault")
	}
	select {}
}

// The hook itself may fail: its input does not end, its output is closed, it panics, or it is stopped.
func TestHookFailsClosed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for form, input := range hookInputs {
		var out, err bytes.Buffer
		code, _ := askHook([]string{"hook", form, "--timeout=30ms"}, &streams{stuck{}, &out, &err})
		if r := (hookResult{code, out.String(), err.String()}); r.runs(form) {
			t.Errorf("%s, an endless input: %+v", form, r)
		}
		out.Reset()
		err.Reset()
		code, _ = askHook([]string{"hook", form}, &streams{stuck{panics: true}, &out, &err})
		if r := (hookResult{code, out.String(), err.String()}); r.runs(form) || !strings.Contains(r.stdout+r.stderr, "internal error") {
			t.Errorf("%s, a panic: %+v", form, r)
		}
		err.Reset()
		code, _ = askHook([]string{"hook", form}, &streams{strings.NewReader(input), brokenPipe{}, &err})
		if r := (hookResult{code, "", err.String()}); r.runs(form) {
			t.Errorf("%s, a closed output: %+v", form, r)
		}
		signals := make(chan os.Signal, 1)
		signals <- syscall.SIGTERM
		q := &hookQuestion{form: hooks.Of(form), timeout: soon, began: time.Now(), lookup: os.LookupEnv}
		o := q.answer([]string{"hook", form}, &streams{stuck{}, io.Discard, io.Discard}, signals)
		if r := (hookResult{o.Exit, string(o.Stdout), string(o.Stderr)}); r.runs(form) {
			t.Errorf("%s, SIGTERM: %+v", form, r)
		}
	}
}

// Variables count only where the server proves that it knows the key, and the key goes to no other.
func TestHookEnvironment(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	var seen []string
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.URL.String()+fmt.Sprint(r.Header)+string(body))
		_, _ = w.Write(hooks.Answer{Allow: true}.Encode(r.Header.Get(hooks.HeaderNonce), nil))
	}))
	t.Cleanup(thief.Close)
	t.Setenv("HTTP_PROXY", thief.URL)
	t.Setenv("HELDCALL_URL", thief.URL)
	if r := hookIn(t, "codex", hookInputs["codex"]); r.runs("codex") || len(seen) > 0 {
		t.Errorf("without a key: %+v, %q", r, seen)
	}
	t.Setenv("HELDCALL_KEY", "sesame of an agent")
	if r := hookIn(t, "codex", hookInputs["codex"]); r.runs("codex") || !strings.Contains(r.stderr, "prove") {
		t.Errorf("with a key: %+v", r)
	}
	if all := strings.Join(seen, "\n"); strings.Contains(all, "sesame") || strings.Contains(all, "make all") {
		t.Errorf("the server without the key got %s", all)
	}
	before := len(seen)
	if r := hookIn(t, "codex", hookInputs["codex"], "--running"); r.runs("codex") || len(seen) > before {
		t.Errorf("--running: %+v, %q", r, seen[before:])
	}
}

// hookedApp is a heldcall whose agents have keys.
func hookedApp(t *testing.T, policy string) *running {
	t.Helper()
	model, err := fakemodel.New(func(*fakemodel.Request) fakemodel.Reply { panic("the model is asked") })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	c := app.DefaultConfig(func(string) (string, bool) { return "", false })
	c.Proxy.Listen, c.Console.Listen, c.NATS.Listen, c.NATS.Dir = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", filepath.Join(t.TempDir(), "data")
	c.Proxy.Upstreams = []app.Upstream{{Prefix: "/v1", URL: model.URL()}}
	c.Proxy.Clients = []app.Client{{Key: "sesame of an agent", User: "ada", Agent: "hooked"}}
	c.Policy.File, c.Policy.FileNamed = filepath.Join(t.TempDir(), "policy.yaml"), true
	if err := os.WriteFile(c.Policy.File, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := start(t.Context(), app.Options{Config: c, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(held.stop)
	return held
}

// The program asks heldcall, as a client starts it: with the identity of its key, and until its deadline.
func TestHookProgram(t *testing.T) {
	held := hookedApp(t, "default: ask\nrules:\n  - allow: [\"Bash(ls *)\"]\n")
	console, err := client.New(held.ConsoleURL())
	if err != nil {
		t.Fatal(err)
	}
	run := func(form, input, key string, args ...string) hookResult {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		cmd := exec.CommandContext(ctx, "heldcall", append([]string{"hook", form}, args...)...)
		cmd.Env = append(os.Environ(), "HELDCALL_URL=http://"+held.ProxyAddr(), "HELDCALL_KEY="+key, "XDG_STATE_HOME="+t.TempDir(), noExitSleep)
		cmd.Stdin = strings.NewReader(input)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		return hookResult{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	}
	const key = "sesame of an agent"
	for form, input := range hookInputs {
		if r := run(form, input, key, "--timeout", "1s"); r.runs(form) || !strings.Contains(r.stdout+r.stderr, "Not decided yet") {
			t.Errorf("%s, not decided: %+v", form, r)
		}
		page, err := console.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending})
		if err != nil || len(page.Items) != 1 || page.Items[0].Principal.Agent != "hooked" {
			t.Fatalf("%s: %+v, %v", form, page.Items, err)
		}
		d := approvals.Decision{RequestID: page.Items[0].ID, Action: approvals.ActionModifyArgs, ModifiedArgs: json.RawMessage(`{"command":"make test"}`)}
		if _, err := console.Decide(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if r := run(form, input, key); !r.runs(form) || !strings.Contains(r.stdout, `{"command":"make test"}`) {
			t.Errorf("%s, edited: %+v", form, r)
		}
		if r := run(form, input, "another"); r.runs(form) {
			t.Errorf("%s, a wrong key: %+v", form, r)
		}
	}
	if r := run("codex", strings.Replace(hookInputs["codex"], "make all", "ls -l", 1), key); !r.runs("codex") || r.stdout != "" || r.exit != 0 {
		t.Errorf("an allowed call: %+v", r)
	}
}

// A server that passes the question for the proof on to heldcall, with the host that the command has asked, does not get
// the key.
func TestHookRelay(t *testing.T) {
	held := hookedApp(t, "default: deny\n")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	const key = "sesame of an agent"
	var sent http.Header
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == hooks.ProofPath {
			ask, _ := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://"+held.ProxyAddr()+r.URL.RequestURI(), nil)
			ask.Host = r.Host
			answer, err := http.DefaultClient.Do(ask)
			if err != nil {
				return
			}
			defer answer.Body.Close()
			w.WriteHeader(answer.StatusCode)
			_, _ = io.Copy(w, answer.Body)
			return
		}
		sent = r.Header
		_, _ = w.Write(hooks.Answer{Allow: true}.Encode(r.Header.Get(hooks.HeaderNonce), []byte("not its digest")))
	}))
	t.Cleanup(thief.Close)
	t.Setenv("HELDCALL_URL", thief.URL)
	t.Setenv("HELDCALL_KEY", key)
	r := hookIn(t, "codex", hookInputs["codex"])
	if sent == nil || strings.Contains(fmt.Sprint(sent), key) {
		t.Errorf("the relay got %v", sent)
	}
	if r.runs("codex") {
		t.Errorf("a call that heldcall denies runs: %+v", r)
	}
}
