//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// person is a user with two folders, whose runs have one configuration.
type person struct {
	t        *testing.T
	folder   string
	upstream *fakemodel.Server
}

// output is what a program writes, while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the output has a pattern, and returns the first match and its groups.
func (o *output) await(t *testing.T, pattern string) []string {
	t.Helper()
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(o.String()); found != nil {
			return found
		}
	}
	t.Fatalf("%s is not in\n%s", pattern, o.String())
	return nil
}

// aRun is a command of heldcall, such as `heldcall run`, and its output.
type aRun struct {
	*exec.Cmd
	out, err output
}

// newPerson makes a person with a model that calls a tool once for each agent.
func newPerson(t *testing.T) *person {
	t.Helper()
	upstream, err := fakemodel.New(func(r *fakemodel.Request) fakemodel.Reply {
		if strings.Contains(string(r.Body), `"role":"tool"`) {
			return fakemodel.Answer{Text: "Understood."}.Reply(r)
		}
		return fakemodel.Answer{Calls: []fakemodel.Call{{ID: "call_1", Name: "bash", Arguments: `{"command":"launch-it"}`}}}.Reply(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	p := &person{t: t, folder: t.TempDir(), upstream: upstream}
	for _, name := range []string{"one", "two"} {
		if err := os.Mkdir(filepath.Join(p.folder, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf(`
proxy: {listen: "127.0.0.1:0", upstreams: [{prefix: /v1, url: %q, api_key: "${OPENAI_API_KEY}"}]}
console: {listen: "127.0.0.1:0"}
nats: {listen: ""}
`, upstream.URL())
	if err := os.WriteFile(filepath.Join(p.folder, "heldcall.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// command returns a command of heldcall in a folder. It is not started.
func (p *person) command(folder string, arguments ...string) *aRun {
	r := &aRun{Cmd: exec.Command("heldcall", arguments...)}
	r.Dir, r.Stdout, r.Stderr = filepath.Join(p.folder, folder), &r.out, &r.err
	r.Env = []string{"HOME=" + p.folder, "XDG_STATE_HOME=" + filepath.Join(p.folder, "s"), "OPENAI_API_KEY=" + modelKey, "PATH=" + os.Getenv("PATH"), noExitSleep}
	return r
}

// run starts `heldcall run` in a folder.
func (p *person) run(folder string, command ...string) *aRun {
	p.t.Helper()
	r := p.command(folder, append([]string{"run", "--config", filepath.Join(p.folder, "heldcall.yaml"), "--"}, command...)...)
	if err := r.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = r.Process.Kill() })
	return r
}

// untilGo is a script that ends when the folder of the person has a file named go.
const untilGo = "until [ -e ../go ]; do sleep 0.05; done"

// write makes an empty file.
func (p *person) write(name string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, name), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// done waits for the end of a run.
func (r *aRun) done(t *testing.T) {
	t.Helper()
	if err := r.Wait(); err != nil {
		t.Errorf("%v\n%s", err, r.err.String())
	}
}

const linkOfRun = `(?m)^heldcall: approve calls at (http://127.0.0.1:\d+)/#token=(heldcall_\w+)$`

// pending returns the pending requests when there are n.
func pending(t *testing.T, console *client.Client, n int) []approvals.Request {
	t.Helper()
	var page approvals.Page
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		var err error
		if page, err = console.Requests(t.Context(), approvals.Filter{Status: approvals.StatusPending}); err != nil {
			t.Fatal(err)
		}
		if len(page.Items) == n {
			return page.Items
		}
	}
	t.Fatalf("%d requests are pending, want %d", len(page.Items), n)
	return nil
}

// Issue 17, number 14: two runs of a person have one inbox that shows both agents, each with its own policy. The
// token is in no file and not in the output of the second run. The first run stays until the second has ended.
func TestTwoRunsHaveOneInbox(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	first := p.run("one", "sh", "-c", "asks-model '"+bashTool+"'; cat >/dev/null", "first")
	link := first.err.await(t, linkOfRun)
	second := p.run("two", "asks-model", bashTool)
	second.err.await(t, `(?m)^heldcall: attached to the heldcall that runs: approve calls at `+link[1]+`$`)
	anybody, err := client.New(link[1])
	if err != nil {
		t.Fatal(err)
	}
	console := anybody.WithToken(link[2])
	requests := pending(t, console, 2)
	names := []string{requests[0].Principal.Agent, requests[1].Principal.Agent}
	slices.Sort(names)
	if want := []string{"asks-model ~/two", "sh ~/one"}; !slices.Equal(names, want) {
		t.Errorf("the agents are %q, want %q", names, want)
	}
	for _, r := range requests {
		folder := filepath.Join(p.folder, r.Principal.Agent[strings.Index(r.Principal.Agent, "~/")+2:])
		if !strings.HasSuffix(r.Details.Policy, " for "+folder) {
			t.Errorf("%s is judged by %s", r.Principal.Agent, r.Details.Policy)
		}
		if _, err := console.Decide(t.Context(), approvals.Decision{RequestID: r.ID, Action: approvals.ActionModifyArgs, ModifiedArgs: []byte(`{"command":"launch-that"}`)}); err != nil {
			t.Fatal(err)
		}
		shown, other := &first.err, &second.err
		if strings.HasPrefix(r.Principal.Agent, "asks-model") {
			shown, other = other, shown
		}
		line := "edited  bash  by local   heldcall show " + approvals.ShortID(r.ID)
		shown.await(t, regexp.QuoteMeta(line))
		if strings.Contains(other.String(), line) {
			t.Errorf("the other run shows the call of %s", r.Principal.Agent)
		}
	}
	second.done(t)
	first.done(t)
	for _, r := range []*aRun{first, second} {
		if !strings.Contains(r.out.String(), "launch-that") {
			t.Errorf("an agent got\n%s", r.out.String())
		}
	}
	for _, request := range p.upstream.Requests() {
		if got := request.Get("Authorization"); got != "Bearer "+modelKey {
			t.Errorf("upstream got %q", got)
		}
	}
	if text := second.err.String() + second.out.String() + first.out.String(); strings.Contains(text, link[2]) || strings.Contains(text, modelKey) || strings.Contains(text, "HELDCALL_TOKEN") {
		t.Errorf("an agent or the second terminal gets the token or the key:\n%s", text)
	}
	p.noFileHas(link[2], modelKey)
}

// A run whose model is at another address does not attach: its prompts would go to the model of the first.
func TestRunsWithDifferentModelsDoNotShare(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	other, err := fakemodel.New(func(r *fakemodel.Request) fakemodel.Reply { return fakemodel.Answer{Text: "Another model."}.Reply(r) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	config := []byte("proxy: {listen: \"127.0.0.1:0\"}\nconsole: {listen: \"127.0.0.1:0\"}\nnats: {listen: \"\"}\n")
	if err := os.WriteFile(filepath.Join(p.folder, "heldcall.yaml"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(folder, model string, command ...string) *aRun {
		r := p.command(folder, append([]string{"run", "--config", filepath.Join(p.folder, "heldcall.yaml"), "--"}, command...)...)
		r.Env = append(r.Env, "OPENAI_BASE_URL="+model)
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Process.Kill() })
		return r
	}
	first := run("one", p.upstream.URL(), "sh", "-c", untilGo)
	first.err.await(t, linkOfRun)
	second := run("two", other.URL(), "asks-model", bashTool)
	second.done(t)
	if !strings.Contains(second.err.String(), "heldcall: another heldcall runs, and this run starts its own: its model is at "+p.upstream.URL()+"\n") || !strings.Contains(second.out.String(), "Another model.") {
		t.Errorf("the second run:\n%s\n%s", second.err.String(), second.out.String())
	}
	for _, request := range p.upstream.Requests() {
		if request.Method != "GET" {
			t.Errorf("the model of the first run got %s", request.Body)
		}
	}
	p.write("go")
	first.done(t)
}

// noFileHas fails if a file of the person contains one of the texts.
func (p *person) noFileHas(texts ...string) {
	p.t.Helper()
	files := 0
	err := filepath.WalkDir(p.folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		content, err := os.ReadFile(name)
		for _, text := range texts {
			if bytes.Contains(content, []byte(text)) {
				p.t.Errorf("%s contains %s", name, text)
			}
		}
		return err
	})
	if err != nil || files < 5 {
		p.t.Errorf("%d files are read: %v", files, err)
	}
}

// Commands in another terminal find the run, and send their token only to it. They do not take a run that was killed
// for one that runs, also if another process has its process id.
func TestCommandsFindTheRun(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	wait := []string{"sh", "-c", "echo ready; cat"}
	killed := p.run("one", wait...)
	old := killed.err.await(t, linkOfRun)
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	keyboard, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	first := p.command("one", append([]string{"run", "--config", filepath.Join(p.folder, "heldcall.yaml"), "--"}, wait...)...)
	first.Stdin = keyboard
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	link := first.err.await(t, linkOfRun)
	for _, tt := range []struct {
		token, out, err string
		code            int
	}{
		{link[2], "No pending requests.\n", "", exitDone},
		{old[2], "", "the token was not sent: no heldcall that runs proves that it knows it", exitFailed},
		{"", "", "not signed in", exitFailed},
	} {
		list := p.command("two", "requests")
		list.Env = append(list.Env, "HELDCALL_TOKEN="+tt.token)
		_ = list.Run()
		if code := list.ProcessState.ExitCode(); code != tt.code || list.out.String() != tt.out || !strings.Contains(list.err.String(), tt.err) {
			t.Errorf("token %q: %d %q %q", tt.token, code, list.out.String(), list.err.String())
		}
	}
	input.Close()
	first.done(t)
}

// SIGTERM and, after the end of its own command, Ctrl-C end heldcall while agents are attached. The runs of these
// agents report it.
func TestRunStaysForAttachedAgents(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := newPerson(t)
		first := p.run("one", "sh", "-c", untilGo)
		first.err.await(t, linkOfRun)
		second := p.run("two", "sh", "-c", "until [ -e ../done ]; do sleep 0.05; done")
		second.err.await(t, `attached to the heldcall that runs`)
		p.write("go")
		first.err.await(t, `(?m)^heldcall: sh has ended; heldcall runs until its attached agents \(1\) end`)
		if err := first.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		first.done(t)
		second.err.await(t, `(?m)^heldcall: the heldcall that sh is attached to has ended`)
		p.write("done")
		second.done(t)
	}
}

// Runs that are started at the same moment share one heldcall.
func TestRunsThatStartAtOnce(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	var all []*aRun
	for range 4 {
		for _, folder := range []string{"one", "two"} {
			all = append(all, p.run(folder, "sh", "-c", untilGo))
		}
	}
	hosts := 0
	for _, r := range all {
		if found := r.err.await(t, `attached to the heldcall that runs|/#token=`); found[0] == "/#token=" {
			hosts++
		}
	}
	p.write("go")
	for _, r := range all {
		r.done(t)
	}
	if hosts != 1 {
		t.Errorf("%d of %d runs have a heldcall of their own", hosts, len(all))
	}
}
