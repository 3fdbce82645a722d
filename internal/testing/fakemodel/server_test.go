package fakemodel_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

const patience = time.Minute

func start(t *testing.T, script fakemodel.Script) *fakemodel.Server {
	t.Helper()
	s, err := fakemodel.New(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// dial opens a connection, sends request and returns what can be read from it.
func dial(t *testing.T, s *fakemodel.Server, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func TestRequestIsRecordedAsItCame(t *testing.T) {
	s := start(t, func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Reply{Close: true} })
	_, reader := dial(t, s, "POST /v1/x%2Fy?a=1&a=2 HTTP/1.1\r\nHost: h\r\nX-Two: 1\r\nx-two: 2\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
	if _, err := io.ReadAll(reader); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()[0]
	if r.Method != "POST" || r.Path != "/v1/x%2Fy" || r.RawQuery != "a=1&a=2" || string(r.Body) != "abcde" {
		t.Errorf("recorded %s %s ? %s with body %q", r.Method, r.Path, r.RawQuery, r.Body)
	}
	want := []fakemodel.Field{{"Host", "h"}, {"X-Two", "1"}, {"x-two", "2"}, {"Transfer-Encoding", "chunked"}}
	if diff := cmp.Diff(want, r.Header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
}

func TestReplyIsSentAsScripted(t *testing.T) {
	body := []fakemodel.Write{{Bytes: []byte("one")}, {Bytes: []byte("eleven")}}
	f := func(reply fakemodel.Reply, wantBody string, wantErr error) {
		t.Helper()
		reply.Body = body
		s := start(t, func(*fakemodel.Request) fakemodel.Reply { return reply })
		_, reader := dial(t, s, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		raw, err := io.ReadAll(reader)
		if !errors.Is(err, wantErr) {
			t.Errorf("reading ended with %v, want %v", err, wantErr)
		}
		head, got, _ := strings.Cut(string(raw), "\r\n\r\n")
		if !strings.HasPrefix(head, "HTTP/1.1 200 OK") || got != wantBody {
			t.Errorf("got head %q and body %q, want body %q", head, got, wantBody)
		}
	}
	f(fakemodel.Reply{}, "3\r\none\r\n6\r\neleven\r\n0\r\n\r\n", nil)
	f(fakemodel.Reply{Framing: fakemodel.ContentLength}, "oneeleven", nil)
	f(fakemodel.Reply{Framing: fakemodel.CloseDelimited}, "oneeleven", nil)
	f(fakemodel.Reply{End: fakemodel.EndAtBoundary}, "3\r\none\r\n6\r\neleven\r\n", nil)
	f(fakemodel.Reply{End: fakemodel.EndMidChunk}, "3\r\none\r\n46\r\neleven", nil)
}

func TestResetIsSeenAsReset(t *testing.T) {
	gate := make(chan struct{})
	s := start(t, func(*fakemodel.Request) fakemodel.Reply {
		return fakemodel.Reply{
			Body: []fakemodel.Write{{Bytes: []byte("one")}, {Bytes: []byte("two"), Gate: gate}},
			End:  fakemodel.EndReset,
		}
	})
	_, reader := dial(t, s, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, err := reader.ReadString('e'); err != nil {
		t.Fatal(err)
	}
	close(gate)
	if _, err := io.ReadAll(reader); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading ended with %v, want a reset", err)
	}
}

func TestConnectionIsKept(t *testing.T) {
	s := start(t, func(r *fakemodel.Request) fakemodel.Reply {
		return fakemodel.Reply{Body: []fakemodel.Write{{Bytes: []byte(r.Path)}}}
	})
	for _, path := range []string{"/a", "/b", "/c"} {
		answer, err := http.Get("http://" + s.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || string(body) != path {
			t.Errorf("got %q, %v, want %q", body, err, path)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if opened, _ := s.Connections(); opened != 1 {
		t.Errorf("three requests in a row used %d connections, want 1", opened)
	}
}

func TestClientThatLeavesIsNoticed(t *testing.T) {
	f := func(reply fakemodel.Reply) {
		t.Helper()
		s := start(t, func(*fakemodel.Request) fakemodel.Reply { return reply })
		conn, _ := dial(t, s, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r, err := s.Await(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !r.GoneAt().IsZero() {
			t.Error("the client is gone before it left")
		}
		conn.Close()
		for name, ended := range map[string]<-chan struct{}{"gone": r.Gone(), "done": r.Done()} {
			select {
			case <-ended:
			case <-ctx.Done():
				t.Fatalf("the client left, but the request is not %s", name)
			}
		}
		if r.GoneAt().IsZero() {
			t.Error("the client left, but at no time")
		}
	}
	never := make(chan struct{})
	f(fakemodel.Reply{HeadGate: never})
	f(fakemodel.Reply{Body: []fakemodel.Write{{Bytes: []byte("x"), Gate: never}}})
	f(fakemodel.Reply{Body: []fakemodel.Write{{Bytes: []byte("x"), Delay: time.Hour}}})
	f(fakemodel.Reply{End: fakemodel.EndStall})
}

func TestCloseEndsAStall(t *testing.T) {
	s, err := fakemodel.New(func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Reply{End: fakemodel.EndStall} })
	if err != nil {
		t.Fatal(err)
	}
	_, reader := dial(t, s, "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, err := reader.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, open := s.Connections(); open != 0 {
		t.Errorf("%d connections are open after Close", open)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	s := start(t, func(*fakemodel.Request) fakemodel.Reply { return fakemodel.Reply{} })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Await(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Await returned %v, want %v", err, context.Canceled)
	}
}
