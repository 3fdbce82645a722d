package discovery_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
)

// A text that is no question gets no answer, and ends with its connection.
func TestHostileQuestions(t *testing.T) {
	t.Parallel()
	_, folder := folders(t)
	serve(t, folder, discovery.Options{About: discovery.About{Console: console}})
	for _, question := range []string{"\n", "{}\n", "[]\n", "GET / HTTP/1.1\r\n\r\n", `{"about":`, strings.Repeat("x", 2<<20)} {
		conn, err := net.Dial("unix", filepath.Join(folder, "run.sock"))
		if err != nil {
			t.Fatal(err)
		}
		go func() { // the other end may have closed
			_, _ = conn.Write([]byte(question))
			_ = conn.(*net.UnixConn).CloseWrite()
		}()
		if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
			t.Errorf("%.20q is answered: %s", question, line)
		}
		conn.Close()
	}
}

// What another program names is opened in a browser, or is where the agent sends its model requests.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"file://127.0.0.1/etc/passwd", "javascript://127.0.0.1/%0aalert(1)"} {
		all, folder := folders(t)
		serve(t, folder, discovery.Options{About: discovery.About{Console: address}})
		if found := discovery.List(t.Context(), all); len(found) != 0 {
			t.Errorf("%q is found", address)
		}
	}
	for inbox, want := range map[string]string{
		"https://inbox.example": "https://inbox.example", "file:///etc/passwd": console, "--help": console, `C:\evil.exe`: console, "javascript:alert(1)": console, "http:x": console, "": console,
	} {
		all, folder := folders(t)
		serve(t, folder, discovery.Options{About: discovery.About{Console: console, Inbox: inbox}})
		if found := discovery.List(t.Context(), all); len(found) != 1 || found[0].Inbox != want {
			t.Errorf("%q: found %+v", inbox, found)
		}
	}
	for _, proxy := range []string{"evil.example:443", "127.0.0.1:1/\x1b[2J", "me@127.0.0.1:1", "[::1%\x1b[2J]:1", ""} {
		_, folder := folders(t)
		serve(t, folder, discovery.Options{Attach: func(context.Context, discovery.Agent) (discovery.Attachment, error) {
			return &elsewhere{served{left: make(chan struct{})}, proxy}, nil
		}})
		if a, err := discovery.Attach(t.Context(), folder, discovery.Agent{}); !errors.As(err, new(*discovery.RefusedError)) {
			t.Errorf("attached to %+v: %v", a, err)
		}
	}
}

// elsewhere is an agent whose proxy has an address that another program has sent.
type elsewhere struct {
	served
	proxy string
}

func (e *elsewhere) Proxy() string { return e.proxy }

// Connections that ask nothing do not use all files of the process.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	_, folder := folders(t)
	serve(t, folder, discovery.Options{About: discovery.About{Console: console}})
	dial := func() net.Conn {
		conn, err := net.Dial("unix", filepath.Join(folder, "run.sock"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	const most = 128
	idle := dial()
	for range most - 1 {
		dial()
	}
	late := dial()
	if _, err := late.Write([]byte("{\"about\":true}\n")); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(late)
	_ = late.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	if line, err := answer.ReadString('\n'); err == nil {
		t.Errorf("more than %d connections are served: %s", most, line)
	}
	idle.Close()
	_ = late.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := answer.ReadString('\n'); err != nil {
		t.Errorf("no answer when another has left: %v", err)
	}
}
