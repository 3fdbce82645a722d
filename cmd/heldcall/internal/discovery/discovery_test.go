package discovery_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
)

const console = "http://127.0.0.1:4142"

// folders returns the folder of all runs, and that of one.
func folders(t *testing.T) (all, folder string) {
	t.Helper()
	base := t.TempDir()
	all = discovery.Folder(func(string) (string, bool) { return base, true })
	return all, discovery.FolderOf(all, "/work")
}

func serve(t *testing.T, folder string, o discovery.Options) *discovery.Server {
	t.Helper()
	claim, err := discovery.Take(folder)
	if err != nil || claim == nil {
		t.Fatal(claim, err)
	}
	s, err := claim.Serve(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(); claim.Release() })
	return s
}

func TestFolder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		environment map[string]string
		want        string
	}{
		{map[string]string{"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/heldcall/run"},
		{map[string]string{"XDG_STATE_HOME": "s", "HOME": "/h"}, "/h/.local/state/heldcall/run"},
		{map[string]string{"USERPROFILE": "/u"}, "/u/.local/state/heldcall/run"},
		{nil, ""},
	} {
		got := discovery.Folder(func(name string) (string, bool) { v, ok := tt.environment[name]; return v, ok })
		if got != filepath.FromSlash(tt.want) {
			t.Errorf("%v: %q, want %q", tt.environment, got, tt.want)
		}
	}
	if discovery.FolderOf("", "/work") != "" || discovery.FolderOf("/s", "/a") == discovery.FolderOf("/s", "/b") {
		t.Error("folders of runs")
	}
}

// Systems limit the names of sockets.
func TestLongNames(t *testing.T) {
	t.Parallel()
	all := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	folder := discovery.FolderOf(all, "/work")
	s, _ := host(t, folder)
	if found := discovery.List(t.Context(), all); len(found) != 1 {
		t.Fatalf("found %+v", found)
	}
	s.Close()
	if _, err := os.Stat(filepath.Join(folder, "run.sock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is there: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "heldcall*", "d")); slices.ContainsFunc(left, func(link string) bool { to, _ := os.Readlink(link); return to == folder }) {
		t.Errorf("links are left: %q", left)
	}
}

// A proof is valid only for the address at which the run serves the console: a program that relays proofs
// proves nothing for its own address.
func TestProof(t *testing.T) {
	t.Parallel()
	all, folder := folders(t)
	token, hash := reviewers.NewToken()
	other, _ := reviewers.NewToken()
	_, otherHash := reviewers.NewToken()
	serve(t, folder, discovery.Options{About: discovery.About{Version: "v1", Console: console, Agents: []string{"codex ~/a"}}, Tokens: []string{otherHash, hash}})
	found := discovery.List(t.Context(), all)
	if len(found) != 1 || found[0].Console != console || !reflect.DeepEqual(found[0].Agents, []string{"codex ~/a"}) {
		t.Fatalf("found %+v", found)
	}
	if !found[0].Proves(t.Context(), token) {
		t.Error("the run does not prove its token")
	}
	if found[0].Proves(t.Context(), other) || found[0].Proves(t.Context(), "") {
		t.Error("the run proves a token that it does not know")
	}
	relay(t, discovery.FolderOf(all, "/elsewhere"), folder, "http://127.0.0.1:5555")
	for _, f := range discovery.List(t.Context(), all) {
		if f.Console != console && f.Proves(t.Context(), token) {
			t.Errorf("the program at %s gets the token", f.Console)
		}
	}
	if n := len(discovery.List(t.Context(), all)); n != 2 {
		t.Errorf("%d runs answer", n)
	}
}

// relay runs a program that names its own console and gets every proof from the true run.
func relay(t *testing.T, folder, of, console string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(folder, "run.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			question, _ := bufio.NewReader(conn).ReadString('\n')
			answer, _ := json.Marshal(map[string]any{"about": discovery.About{Version: "v1", Console: console}})
			if strings.Contains(question, "nonce") {
				if truth, err := net.Dial("unix", filepath.Join(of, "run.sock")); err == nil {
					_, _ = truth.Write([]byte(question))
					line, _ := bufio.NewReader(truth).ReadString('\n')
					answer = []byte(line)
					truth.Close()
				}
			}
			_, _ = conn.Write(append(answer, '\n'))
			conn.Close()
		}
	}()
}

// A run whose console is on another machine is not found.
func TestConsolesElsewhere(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://evil.example:4142", "http://192.0.2.1:4142", "http://me@127.0.0.1:4142", "http://127.0.0.1.evil.example", "localhost", ""} {
		all, folder := folders(t)
		serve(t, folder, discovery.Options{About: discovery.About{Console: address}})
		if found := discovery.List(t.Context(), all); len(found) != 0 {
			t.Errorf("%q is found", address)
		}
	}
}

// A process that was killed leaves its socket. The next one takes its place.
func TestStaleSocket(t *testing.T) {
	t.Parallel()
	all, folder := folders(t)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder, "run.sock")})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if found := discovery.List(t.Context(), all); len(found) != 0 {
		t.Fatalf("found %+v", found)
	}
	if _, err := discovery.Attach(t.Context(), folder, discovery.Agent{}); !errors.Is(err, discovery.ErrNoRun) {
		t.Fatalf("attached: %v", err)
	}
	serve(t, folder, discovery.Options{About: discovery.About{Console: console}})
	if found := discovery.List(t.Context(), all); len(found) != 1 {
		t.Errorf("found %+v", found)
	}
	if second, err := discovery.Take(folder); second != nil || err != nil {
		t.Errorf("a second process serves: %v", err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "run.sock": 0o600, "run.lock": 0o600} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// served is an agent that was attached.
type served struct {
	agent  discovery.Agent
	events chan discovery.Notice
	left   chan struct{}
}

func (s *served) Proxy() string                   { return "127.0.0.1:1" }
func (s *served) Events() <-chan discovery.Notice { return s.events }
func (s *served) Leave() discovery.Report {
	close(s.left)
	return discovery.Report{Requests: 3, Model: 2, Offering: 1}
}

// host serves agents, which are sent to the channel.
func host(t *testing.T, folder string) (*discovery.Server, <-chan *served) {
	agents := make(chan *served, 100)
	return serve(t, folder, discovery.Options{
		About: discovery.About{Version: "v1", Console: console, Inbox: "https://inbox.example", Agents: []string{"codex ~/a"}}, Config: "c",
		Attach: func(_ context.Context, a discovery.Agent) (discovery.Attachment, error) {
			if a.Name == "refused" {
				return nil, errors.New("no policy")
			}
			s := &served{a, make(chan discovery.Notice, 1), make(chan struct{})}
			agents <- s
			return s, nil
		},
	}), agents
}

func TestAttach(t *testing.T) {
	t.Parallel()
	all, folder := folders(t)
	s, agents := host(t, folder)
	sent := discovery.Agent{Version: "v1", Config: "c", Name: "claude ~/b", Folder: "/b", Policy: "/p", Protected: []string{"/x"}, StandIns: []string{"", "sk-1"}}
	attached, err := discovery.Attach(t.Context(), folder, sent)
	if err != nil {
		t.Fatal(err)
	}
	got := <-agents
	if !reflect.DeepEqual(got.agent, sent) || attached.Proxy != "127.0.0.1:1" || attached.Inbox != "https://inbox.example" {
		t.Errorf("attached %+v at %+v", got.agent, attached.Addresses)
	}
	if found := discovery.List(t.Context(), all); len(found) != 1 || !reflect.DeepEqual(found[0].Agents, []string{"claude ~/b", "codex ~/a"}) {
		t.Errorf("found %+v", found)
	}
	waiting, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	s.Drain(waiting)
	if s.Attached() != 1 || waiting.Err() == nil {
		t.Error("drained while an agent is attached")
	}
	got.events <- discovery.Notice{Event: approvals.Event{ToolName: "bash"}, Held: discovery.Held{Preview: "ls"}}
	var seen []string
	report, whole := attached.Events(func(e approvals.Event, held discovery.Held) {
		seen = append(seen, e.ToolName, held.Preview)
		attached.Leave()
	})
	if !whole || report != (discovery.Report{Requests: 3, Model: 2, Offering: 1}) || !reflect.DeepEqual(seen, []string{"bash", "ls"}) {
		t.Errorf("%v %+v %q", whole, report, seen)
	}
	<-got.left
	s.Drain(t.Context())
	if _, err := discovery.Attach(t.Context(), folder, sent); !errors.As(err, new(*discovery.RefusedError)) {
		t.Errorf("attached to a run that is ending: %v", err)
	}
}

// A run that ends leaves its agents, and they learn of it. An agent that dies leaves its run.
func TestAttachmentsEnd(t *testing.T) {
	t.Parallel()
	_, folder := folders(t)
	s, agents := host(t, folder)
	agent := discovery.Agent{Version: "v1", Config: "c"}
	dying, err := discovery.Attach(t.Context(), folder, agent)
	if err != nil {
		t.Fatal(err)
	}
	first := <-agents
	go dying.Events(func(approvals.Event, discovery.Held) { panic("killed") })
	dying.Leave()
	<-first.left
	lasting, err := discovery.Attach(t.Context(), folder, agent)
	if err != nil {
		t.Fatal(err)
	}
	second := <-agents
	ended := make(chan bool, 1)
	go func() { _, whole := lasting.Events(func(approvals.Event, discovery.Held) {}); ended <- whole }()
	s.Close()
	<-second.left
	if <-ended {
		t.Error("an agent that did not leave got its report as if it had")
	}
	if _, err := discovery.Attach(t.Context(), folder, agent); !errors.Is(err, discovery.ErrNoRun) {
		t.Errorf("attached to a run that has ended: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	_, folder := folders(t)
	host(t, folder)
	for _, tt := range []struct {
		agent discovery.Agent
		want  string
	}{
		{discovery.Agent{Version: "v2", Config: "c"}, "it is heldcall v1, and this one is v2"},
		{discovery.Agent{Version: "v1", Config: "d"}, "its configuration file has changed since it was started"},
		{discovery.Agent{Version: "v1", Config: "c", Name: "refused"}, "no policy"},
		{discovery.Agent{Version: "v1", Config: "c", Name: "claude\u200b ~/b"}, "the name of the agent cannot be shown"},
		{discovery.Agent{Version: "v1", Config: "c", Name: "claude\x1b[2J"}, "the name of the agent cannot be shown"},
		{discovery.Agent{Version: "v1", Config: "c", Name: strings.Repeat("x", 1<<14)}, "the name of the agent cannot be shown"},
	} {
		var refused *discovery.RefusedError
		if _, err := discovery.Attach(t.Context(), folder, tt.agent); !errors.As(err, &refused) || refused.Reason != tt.want {
			t.Errorf("%.40q: %v, want %s", tt.agent.Name, err, tt.want)
		}
	}
	_, alone := folders(t)
	serve(t, alone, discovery.Options{About: discovery.About{Version: "v1"}})
	if _, err := discovery.Attach(t.Context(), alone, discovery.Agent{Version: "v1"}); err == nil || !strings.Contains(err.Error(), "its own agent only") {
		t.Errorf("attached to a run of one agent: %v", err)
	}
}

// One run does not serve any number of agents.
func TestManyAgents(t *testing.T) {
	t.Parallel()
	_, folder := folders(t)
	host(t, folder)
	agent := discovery.Agent{Version: "v1", Config: "c"}
	var all []*discovery.Attached // in use, so that their connections are not collected as garbage
	defer func() {
		for _, a := range all {
			a.Leave()
		}
	}()
	for i := range 65 {
		a, err := discovery.Attach(t.Context(), folder, agent)
		if err == nil {
			all = append(all, a)
		}
		if (err != nil) != (i == 64) {
			t.Fatalf("agent %d: %v", i+1, err)
		}
	}
}
