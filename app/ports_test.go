package app_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
	"github.com/heldcall/heldcall/proxy"
)

// beginning is a heldcall whose state is opened when the test lets it.
type beginning struct {
	t              *testing.T
	upstream       *fakemodel.Server
	agents, people net.Listener // the supervisor's copies of the sockets
	opened         chan error   // yields the result of opening the state
	app            *app.App
	ended          chan error
	stop           context.CancelFunc
}

func begin(t *testing.T) *beginning {
	t.Helper()
	upstream, err := fakemodel.New(fakemodel.Answer{Text: "Hello."}.Reply)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(upstream.Close)
	c := app.DefaultConfig(func(string) (string, bool) { return "", false })
	c.Proxy.Upstreams = []app.Upstream{{Prefix: "/v1", URL: upstream.URL()}}
	dir := t.TempDir()
	c.NATS.Dir = filepath.Join(dir, "data")
	c.Policy.File, c.Policy.FileNamed = filepath.Join(dir, "policy.yaml"), true
	if err := os.WriteFile(c.Policy.File, []byte("default: allow\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &beginning{t: t, upstream: upstream, opened: make(chan error), ended: make(chan error, 1)}
	b.agents, b.people = listen(t), listen(t)
	// One is recognised by its name, the other by its address.
	c.Console.Listen = b.people.Addr().String()
	sockets := []app.Socket{{Name: "heldcall.socket", Listener: inherited(t, b.people)}, {Name: "proxy", Listener: inherited(t, b.agents)}}
	o := app.Options{Config: c, Version: "test", Sockets: sockets}.Opening(b.opened).WithProxy(func(o *proxy.Options) { o.FreeMemory, o.StartPatience = func() {}, soon })
	if b.app, err = app.New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	t.Cleanup(cancel)
	go func() { b.ended <- b.app.Run(ctx) }()
	return b
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

// inherited is a socket as a program that is started with it has it.
func inherited(t *testing.T, ln net.Listener) net.Listener {
	t.Helper()
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	socket, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	return socket
}

// send sends a request, and returns a function that reads the answer. Nothing is read before.
func (b *beginning) send(ln net.Listener, request string) (conn net.Conn, read func() (status int, header http.Header, body string)) {
	b.t.Helper()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		b.t.Fatal(err)
	}
	return conn, func() (int, http.Header, string) {
		b.t.Helper()
		_ = conn.SetReadDeadline(time.Now().Add(soon))
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			b.t.Fatalf("%.40q: %v", request, err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			b.t.Fatalf("%.40q: %v", request, err)
		}
		return answer.StatusCode, answer.Header, string(body)
	}
}

func post(path, body, header string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s", path, len(body), header, body)
}

func fetch(path, header string) string {
	return fmt.Sprintf("GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", path, header)
}

// health asks for health while the state is not open, and sends agents' port bytes that are no request. The answers show that
// both ports have taken the connections before.
func (b *beginning) health() {
	b.t.Helper()
	_, read := b.send(b.agents, "no request\r\n\r\n")
	if status, _, body := read(); status != http.StatusBadRequest {
		b.t.Errorf("what is no request gets %d %s", status, body)
	}
	_, read = b.send(b.people, fetch("/healthz", ""))
	if status, _, body := read(); status != http.StatusOK {
		b.t.Errorf("/healthz answers %d %s", status, body)
	}
	_, read = b.send(b.people, fetch("/readyz", ""))
	if status, header, body := read(); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(body, `"not_ready"`) {
		b.t.Errorf("/readyz answers %d %v %s", status, header, body)
	}
}

const hello = `{"model":"m","messages":[{"role":"user","content":"WHO"}]}`

// The ports are open before the state is. Requests wait without a byte, and nothing goes upstream, ungated routes
// included; requests whose agents have left never do.
func TestPortsOpenBeforeTheState(t *testing.T) {
	t.Parallel()
	b := begin(t)
	large := strings.Replace(hello, "WHO", strings.Repeat("long ", 300_000), 1)
	conns := map[string]net.Conn{}
	reads := map[string]func() (int, http.Header, string){}
	for name, request := range map[string]string{
		"gated":   post("/v1/chat/completions", hello, ""),
		"large":   post("/v1/chat/completions", large, ""),
		"ungated": post("/v1/embeddings", `{"model":"m","input":"x"}`, ""),
		"models":  fetch("/v1/models", ""),
		"unknown": post("/v1/unknown", `{}`, ""),
	} {
		conns[name], reads[name] = b.send(b.agents, request)
	}
	expecting, expected := b.send(b.agents, strings.TrimSuffix(post("/v1/chat/completions", hello, "Expect: 100-continue\r\n"), hello))
	leaving, _ := b.send(b.agents, post("/v1/chat/completions", strings.Replace(hello, "WHO", "leaving", 1), ""))
	leaving.Close()
	_, list := b.send(b.people, fetch("/api/v1/requests", ""))
	_, page := b.send(b.people, fetch("/", "Accept: text/html\r\nSec-Fetch-Mode: navigate\r\n"))
	if status, header, body := page(); status != http.StatusServiceUnavailable || header.Get("Refresh") == "" || !strings.Contains(body, "heldcall is starting") {
		t.Errorf("a browser gets %d %v %s", status, header, body)
	}
	b.health()
	for name, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)) // a byte that came too early would be there
		if n, err := conn.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %d bytes before the state was open, %v", name, n, err)
		}
	}
	if n := len(b.upstream.Requests()); n > 0 {
		t.Errorf("%d requests went upstream before the state was open", n)
	}
	b.opened <- nil
	select {
	case <-b.app.Started():
	case err := <-b.ended:
		t.Fatal(err)
	}
	for name, read := range reads {
		want := http.StatusOK
		if name == "unknown" {
			want = http.StatusNotImplemented
		}
		if status, _, body := read(); status != want {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, _, body := list(); status != http.StatusOK {
		t.Errorf("the list of requests: %d %s", status, body)
	}
	_ = expecting.SetReadDeadline(time.Now().Add(soon))
	line := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
	if _, err := io.ReadFull(expecting, line); !strings.HasPrefix(string(line), "HTTP/1.1 100 ") {
		t.Errorf("100 Continue after the start: %q %v", line, err)
	}
	if _, err := io.WriteString(expecting, hello); err != nil {
		t.Error(err)
	}
	if status, _, body := expected(); status != http.StatusOK {
		t.Errorf("after 100 Continue: %d %s", status, body)
	}
	for _, r := range b.upstream.Requests() {
		if strings.Contains(string(r.Body), "leaving") {
			t.Error("a request went upstream whose agent had left")
		}
	}
	b.stop()
	if err := <-b.ended; err != nil {
		t.Error(err)
	}
	for _, ln := range []net.Listener{b.agents, b.people} { // as the next process has it
		waiting, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Errorf("after the stop: %v", err)
			continue
		}
		waiting.Close()
	}
}

// A start that fails, or is stopped, refuses the requests that wait, and heldcall ends.
func TestStartFails(t *testing.T) {
	t.Parallel()
	damaged := errors.New("the state is damaged")
	for name, fail := range map[string]func(*beginning){
		"damaged": func(b *beginning) { b.opened <- damaged },
		"stopped": func(b *beginning) { b.stop(); b.opened <- context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := begin(t)
			_, gated := b.send(b.agents, post("/v1/messages", hello, "Anthropic-Version: 2023-06-01\r\n"))
			_, ungated := b.send(b.agents, fetch("/v1/models", ""))
			_, list := b.send(b.people, fetch("/api/v1/requests", ""))
			b.health() // so that the others were taken
			fail(b)
			for route, read := range map[string]func() (int, http.Header, string){"gated": gated, "ungated": ungated, "console": list} {
				status, header, body := read()
				if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(body, "could not start") || strings.Contains(body, "damaged") {
					t.Errorf("%s: %d %v %s", route, status, header, body)
				}
			}
			err := <-b.ended
			if name == "damaged" && !errors.Is(err, damaged) || name == "stopped" && err != nil {
				t.Errorf("ended with %v", err)
			}
			if n := len(b.upstream.Requests()); n > 0 {
				t.Errorf("%d requests went upstream", n)
			}
		})
	}
}

// A socket that fits no port ends the start: it would not be served.
func TestForeignSocket(t *testing.T) {
	t.Parallel()
	unix, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	c := app.DefaultConfig(func(string) (string, bool) { return "", false })
	for name, sockets := range map[string][]app.Socket{
		"another address":   {{Name: "heldcall.socket", Listener: listen(t)}},
		"two of one name":   {{Name: "proxy", Listener: listen(t)}, {Name: "proxy", Listener: listen(t)}},
		"no socket of TCP":  {{Name: "proxy", Listener: unix}},
		"an unknown socket": {{Name: "console", Listener: listen(t)}, {Name: "nats", Listener: listen(t)}},
	} {
		if _, err := app.New(app.Options{Config: c, Sockets: sockets}); err == nil || !strings.Contains(err.Error(), "proxy.listen") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
