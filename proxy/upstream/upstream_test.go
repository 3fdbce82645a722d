package upstream

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// dying is a kept connection that breaks while a request is written to it, after
// the first taken bytes.
type dying struct {
	net.Conn
	taken  int
	closed bool
}

func (d *dying) Write(p []byte) (int, error)     { return min(d.taken, len(p)-1), syscall.EPIPE }
func (d *dying) Read([]byte) (int, error)        { return 0, syscall.ECONNRESET }
func (d *dying) Close() error                    { d.closed = true; return nil }
func (d *dying) SetDeadline(time.Time) error     { return nil }
func (d *dying) SetReadDeadline(time.Time) error { return nil }

func requestHead(text string) func([]byte) []byte {
	return func(dst []byte) []byte { return append(dst, text...) }
}

// A request goes out a second time only if no byte of it was taken the first
// time.
func TestRequestIsSentOnce(t *testing.T) {
	server, err := fakemodel.New(func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Whole(200, []byte("{}")) })
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for taken, want := range map[int]int{0: 1, 1: 0} {
		for name, body := range map[string][]byte{"with the head": []byte("{}"), "after it": make([]byte, 64<<10)} {
			u, err := New(Config{Prefix: "/v1", URL: server.URL()})
			if err != nil {
				t.Fatal(err)
			}
			before := len(server.Requests())
			kept := []*dying{{taken: taken}, {taken: taken}}
			for _, d := range kept {
				u.put(newPersistConn(d))
			}
			head := append(make([]byte, 0, 1<<10), "POST /v1/x HTTP/1.1\r\nContent-Length: "...)
			head = append(head, []byte(map[bool]string{true: "2", false: "65536"}[len(body) == 2]+"\r\n\r\n")...)
			r, err := u.do(context.Background(), requestHead(string(head)), body)
			if sent := len(server.Requests()) - before; sent != want || (err == nil) != (want == 1) || (err != nil && !errors.Is(err, syscall.EPIPE)) {
				t.Errorf("%d bytes taken, body %s: sent %d times, %v", taken, name, sent, err)
			}
			if r != nil {
				r.Body.close()
			}
			if !kept[1].closed || kept[0].closed != (want == 1) {
				t.Errorf("%d bytes taken, body %s: closed %t and %t", taken, name, kept[0].closed, kept[1].closed)
			}
			u.Close()
		}
	}
}

// A fresh connection that takes nothing is an error, not a loop.
func TestFreshConnectionThatTakesNothing(t *testing.T) {
	u, err := New(Config{Prefix: "/v1", URL: "http://upstream.invalid"})
	if err != nil {
		t.Fatal(err)
	}
	dialled := 0
	u.Dial = func(context.Context, string, string) (net.Conn, error) { dialled++; return &dying{}, nil }
	if _, err := u.do(context.Background(), requestHead("POST / HTTP/1.1\r\n\r\n"), nil); !errors.Is(err, syscall.EPIPE) || dialled != 1 {
		t.Errorf("dialled %d times: %v", dialled, err)
	}
}
