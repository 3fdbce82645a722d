package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
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

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/tidwall/gjson"
)

var storedRequests = flag.Int("requests", 500, "pending requests at a restart; make load sets 10000")

// perAnswer is how many calls the model makes in an answer.
const perAnswer = 100

// served is a program that runs `heldcall serve`.
type served struct {
	t              *testing.T
	dir            string
	agents, people string // addresses
	command        *exec.Cmd
	out            bytes.Buffer
}

// newServed writes the files of a heldcall that parks calls at once.
func newServed(t *testing.T, upstream string) *served {
	t.Helper()
	free, err := fakemodel.FreeAddresses(2)
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, dir: t.TempDir(), agents: free[0], people: free[1]}
	config := fmt.Sprintf("proxy: {listen: '%s', upstreams: [{prefix: /v1, url: '%s'}]}\nconsole: {listen: '%s'}\nnats: {listen: '', dir: data}\nhold: {mode: park, park_after: 10ms}\n", s.agents, upstream, s.people)
	for name, text := range map[string]string{"heldcall.yaml": config, "policy.yaml": "default: ask\nrules: [{ask: ['bash(*)'], timeout: 24h}]\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// start runs the program, with sockets that a supervisor has opened, if any. It has begun when start returns.
func (s *served) start(sockets ...*os.File) {
	s.t.Helper()
	s.command = exec.Command("heldcall", "serve", "--config", "heldcall.yaml")
	if len(sockets) > 0 {
		s.command = exec.Command("sh", "-c", "LISTEN_PID=$$ exec heldcall serve --config heldcall.yaml")
		s.command.Env = append(os.Environ(), fmt.Sprintf("LISTEN_FDS=%d", len(sockets)), "LISTEN_FDNAMES=proxy")
		s.command.ExtraFiles = sockets
	}
	s.out.Reset()
	s.command.Dir, s.command.Stdout, s.command.Stderr = s.dir, &s.out, &s.out
	if err := s.command.Start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) stop() {
	s.t.Helper()
	_ = s.command.Process.Signal(syscall.SIGTERM)
	if err := s.command.Wait(); err != nil {
		s.t.Errorf("heldcall serve ends with %v:\n%s", err, s.out.String())
	}
}

// status is that of /readyz, 0 without an answer.
func (s *served) status() int {
	answer, err := http.Get("http://" + s.people + "/readyz")
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

// awaitReady waits until /readyz succeeds.
func (s *served) awaitReady() {
	s.t.Helper()
	for deadline := time.Now().Add(soon); s.status() != http.StatusOK; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("heldcall is not ready:\n%s", s.out.String())
		}
	}
}

// post sends a request for an answer, and returns that.
func (s *served) post(words string) (string, error) {
	body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}],"tools":[{"type":"function","function":{"name":"bash","parameters":{"type":"object"}}}]}`, words)
	resp, err := http.Post("http://"+s.agents+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("status %d", resp.StatusCode))
	}
	return string(text), err
}

// asksMuch is a model that makes many calls when its user wants so, and else greets.
func asksMuch(r *fakemodel.Request) fakemodel.Reply {
	words := gjson.GetBytes(r.Body, "messages.0.content").Str
	if !strings.HasPrefix(words, "much") {
		return fakemodel.Answer{Text: "Hello."}.Reply(r)
	}
	var calls []fakemodel.Call
	for i := range perAnswer {
		calls = append(calls, fakemodel.Call{ID: fmt.Sprintf("call_%s_%d", words[len("much "):], i), Name: "bash", Arguments: fmt.Sprintf(`{"command":"deploy %s %d"}`, words, i)})
	}
	return fakemodel.Answer{Text: "I start.", Calls: calls}.Reply(r)
}

// fill leaves a number of pending requests in the store.
func (s *served) fill(n int) {
	s.t.Helper()
	s.start()
	s.awaitReady()
	slots := make(chan struct{}, 4)
	var asking sync.WaitGroup
	for i := range n / perAnswer {
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			if text, err := s.post(fmt.Sprintf("much %d", i)); err != nil {
				s.t.Errorf("%v: %s", err, text)
			}
		})
	}
	asking.Wait()
	c, err := client.New("http://" + s.people)
	if err != nil {
		s.t.Fatal(err)
	}
	pending := 0
	for filter := (approvals.Filter{Status: approvals.StatusPending, Limit: 500}); ; {
		page, err := c.Requests(s.t.Context(), filter)
		if err != nil {
			s.t.Fatal(err)
		}
		if pending, filter.Cursor = pending+len(page.Items), page.NextCursor; filter.Cursor == "" {
			break
		}
	}
	if pending != n {
		s.t.Fatalf("%d requests are pending, want %d", pending, n)
	}
	s.stop()
}

// TestPortOpensBeforeTheStore: W8. The port of agents is open while the program still reads its state; from then on it
// refuses no connection, and a request that comes meanwhile is answered. A machine that runs the test only after the program is
// ready sees nothing of that, so it may try again. The times are for docs/durability.md and judge nothing.
func TestPortOpensBeforeTheStore(t *testing.T) {
	upstream, err := fakemodel.New(asksMuch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	s := newServed(t, upstream.URL())
	began := time.Now()
	s.fill(*storedRequests)
	t.Logf("%d requests are stored after %s", *storedRequests, time.Since(began).Round(time.Millisecond))
	early := false
	for attempt := 0; attempt < 10 && !early && !t.Failed(); attempt++ {
		s.start()
		early = s.watch()
		s.stop()
	}
	if !early {
		t.Error("the port of agents was never open before heldcall was ready")
	}
}

// watch dials the port of agents until heldcall is ready. It reports whether the port was open before that.
func (s *served) watch() (early bool) {
	s.t.Helper()
	began := time.Now()
	var opened, ready time.Duration
	answered := make(chan error, 1)
	for deadline := began.Add(soon); ready == 0; time.Sleep(2 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.agents)
		switch {
		case err == nil && opened == 0:
			opened = time.Since(began)
			go func() {
				text, err := s.post("hello")
				if err == nil && !strings.Contains(text, "Hello.") {
					err = errors.New(text)
				}
				answered <- err
			}()
		case err != nil && opened != 0:
			s.t.Fatalf("the port refuses a connection after it was open: %v", err)
		case time.Now().After(deadline):
			s.t.Fatalf("heldcall is not ready:\n%s", s.out.String())
		}
		if err == nil {
			conn.Close()
		}
		switch status := s.status(); {
		case status == http.StatusOK:
			ready = time.Since(began)
		case opened != 0:
			early = true
		}
	}
	if err := <-answered; err != nil {
		s.t.Errorf("a request from the moment in which the port was open: %v", err)
	}
	s.t.Logf("after the start of the program: the port is open after %d ms, heldcall is ready after %d ms", opened.Milliseconds(), ready.Milliseconds())
	return early
}

// TestSocketOfASupervisor: a socket that a supervisor opened (systemd's LISTEN_FDS) refuses no connection while the program is
// away: requests from before its start and between two of its lives are answered.
func TestSocketOfASupervisor(t *testing.T) {
	upstream, err := fakemodel.New(asksMuch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	s := newServed(t, upstream.URL())
	ln, err := net.Listen("tcp", s.agents)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	ln.Close() // the file is the socket now
	for life := range 2 {
		answered := make(chan string, 1)
		go func() {
			text, err := s.post("hello")
			answered <- fmt.Sprint(text, err)
		}()
		connected(t, s.agents)
		s.start(socket)
		if got := <-answered; !strings.Contains(got, "Hello.") {
			t.Errorf("life %d: the answer is %s\n%s", life, got, s.out.String())
		}
		s.stop()
	}
}

// connected waits until the socket takes a connection, before the program accepts it.
func connected(t *testing.T, address string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}
