package agentconn

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// An agent's disconnect cancels the work for it, whatever its last bytes were. On
// other systems unread bytes hide a disconnect.
func TestOnDisconnect(t *testing.T) {
	for name, disconnect := range map[string]func(*net.TCPConn){
		"close":             func(c *net.TCPConn) { c.Close() },
		"half-close":        func(c *net.TCPConn) { _ = c.CloseWrite() },
		"reset":             func(c *net.TCPConn) { _ = c.SetLinger(0); c.Close() },
		"with unread bytes": func(c *net.TCPConn) { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n"); c.Close() },
	} {
		for _, before := range []bool{false, true} {
			agent, conn := connect(t)
			if before {
				disconnect(agent)
				awaitDisconnect(t, conn)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			end := conn.OnDisconnect(cancel)
			if !before {
				if ctx.Err() != nil {
					t.Fatalf("%s: cancelled while the agent is connected", name)
				}
				disconnect(agent)
			}
			select {
			case <-ctx.Done():
			case <-time.After(soon):
				t.Fatalf("%s, before the call %t: not noticed", name, before)
			}
			if cause := context.Cause(ctx); !errors.Is(cause, ErrDisconnected) {
				t.Errorf("%s: cause %v", name, cause)
			}
			end()
		}
	}
}
