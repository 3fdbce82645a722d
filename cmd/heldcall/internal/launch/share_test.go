package launch

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/internal/sanitize"
)

func TestLabel(t *testing.T) {
	home := func(name string) (string, bool) { return "/home/ann", name == "HOME" }
	for _, tt := range []struct {
		command, folder, want string
	}{
		{"claude", "/home/ann/src/shop", "claude ~/src/shop"},
		{"/usr/bin/Codex.EXE", "/srv/x", "codex /srv/x"},
		{"claude", "/home/ann", "claude /home/ann"},
		{"claude", "/home/anna/x", "claude /home/anna/x"},
		{"a\nb", "/x\x1b[2J", `a\x0ab /x\x1b[2J`},
		{"a", "/x" + strings.Repeat(" ", 30) + "\u200by", `a /x⟨30 spaces⟩\u200by`},
	} {
		if got := label([]string{tt.command}, tt.folder, home); got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.command, tt.folder, got, tt.want)
		}
		if got := sanitize.Line(tt.want); got != tt.want { // a heldcall that runs refuses it
			t.Errorf("%q is shown as %q", tt.want, got)
		}
	}
	if got := label([]string{"x"}, "/y", func(string) (string, bool) { return "", false }); got != "x /y" {
		t.Errorf("without a home folder: %q", got)
	}
}

// The key of an upstream is used for an agent only if its run has the same one.
func TestKeysOfAttachedAgents(t *testing.T) {
	u := &Setup{Config: app.Config{Proxy: app.ProxyConfig{Upstreams: []app.Upstream{
		{Prefix: "/v1", URL: "https://a.example", APIKey: "sk-1"}, {Prefix: "/b", URL: "https://b.example"},
	}}}}
	u.StandIns = u.Config.StandIns()
	same := u.StandIns["sk-1"]
	for _, tt := range []struct {
		standIns []string
		want     []app.Secret
		err      string
	}{
		{[]string{same, ""}, []app.Secret{"sk-1", ""}, ""},
		{[]string{"", ""}, []app.Secret{"", ""}, ""},
		{[]string{"sk-1", ""}, nil, "it does not have the key of this terminal for https://a.example"},
		{[]string{same, same}, nil, "it does not have the key of this terminal for https://b.example"},
		{[]string{same}, nil, "its configuration has other upstreams"},
		{nil, nil, "its configuration has other upstreams"},
	} {
		upstreams, err := u.upstreamsOf(discovery.Agent{StandIns: tt.standIns, Upstreams: []string{"https://a.example", "https://b.example"}})
		var keys []app.Secret
		for _, upstream := range upstreams {
			keys = append(keys, upstream.APIKey)
		}
		if (err == nil) != (tt.err == "") || (err != nil && err.Error() != tt.err) || !cmp.Equal(keys, tt.want) {
			t.Errorf("%q: %q, %v", tt.standIns, keys, err)
		}
	}
	if _, err := u.upstreamsOf(discovery.Agent{StandIns: []string{same, ""}, Upstreams: []string{"https://a.example", "https://c.example"}}); err == nil || err.Error() != "its model is at https://b.example" {
		t.Errorf("with another address: %v", err)
	}
	for _, urls := range []string{"https://b.example https://login.example", "https://b.example"} {
		u.Config.Proxy.Upstreams[1].ChatGPT = "https://chatgpt.example"
		if _, err := u.upstreamsOf(discovery.Agent{StandIns: []string{same, ""}, Upstreams: []string{"https://a.example", urls}}); err == nil || err.Error() != "it sends logins for ChatGPT to https://chatgpt.example" {
			t.Errorf("with %s: %v", urls, err)
		}
	}
	if _, err := u.upstreamsOf(discovery.Agent{StandIns: []string{same, ""}, Upstreams: u.upstreamURLs()}); err != nil {
		t.Errorf("with its own addresses: %v", err)
	}
	if u.Config.Proxy.Upstreams[0].APIKey != "sk-1" {
		t.Error("an attached agent without a key took that of the run")
	}
}

// A run sends no key to the run to which it attaches.
func TestAgentHasNoKey(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	config := app.DefaultConfig(func(name string) (string, bool) { return "sk-secret-" + name, true })
	u, err := prepare(Options{Config: config, Command: []string{"codex"}, shared: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	agent, err := u.agent("", "v1")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append(agent.StandIns, agent.Name, agent.Policy, agent.Folder, agent.Config) {
		if strings.Contains(text, "sk-secret") || strings.Contains(text, u.Token) {
			t.Errorf("%q is sent", text)
		}
	}
	if len(agent.StandIns) != 3 || !strings.HasPrefix(agent.StandIns[0], "sk-heldcall-") || agent.Optional || !filepath.IsAbs(agent.Policy) {
		t.Errorf("the agent is %+v", agent)
	}
	var files []string
	for _, file := range u.Config.Policy.Protected {
		if strings.HasSuffix(file, filepath.FromSlash("heldcall/run")) {
			files = append(files, file)
		}
	}
	if len(files) != 1 {
		t.Errorf("the folder of sockets is not protected: %q", u.Config.Policy.Protected)
	}
}

// Runs with one configuration file share a state, except in a folder that has a state of its own.
func TestSharedFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	work := t.TempDir()
	t.Chdir(work)
	shared := func(file string, dir string) string {
		t.Helper()
		config := app.DefaultConfig(os.LookupEnv)
		if dir != "" {
			config.NATS.Dir, config.NATS.DirNamed = dir, true
		}
		folder, err := sharedFolder(&config, file)
		if err != nil {
			t.Fatal(err)
		}
		return folder
	}
	none := shared("", "")
	if none == "" || shared("a.yaml", "") == none || shared("a.yaml", "") != shared(filepath.Join(work, "a.yaml"), "") {
		t.Errorf("the folders are %q, %q", none, shared("a.yaml", ""))
	}
	if err := os.Mkdir("data", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("data", "heldcall.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := shared("", ""); got != "" {
		t.Errorf("with a state in the folder: %q", got)
	}
	if got := shared("", "elsewhere"); got != none {
		t.Errorf("with a state that is named: %q", got)
	}
}

// A run that is refused starts its own heldcall, and prints why.
func TestSettleAfterARefusal(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	o := Options{Config: app.DefaultConfig(func(string) (string, bool) { return "", false }), Command: []string{"codex"}}
	first, err := Settle(t.Context(), o, "v1", false)
	if err != nil || first.Claim == nil || first.Attached != nil || !first.Shared {
		t.Fatalf("%+v, %v", first, err)
	}
	defer first.Claim.Release()
	server, err := first.Claim.Serve(discovery.Options{About: discovery.About{Version: "v2"}, Attach: nil})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	second, err := Settle(t.Context(), o, "v1", false)
	if err != nil || second.Claim == nil || second.Attached != nil || second.Shared || second.Config.NATS.Dir == first.Config.NATS.Dir {
		t.Fatalf("%+v, %v", second, err)
	}
	defer second.Claim.Release()
	if !strings.HasPrefix(second.Notes, "heldcall: another heldcall runs, and this run starts its own: it serves its own agent only\n") {
		t.Errorf("the notes are %s", second.Notes)
	}
	third, err := Settle(t.Context(), o, "v1", true)
	if err != nil || third.Claim != nil || third.Shared {
		t.Errorf("a third one in the folder: %+v, %v", third, err)
	}
}

// A run in a home folder that cannot be written serves its own agent.
func TestSettleWithoutAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", file)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("policy.yaml", []byte("default: ask"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := app.DefaultConfig(func(string) (string, bool) { return "", false })
	config.NATS.Dir, config.NATS.DirNamed = t.TempDir(), true
	for _, alone := range []bool{false, true} {
		p, err := Settle(t.Context(), Options{Config: config, Command: []string{"codex"}}, "v1", alone)
		if err != nil || p.Claim != nil || p.Attached != nil || !strings.Contains(p.Notes, "heldcall: other runs and commands do not find this heldcall: ") {
			t.Errorf("alone %t: %+v, %v", alone, p, err)
		}
	}
}

// A path that another program sends is that of a file, wherever this process runs.
func TestPathsOfAttachedAgents(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	large := filepath.Join(dir, "large.yaml")
	for name, size := range map[string]int64{file: 10, large: 1 << 40} {
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, size)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		folder, policy string
		refused        bool
	}{
		{dir, file, false},
		{dir, filepath.Join(dir, "missing.yaml"), false}, // it may be optional
		{dir, "policy.yaml", true},
		{"work", file, true},
		{dir, dir, true},
		{dir, large, true},
		{dir, os.DevNull, true},
		{dir, "", true},
	} {
		if err := checkPaths(discovery.Agent{Folder: tt.folder, Policy: tt.policy}); (err != nil) != tt.refused {
			t.Errorf("policy %q in %q: %v", tt.policy, tt.folder, err)
		}
	}
}

// An attached run gets what it shows of an event: no arguments and no results, which may be larger than a
// line of its connection.
func TestEventsOfAttachedAgents(t *testing.T) {
	a := &attachment{name: "claude ~/b", events: make(chan discovery.Notice, 1)}
	h := NewHost(&Setup{}, slog.New(slog.DiscardHandler), func(approvals.Event, discovery.Held) { t.Error("it is shown in the terminal of the host") })
	h.attached = []*attachment{a}
	large := json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
	h.Event(approvals.Event{
		Type: approvals.EventApprovalDecision, Principal: approvals.Principal{Agent: a.name}, RequestID: "01R", Kind: approvals.KindResult, ToolName: "bash" + strings.Repeat("x", 2<<20),
		Action: approvals.ActionApprove, ReviewerID: "ann", Note: string(large), Before: large, After: large, Result: &approvals.CallResult{},
	}, &approvals.Request{ArgsPreview: string(large), Effects: []approvals.Effect{{Kind: approvals.EffectDestroy, Target: string(large)}}})
	notice := <-a.events
	if held := notice.Held; len(held.Preview) > 1000 || len(held.Heading) > 1000 || held.Preview == "" || held.Heading == "" {
		t.Errorf("the preview has %d bytes, the heading %d", len(held.Preview), len(held.Heading))
	}
	got := notice.Event
	if len(got.ToolName) > 1000 || !strings.HasPrefix(got.ToolName, "bashx") {
		t.Errorf("the name of the tool has %d bytes", len(got.ToolName))
	}
	got.ToolName = "bash"
	want := approvals.Event{Type: approvals.EventApprovalDecision, RequestID: "01R", Kind: approvals.KindResult, ToolName: "bash", Action: approvals.ActionApprove, ReviewerID: "ann"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff[:min(len(diff), 2000)])
	}
}
