//go:build memory

// Package memory runs the program in a control group with as little memory as the shipped
// deployments give it, against agents, models and bots that need more: see [TestMemory].
package memory

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

const (
	groupBytes = 512 << 20
	starts     = 10
	deafBots   = 10
	deafPages  = 20
	patience   = 90 * time.Second // of one start with all its loads
)

// The program stays alive in a group of 512 MB, and serves a well-behaved agent and its reviewer, while agents
// send many large requests, models answer with tens of megabytes of calls, and bots and pages do not read their replies:
// all at once, in each of ten starts on one data folder.
func TestMemory(t *testing.T) {
	group := newGroup(t, groupBytes)
	program := build(t)
	model := startModel(t)
	site := newSite(t, program, group, model.addr)

	site.start()
	site.fill()
	site.stop()
	for i := range starts {
		began := time.Now()
		site.start()
		peak := site.load(i)
		site.stop()
		t.Logf("start %d, %s: %s", i+1, time.Since(began).Round(time.Millisecond), peak)
		if t.Failed() {
			t.Fatalf("the log of heldcall:\n%s", site.tail())
		}
	}
}

func build(t *testing.T) string {
	t.Helper()
	if program := os.Getenv("HELDCALL_PROGRAM"); program != "" {
		return program
	}
	program := filepath.Join(t.TempDir(), "heldcall")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/heldcall")
	cmd.Dir = "../../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build heldcall: %v\n%s", err, out)
	}
	return program
}

// site is heldcall with its files and addresses.
type site struct {
	t       *testing.T
	program string
	group   *group
	dir     string
	agents  string // address
	console string // URL
	nats    string // address

	cmd  *exec.Cmd
	done chan error
}

func newSite(t *testing.T, program string, group *group, model string) *site {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "heldcall-memory-") // not in memory, where a folder for other tests may be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	addrs, err := fakemodel.FreeAddresses(3)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, program: program, group: group, dir: dir, agents: addrs[0], console: "http://" + addrs[1], nats: addrs[2]}
	config := fmt.Sprintf(`proxy:
  listen: %s
  upstreams: [{prefix: /v1, url: "http://%s/v1", api_key: sk-memory}]
console: {listen: "%s"}
nats: {listen: "%s", dir: data}
policy: {file: policy.yaml}
`, addrs[0], model, addrs[1], addrs[2])
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "heldcall.yaml"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte("default: ask\nrules: [{ask: [\"*\"], timeout: 24h}]\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd != nil {
			_ = s.cmd.Process.Kill()
			<-s.done
		}
	})
	return s
}

// start starts heldcall in the group, and waits until it is ready.
func (s *site) start() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd = s.group.command(s.program, "serve", "--config", filepath.Join(s.dir, "heldcall.yaml"))
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, log, log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.done = make(chan error, 1)
	go func(cmd *exec.Cmd, done chan<- error) { done <- cmd.Wait(); close(done) }(s.cmd, s.done)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if status, _, err := send(ctx, http.MethodGet, s.console+"/readyz", ""); err == nil && status == http.StatusOK {
			return
		}
		select {
		case err := <-s.done:
			s.t.Fatalf("heldcall ended at its start: %v\n%s", err, s.tail())
		case <-ctx.Done():
			s.t.Fatalf("heldcall is not ready\n%s", s.tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends heldcall, which must be alive.
func (s *site) stop() {
	s.t.Helper()
	select {
	case err := <-s.done:
		s.t.Errorf("heldcall has ended: %v", err)
		s.cmd = nil
		return
	default:
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-s.done; err != nil {
		s.t.Errorf("heldcall did not end well: %v", err)
	}
	s.cmd = nil
}

// alive reports whether heldcall runs.
func (s *site) alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// tail is the end of heldcall's log, without the messages of bots that were refused.
func (s *site) tail() string {
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	var text strings.Builder
	for line := range strings.Lines(string(log)) {
		if !strings.Contains(line, "component=nats") && !strings.Contains(line, "code=overloaded") {
			text.WriteString(line)
		}
	}
	return text.String()[max(0, text.Len()-8000):]
}

// fill makes 300 requests wait for people, which stay when heldcall is started again.
func (s *site) fill() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() { _, _ = ask(ctx, s.agents, "many", 0) }()
	for pending(ctx, s.console) < manyCalls {
		if ctx.Err() != nil || !s.alive() {
			s.t.Fatalf("there are not %d pending requests\n%s", manyCalls, s.tail())
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// load runs all loads at once, and returns what was seen.
func (s *site) load(i int) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var loads sync.WaitGroup
	outcomes := newOutcomes()
	for _, load := range []struct {
		name        string
		count, size int
	}{{"57 MB", 2, 57 << 20}, {"10 MB", 12, 10 << 20}, {"5 MB", 25, 5 << 20}, {"2 MB", 60, 2 << 20}} {
		for range load.count {
			loads.Go(func() {
				status, err := ask(ctx, s.agents, "text", load.size)
				outcomes.add(load.name, status, err)
			})
		}
	}
	for range 2 + 2*(i%2) {
		loads.Go(func() {
			status, err := ask(ctx, s.agents, "calls", 0)
			outcomes.add("60 MB of calls", status, err)
		})
	}
	background, end := context.WithCancel(ctx)
	var bots sync.WaitGroup
	for range deafBots {
		bots.Go(func() { deafBot(background, s.nats) })
	}
	for range deafPages {
		bots.Go(func() { deafPage(background, s.console) })
	}
	served := make(chan error, 1)
	go func() { served <- s.wellBehaved(ctx) }()
	loads.Wait()
	if err := <-served; err != nil {
		s.t.Errorf("start %d: the well-behaved agent: %v", i+1, err)
	}
	end()
	bots.Wait()
	if !s.alive() {
		s.t.Errorf("start %d: heldcall has ended; killed by the kernel %d times", i+1, s.group.kills())
	}
	return fmt.Sprintf("%s; peak %d MB", outcomes, s.group.peak()>>20)
}

// wellBehaved sends small requests one after the other. Each has a call that waits, and a reviewer who approves it. On
// a machine without processor time the store may answer too late: then the agent tries again.
func (s *site) wellBehaved(ctx context.Context) (err error) {
	for n := range 3 {
		for range 3 {
			if err = s.heldCall(ctx); err == nil || !s.alive() {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("request %d: %w", n+1, err)
		}
	}
	return nil
}

// heldCall sends a request whose call waits until it is approved.
func (s *site) heldCall(ctx context.Context) error {
	attempt, cancel := context.WithCancel(ctx)
	approved := make(chan error, 1)
	go func() { approved <- approve(attempt, s.console, "small") }()
	_, err := ask(ctx, s.agents, "small", 0)
	cancel()
	return errors.Join(err, <-approved)
}

// deafBot asks for lists again and again, and never reads. It connects again when it is cut off.
func deafBot(ctx context.Context, addr string) {
	for ctx.Err() == nil {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		_, err = conn.Write([]byte("CONNECT {\"verbose\":false}\r\nSUB _INBOX.deaf.> 1\r\n"))
		for n := 0; err == nil; n++ {
			query := `{"status":"pending","limit":300}`
			_, err = fmt.Fprintf(conn, "PUB heldcall.v1.svc.requests.list _INBOX.deaf.%d %d\r\n%s\r\n", n, len(query), query)
			time.Sleep(20 * time.Millisecond)
		}
		stop()
		conn.Close()
	}
}

// deafPage asks the console for a list again and again, and never reads.
func deafPage(ctx context.Context, console string) {
	for ctx.Err() == nil {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(console, "http://"))
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		for err == nil {
			_, err = fmt.Fprintf(conn, "GET /api/v1/requests?status=pending&limit=%d HTTP/1.1\r\nHost: %s\r\n\r\n", manyCalls, conn.RemoteAddr())
			time.Sleep(20 * time.Millisecond)
		}
		stop()
		conn.Close()
	}
}

// outcomes counts what agents got, by load.
type outcomes struct {
	mu    sync.Mutex
	order []string
	count map[string]int
}

func newOutcomes() *outcomes { return &outcomes{count: map[string]int{}} }

func (o *outcomes) add(load string, status int, err error) {
	what := fmt.Sprintf("%s: %d", load, status)
	if err != nil {
		what = load + ": no answer"
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count[what] == 0 {
		o.order = append(o.order, what)
	}
	o.count[what]++
}

func (o *outcomes) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, what := range o.order {
		all = append(all, fmt.Sprintf("%s x %d", what, o.count[what]))
	}
	return strings.Join(all, ", ")
}
