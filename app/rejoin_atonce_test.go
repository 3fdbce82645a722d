package app_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals"
)

// A client gives up its answer and sends the request again at once, several times, with no
// sign that it is a repetition: it continues the turn each time.
func TestRejoinAtOnce(t *testing.T) {
	t.Parallel()
	everyDialect(t, func(t *testing.T, s speech, streamed bool) {
		for name, keepalive := range map[string]time.Duration{"after heartbeats": 50 * time.Millisecond, "before heartbeats": soon} {
			w := build(t, askAll, lister().Reply, comments, func(c *app.Config) { c.Proxy.Keepalive = keepalive })
			body := s.body(streamed)
			comesBack := func(times int) {
				t.Helper()
				w.until("the agent has come back", func() bool { return len(w.eventsOf(approvals.EventTurnReattached)) == times })
			}
			for again := range 3 {
				conn, err := net.Dial("tcp", w.app.ProxyAddr())
				if err != nil {
					t.Fatal(err)
				}
				head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", s.path, len(body))
				for i := 0; i+1 < len(s.header); i += 2 {
					head += s.header[i] + ": " + s.header[i+1] + "\r\n"
				}
				if _, err := fmt.Fprintf(conn, "%s\r\n%s", head, body); err != nil {
					t.Fatal(err)
				}
				w.pending(1)
				comesBack(again)
				if keepalive != soon {
					if _, err := conn.Read(make([]byte, 1)); err != nil {
						t.Fatal(err)
					}
				}
				conn.Close()
			}
			got := w.begin(s.path, body, s.header...)
			comesBack(3)
			w.approve(1)
			if r := <-got; r.err != nil || !strings.Contains(r.body, "call_sesame") {
				t.Errorf("%s: %q, %v", name, r.body, r.err)
			}
			if n := len(w.upstream.Requests()); n != 1 {
				t.Errorf("%s: upstream got %d requests", name, n)
			}
		}
	})
}
