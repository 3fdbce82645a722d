package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/heldturns"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/proxy"
)

// killedConfig is the environment variable with the configuration of a heldcall that is
// killed.
const killedConfig = "HELDCALL_TEST_KILLED"

// killed configures a heldcall in a process of its own.
type killed struct {
	Dir      string
	Policy   string
	Upstream string
	Step     string // at which it kills itself, "" for none
}

// runUntilKilled is the main function of that process. It prints the addresses of the
// proxy and of the console.
func runUntilKilled(text string) int {
	var k killed
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		panic(err)
	}
	c := app.DefaultConfig(func(string) (string, bool) { return "", false })
	c.Proxy.Listen, c.Console.Listen, c.NATS.Listen = "127.0.0.1:0", "127.0.0.1:0", "-"
	c.Proxy.Upstreams = []app.Upstream{{Prefix: "/v1", URL: k.Upstream}}
	c.Proxy.Keepalive, c.Proxy.Heartbeat = 50*time.Millisecond, "comment"
	c.NATS.Dir, c.Policy.File, c.Policy.FileNamed = filepath.Join(k.Dir, "data"), filepath.Join(k.Dir, "policy.yaml"), true
	if err := os.WriteFile(c.Policy.File, []byte(k.Policy), 0o600); err != nil {
		panic(err)
	}
	o := app.Options{Config: c, Version: "test", Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	a, err := app.New(o.WithCanary(func(context.Context, *proxy.Proxy) error { return nil }).WithProxy(func(o *proxy.Options) {
		s := &steps{at: k.Step}
		o.Keeper, o.Gate = steppedKeeper{o.Keeper, s}, steppedGate{o.Gate, s}
	}))
	if err != nil {
		panic(err)
	}
	go func() {
		<-a.Started()
		fmt.Println(a.ProxyAddr())
		fmt.Println(a.ConsoleURL())
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
		os.Exit(1)
	}()
	if err := a.Run(context.Background()); err != nil {
		panic(err)
	}
	return 0
}

// steps kills the process at one of the steps of a held turn.
type steps struct{ at string }

func (s *steps) reach(step string) {
	if s.at != step {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}

type steppedKeeper struct {
	proxy.Keeper
	steps *steps
}

func (k steppedKeeper) Keep(ctx context.Context, t approvals.HeldTurn, snapshot []byte) (proxy.Attachment, error) {
	k.steps.reach("before it is stored")
	a, err := k.Keeper.Keep(ctx, t, snapshot)
	k.steps.reach("stored")
	return steppedAttachment{a, k.steps}, err
}

func (k steppedKeeper) Claim(ctx context.Context, c heldturns.Candidate) (proxy.Attachment, []byte, error) {
	a, snapshot, err := k.Keeper.Claim(ctx, c)
	k.steps.reach("claimed")
	return steppedAttachment{a, k.steps}, snapshot, err
}

type steppedAttachment struct {
	proxy.Attachment
	steps *steps
}

func (a steppedAttachment) Confirm(ctx context.Context) error {
	a.steps.reach("decided")
	return a.Attachment.Confirm(ctx)
}

func (a steppedAttachment) Update(ctx context.Context, snapshot []byte) error {
	err := a.Attachment.Update(ctx, snapshot)
	a.steps.reach("continuation stored")
	return err
}

func (a steppedAttachment) Deliver(ctx context.Context, d heldturns.Delivery) error {
	a.steps.reach("sent")
	err := a.Attachment.Deliver(ctx, d)
	a.steps.reach("delivered")
	return err
}

type steppedGate struct {
	proxy.Gate
	steps *steps
}

func (g steppedGate) Open(ctx context.Context, requests []approvals.Request) (*gate.Hold, error) {
	h, err := g.Gate.Open(ctx, requests)
	g.steps.reach("asked")
	return h, err
}

func (g steppedGate) Record(ctx context.Context, events ...approvals.Event) error {
	err := g.Gate.Record(ctx, events...)
	if slices.ContainsFunc(events, func(e approvals.Event) bool {
		return e.Type == approvals.EventCallReleased || e.Type == approvals.EventCallDenied
	}) {
		g.steps.reach("recorded")
	}
	return err
}

// process is a heldcall that is, or will be, killed.
type process struct {
	proxy   string
	console *client.Client
	log     *logged
	ended   chan struct{}
	kill    func()
}

func startKilled(t *testing.T, k killed) *process {
	t.Helper()
	config, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{log: &logged{}, ended: make(chan struct{})}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killedConfig+"="+string(config))
	cmd.Stderr = p.log
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	p.kill = func() {
		_ = cmd.Process.Kill()
		once.Do(func() { <-p.ended })
	}
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	p.proxy = lines.Text()
	lines.Scan()
	url := lines.Text()
	go func() { _ = cmd.Wait(); close(p.ended) }()
	t.Cleanup(func() { stdin.Close(); p.kill() })
	if p.console, err = client.New(url); err != nil || url == "" {
		t.Fatalf("heldcall did not start: %v\n%s", err, p.log.String())
	}
	return p
}

// persistent is an agent that repeats its request until it gets a whole answer.
type persistent struct {
	mu   sync.Mutex
	addr string // of the proxy
}

func (a *persistent) move(addr string) { a.mu.Lock(); defer a.mu.Unlock(); a.addr = addr }

func (a *persistent) ask(ctx context.Context, s speech, body string) (answer string, err error) {
	transport := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	for try := 0; ctx.Err() == nil; try++ {
		a.mu.Lock()
		addr := a.addr
		a.mu.Unlock()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+s.path, strings.NewReader(body))
		if err != nil {
			return "", err
		}
		for i := 0; i+1 < len(s.header); i += 2 {
			req.Header.Set(s.header[i], s.header[i+1])
		}
		if try > 0 {
			req.Header.Set("X-Stainless-Retry-Count", fmt.Sprint(try))
		}
		if resp, err := transport.RoundTrip(req); err == nil {
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err == nil && resp.StatusCode == http.StatusOK {
				return string(got), nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return "", ctx.Err()
}

// heldcall is killed at each step of a held turn and starts again. The agent that repeats
// its request gets the answer of an unbroken turn, the model is asked again only for what
// heldcall had not stored, people are asked once, and the audit log has each event once.
func TestPromise12_AskedOnce_KilledAtEachStep(t *testing.T) {
	t.Parallel()
	for i, s := range speeches {
		for j, step := range []string{"before it is stored", "stored", "asked", "claimed", "decided", "recorded", "continuation stored", "sent", "delivered"} {
			if !*everyStep && j%len(speeches) != i { // each step once
				continue
			}
			action := []approvals.Action{approvals.ActionApprove, approvals.ActionDeny}[(i+j)%2]
			if step == "continuation stored" {
				action = approvals.ActionDeny
			}
			t.Run(fmt.Sprintf("%s, %s, %s", s.name, step, action), func(t *testing.T) {
				t.Parallel()
				killAt(t, s, (i+j)%2 == 0, step, approvals.Decision{Action: action, Note: "no"})
			})
		}
	}
}

// everyStep makes tests try each outcome and each step in each API: make load sets it.
var everyStep = flag.Bool("every-step", false, "each outcome and each step at which heldcall is killed, in each API")

func killAt(t *testing.T, s speech, streamed bool, step string, d approvals.Decision) {
	body := s.body(streamed)
	unbroken := build(t, askAll, lister().Reply, comments)
	whole := make(chan string, 1)
	go func() { whole <- unbroken.post(s.path, body, s.header...).rest() }()
	unbroken.decide(unbroken.pending(1)[0].ID, d)
	want := withoutHeartbeats(<-whole)
	calls := len(unbroken.upstream.Requests())

	upstream, err := fakemodel.New(lister().Reply)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	k := killed{Dir: t.TempDir(), Policy: askAll, Upstream: upstream.URL(), Step: step}
	if step == "claimed" {
		k.Step = "asked"
	}
	first := startKilled(t, k)
	agent := &persistent{addr: first.proxy}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	answer := make(chan string, 1)
	go func() {
		got, _ := agent.ask(ctx, s, body)
		answer <- got
	}()
	w := &world{t: t, console: first.console}
	if slices.Contains([]string{"decided", "recorded", "continuation stored", "sent", "delivered"}, step) {
		d.RequestID = w.pending(1)[0].ID
		_, _ = w.console.Decide(ctx, d) // heldcall may end before it answers
	}
	select {
	case <-first.ended:
	case <-ctx.Done():
		t.Fatalf("the step was not reached\n%s", first.log.String())
	}
	if k.Step = ""; step == "claimed" {
		k.Step = step
		between := startKilled(t, k)
		agent.move(between.proxy)
		<-between.ended
		k.Step = ""
	}
	second := startKilled(t, k)
	agent.move(second.proxy)
	w.console = second.console
	if slices.Contains([]string{"before it is stored", "stored", "asked", "claimed"}, step) {
		w.decide(w.pending(1)[0].ID, d)
	}
	if got := withoutHeartbeats(<-answer); got != want {
		t.Errorf("got\n%s\nwant\n%s\n%s", got, want, second.log.String())
	}
	if step == "before it is stored" {
		calls++ // of the first process nothing was stored
	}
	if n := len(upstream.Requests()); n != calls {
		t.Errorf("upstream got %d requests, want %d", n, calls)
	}
	page, err := w.console.Requests(t.Context(), approvals.Filter{})
	if err != nil || len(page.Items) != 1 {
		t.Errorf("%d requests to people, %v", len(page.Items), err)
	}
	var events []string
	for _, typ := range w.audited() {
		if !strings.HasPrefix(typ, "turn_") {
			events = append(events, typ)
		}
	}
	outcome := outcomes[map[approvals.Action]string{approvals.ActionApprove: "approved", approvals.ActionDeny: "denied"}[d.Action]]
	if diff := cmp.Diff(append([]string{"approval_required"}, outcome.events...), events); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}
