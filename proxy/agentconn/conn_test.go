package agentconn

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/internal/memory"
)

// soon is long enough for anything that does not hang.
const soon = 30 * time.Second

// connect returns both ends of a connection through a Listener.
func connect(t *testing.T) (agent *net.TCPConn, conn *Conn) { return connectTo(t, memory.NewBudget(0)) }

// connectTo is connect with a budget.
func connectTo(t *testing.T, b *memory.Budget) (agent *net.TCPConn, conn *Conn) {
	t.Helper()
	l, err := Listen(t.Context(), "127.0.0.1:0", b)
	if err != nil {
		t.Fatal(err)
	}
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []net.Conn{dialled, accepted} {
		if err := c.SetDeadline(time.Now().Add(soon)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		dialled.Close()
		accepted.Close()
		l.Close()
		l.Stop()
	})
	return dialled.(*net.TCPConn), accepted.(*Conn)
}

func awaitDisconnect(t *testing.T, c *Conn) {
	t.Helper()
	for deadline := time.Now().Add(soon); !c.disconnected.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the disconnect is not noticed")
		}
	}
}

// After the end of a request its function is not called, and of two requests on a
// connection the second one's is.
func TestOnDisconnectOfTheCurrentRequest(t *testing.T) {
	agent, conn := connect(t)
	first, cancelFirst := context.WithCancelCause(t.Context())
	conn.OnDisconnect(cancelFirst)()
	second, cancelSecond := context.WithCancelCause(t.Context())
	defer conn.OnDisconnect(cancelSecond)()
	agent.Close()
	select {
	case <-second.Done():
	case <-time.After(soon):
		t.Fatal("the disconnect is not noticed")
	}
	if first.Err() != nil {
		t.Error("a request that has ended is cancelled")
	}
	cancelFirst(nil)
}

// An agent that is still sending when its request is refused reads the answer.
func TestLinger(t *testing.T) {
	agent, conn := connect(t)
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(agent, strings.Repeat("x", 4<<20))
		_ = agent.CloseWrite()
		sent <- err
	}()
	if _, err := conn.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	writeAll(t, conn, "refused")
	conn.Linger()
	conn.Close()
	if err := <-sent; err != nil {
		t.Errorf("the agent could not send to the end: %v", err)
	}
	if got, err := io.ReadAll(agent); string(got) != "refused" || err != nil {
		t.Errorf("the agent read %q, %v", got, err)
	}
}

// A connection can be closed twice, and returns its memory each time: the first Close
// may be that of a shutdown, while a request is being read.
func TestClose(t *testing.T) {
	b := memory.NewBudget(100)
	_, conn := connectTo(t, b)
	if !conn.ReserveMemory(60) {
		t.Fatal("not reserved")
	}
	if err := conn.Close(); err != nil || b.Used() != 0 {
		t.Errorf("%d bytes are reserved after Close, %v", b.Used(), err)
	}
	if !conn.ReserveMemory(60) {
		t.Fatal("not reserved")
	}
	if err := conn.Close(); !errors.Is(err, net.ErrClosed) || b.Used() != 0 {
		t.Errorf("closed again: %v, %d bytes are reserved", err, b.Used())
	}
}

func TestListenReportsTheAddress(t *testing.T) {
	if _, err := Listen(t.Context(), "256.0.0.1:x", nil); err == nil || !strings.Contains(err.Error(), "256.0.0.1:x (proxy.listen)") {
		t.Errorf("got %v", err)
	}
}
