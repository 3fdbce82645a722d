//go:build agents

package agents_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/internal/testing/fakesocket"
	"github.com/heldcall/heldcall/internal/testing/testdeps"
)

var (
	long = flag.Bool("long", false, "hold a call for longer than 300 s, the agents' own limits left as they are")
	all  = flag.Bool("all", false, "also try the agents that are not in use as much")
)

// part is K/N, which N parts of the scenarios are: one is played with each Nth agent, from the
// Kth on, and the next one with others, so that each part has every agent. What shows that the
// task is a fair one, the agents without heldcall, is in no part but 1/1.
var part = flag.String("part", "1/1", "K/N: play scenarios with each Nth agent, from the Kth on")

// ofPart returns the agents that a scenario is played with: other ones for each number.
func ofPart(t *testing.T, scenario int, agents []agent) (chosen []agent) {
	t.Helper()
	var number, parts int
	if _, err := fmt.Sscanf(*part, "%d/%d", &number, &parts); err != nil || number < 1 || number > parts {
		t.Fatalf("-part %s: want K/N with K from 1 to N", *part)
	}
	for i, a := range agents {
		if (i+scenario)%parts == number-1 {
			chosen = append(chosen, a)
		}
	}
	return chosen
}

// timing returns the interval of heldcall's heartbeats, and how long a call is held.
func timing() (keepalive, held time.Duration) {
	if *long {
		return 10 * time.Second, 330 * time.Second
	}
	return time.Second, 12 * time.Second
}

// TestAgents lets every agent work at the task through heldcall run, and without
// it: with nothing between them and the model the agents run all four steps.
func TestAgents(t *testing.T) {
	heldcall := testdeps.Heldcall(t)
	agents := append(fleet(t), logins(t)...)
	if *all {
		agents = append(agents, more(t)...)
	}
	dirs := make(map[string]string)
	for _, a := range ofPart(t, 0, agents) {
		if dirs[a.source] == "" {
			dirs[a.source] = testdeps.Install(t, a.source)
		}
		dir := dirs[a.source]
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			t.Run("held", func(t *testing.T) {
				t.Parallel()
				a.workHeld(t, dir, heldcall)
			})
			if *part == "1/1" && !a.compresses {
				t.Run("alone", func(t *testing.T) {
					t.Parallel()
					a.workAlone(t, dir)
				})
			}
		})
	}
}

func (a agent) workHeld(t *testing.T, dir, heldcall string) {
	k := newTask(a)
	h := configure(t, serve(t, k))
	r := newRun(t, a, h.endpoint)
	_, held := timing()
	asked := h.review(t, func(r approvals.Request) *fakemodel.Ruling { return rule(r, held) })
	a.playHeld(t, r, h, dir, heldcall)
	k.judge(t, r, true)
	judgeAsked(t, a, asked())
	if t.Failed() {
		h.show(t)
	}
}

// playHeld runs the agent with heldcall run, whose own lines are then left out of the output.
func (a agent) playHeld(t *testing.T, r *run, h *heldcall, dir, program string) {
	t.Helper()
	r.play(t, outside(t, a.elsewhere), append([]string{program, "run", "--config", h.config, "--log-file", h.log, "--token-file", h.token, "--"}, a.argv(dir, h.endpoint)...))
	r.output = notices.ReplaceAllString(r.output, "")
	for line := range strings.Lines(r.output) {
		if strings.HasPrefix(line, "heldcall: ") {
			t.Errorf("heldcall run reports about the agent: %s", line)
		}
	}
}

// notices is what heldcall run prints for every agent: at its start where people decide, the policy and the log, and later
// what is held and decided.
var notices = regexp.MustCompile(`heldcall: (approve calls at http|the policy is |the log is in |for other commands: export HELDCALL_TOKEN=).*\n|(held|approved|denied|edited|answered|expired|cancelled|run ended|allowed always|denied always)  .*   heldcall (approve|answer|show) [0-9A-Z]{6}\n`)

func (a agent) workAlone(t *testing.T, dir string) {
	k := newTask(a)
	upstream := serve(t, k)
	at := endpoint{openAI: upstream, anthropic: strings.TrimSuffix(upstream, "/v1")}
	r := newRun(t, a, at)
	argv := a.connect(r, dir, at)
	r.play(t, outside(t, a.elsewhere), argv)
	k.judge(t, r, false)
}

// connect gives an agent that is started without heldcall run its environment, and returns
// its command.
func (a agent) connect(r *run, dir string, at endpoint) (argv []string) {
	r.environment = append(r.environment, at.environment()...)
	r.environment = append(r.environment, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	if a.variables != nil {
		r.environment = append(r.environment, a.variables(at)...)
	}
	argv = a.argv(dir, at)
	if a.equipped != nil {
		argv = a.equipped(argv, at)
	}
	return argv
}

// serve starts the agent's model. One with a WebSocket has to be asked over it, and not over HTTP.
func serve(t *testing.T, k *task) (url string) {
	t.Helper()
	server, err := fakemodel.New(k.reply)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		for _, r := range server.Requests() {
			if got := r.Get("Authorization"); k.agent.login != "" && got != k.agent.login {
				t.Errorf("%s %s has %q in place of the agent's login", r.Method, r.Target, got)
			}
		}
	})
	if !k.agent.socket {
		return server.URL()
	}
	sockets, err := fakesocket.Start(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		all := 0
		for _, r := range server.Requests() {
			if strings.HasSuffix(r.Path, "/responses") {
				all++
			}
		}
		if asked := len(sockets.Messages()); asked == 0 || asked < all {
			t.Errorf("of %d requests the agent sent %d over WebSocket", all, asked)
		}
		sockets.Close()
	})
	return sockets.URL()
}

// run is one agent at work.
type run struct {
	home, work  string
	environment []string
	output      string // standard output and error
}

func newRun(t *testing.T, a agent, at endpoint) *run {
	t.Helper()
	home, work := a.equip(t, at)
	environment := append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TERM=dumb"}, a.environment...)
	return &run{home: home, work: work, environment: environment}
}

// play runs the agent to its end, which has to be a good one.
func (r *run) play(t *testing.T, proxy string, argv []string) {
	t.Helper()
	_, held := timing()
	ctx, cancel := context.WithTimeout(t.Context(), held+10*time.Minute)
	defer cancel()
	program := exec.CommandContext(ctx, argv[0], argv[1:]...)
	program.Dir = r.work
	program.Env = append(r.environment, "HTTP_PROXY="+proxy, "HTTPS_PROXY="+proxy, "http_proxy="+proxy, "https_proxy="+proxy)
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) }
	program.WaitDelay = 10 * time.Second
	out, err := program.CombinedOutput()
	r.output = string(out)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the agent's output:\n%s", r.output)
		}
	})
	if err != nil {
		t.Errorf("%s: %v", argv, err)
	}
}

// heldcall is the configuration of a heldcall that will be run, and where it
// will be.
type heldcall struct {
	config, log string
	token       string // the file that it is written to
	console     string
	endpoint    endpoint
}

func configure(t *testing.T, upstream string, more ...string) *heldcall {
	t.Helper()
	dir := t.TempDir()
	keepalive, _ := timing()
	ports, err := fakemodel.FreeAddresses(3)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf(`
proxy:
  listen: %s
  keepalive: %s
  upstreams:
    - {prefix: /v1, url: %s, api_key: sk-test, chatgpt_url: %s}
    - {prefix: /anthropic/v1, url: %s, api_key: sk-ant-test}
    - {prefix: /anthropic, url: %s, api_key: sk-ant-test}
console: {listen: %s}
nats: {listen: %s, dir: data}
policy: {file: policy.yaml}
`, ports[0], keepalive, upstream, upstream, upstream, upstream, ports[1], ports[2]) + strings.Join(more, "\n")
	for name, content := range map[string]string{"heldcall.yaml": config, "policy.yaml": "default: ask\nrules:\n  - {ask: [\"*\"], timeout: 15m}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	proxy := "http://" + ports[0]
	return &heldcall{
		config: filepath.Join(dir, "heldcall.yaml"), log: filepath.Join(dir, "heldcall.log"), token: filepath.Join(dir, "token"), console: "http://" + ports[1],
		endpoint: endpoint{openAI: proxy + "/v1", anthropic: proxy + "/anthropic"},
	}
}

// review decides the pending requests from now on, but those for which decide returns nil. The returned function ends the review and
// returns the requests.
func (h *heldcall) review(t *testing.T, decide func(approvals.Request) *fakemodel.Ruling) func() []approvals.Request {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(map[string]approvals.Request)
	reviewer := &fakemodel.Reviewer{
		Console: h.console,
		Every:   100 * time.Millisecond,
		Token: func() string {
			token, _ := os.ReadFile(h.token) // heldcall comes and goes with the agent
			return strings.TrimSpace(string(token))
		},
		Decide: func(r approvals.Request) *fakemodel.Ruling {
			asked[r.ID] = r
			return decide(r)
		},
		Refused: func(r approvals.Request, status int, body string) {
			t.Errorf("the ruling on %s was refused: %d %s", r.ID, status, body)
		},
	}
	var running sync.WaitGroup
	running.Go(func() {
		// heldcall comes and goes with the agent, so that it is out of reach is no fault.
		for ctx.Err() == nil {
			if err := reviewer.Run(ctx); err != nil && !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ECONNRESET) {
				t.Logf("reviewing: %v", err)
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return func() []approvals.Request {
		cancel()
		running.Wait()
		var all []approvals.Request
		for _, r := range asked {
			all = append(all, r)
		}
		return all
	}
}

// judgeAsked wants each step asked about once, and nothing else.
func judgeAsked(t *testing.T, a agent, asked []approvals.Request) {
	t.Helper()
	times := make(map[string]int)
	for _, r := range asked {
		times[r.ToolCallID]++
		if r.ToolName != a.tool || r.Dialect != string(a.api) {
			t.Errorf("the reviewer was asked about %s on %s, not about %s on %s", r.ToolName, r.Dialect, a.tool, a.api)
		}
	}
	for _, s := range steps {
		if times[s.id()] != 1 {
			t.Errorf("the reviewer was asked %d times about the step %s", times[s.id()], s.name)
		}
	}
	if len(asked) != len(steps) {
		t.Errorf("the reviewer was asked about %d calls, want %d", len(asked), len(steps))
	}
}

// show logs the output of heldcall.
func (h *heldcall) show(t *testing.T) {
	log, err := os.ReadFile(h.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	t.Logf("heldcall's log:\n%s", log)
	resp, err := http.Get(h.console + "/readyz")
	if err == nil {
		resp.Body.Close()
		t.Error("heldcall still runs")
	}
}
