package console

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

const patience = time.Minute // with what must happen

// wire is a WebSocket as a test sees it.
type wire struct {
	t *testing.T
	*websocket.Conn
}

// open opens a WebSocket; headers come in pairs.
func open(t *testing.T, url, query string, headers ...string) wire {
	t.Helper()
	conn, response, err := dialSocket(t, url, query, headers...)
	if err != nil {
		t.Fatalf("the handshake: %v (%v)", err, response)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { conn.CloseNow() })
	return wire{t, conn}
}

func dialSocket(t *testing.T, url, query string, headers ...string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Add(headers[i], headers[i+1])
	}
	options := &websocket.DialOptions{HTTPHeader: header, Host: header.Get("Host")}
	if offered := header.Get("Sec-WebSocket-Protocol"); offered != "" {
		options.Subprotocols = strings.Split(offered, ", ")
	}
	return websocket.Dial(ctx, url+"/api/v1/ws"+query, options)
}

// message is any message.
type message = live.Message[json.RawMessage]

// next reads one message.
func (w wire) next() message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	_, text, err := w.Read(ctx)
	if err != nil {
		w.t.Fatalf("reading a message: %v", err)
	}
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		w.t.Fatalf("%q: %v", text, err)
	}
	return m
}

// want reads one message and checks what kind it is.
func (w wire) want(typ live.Type, id string) message {
	w.t.Helper()
	m := w.next()
	if m.Type != typ || m.ID != id {
		w.t.Fatalf("the message is %s %q %s, want %s %q", m.Type, m.ID, m.Data, typ, id)
	}
	return m
}

func (w wire) send(text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if err := w.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		w.t.Fatal(err)
	}
}

// ended reads until the socket has ended and returns how.
func (w wire) ended() websocket.StatusCode {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for {
		if _, _, err := w.Read(ctx); err != nil {
			if ctx.Err() != nil {
				w.t.Fatal("the socket has not ended")
			}
			return websocket.CloseStatus(err)
		}
	}
}

// refused is the problem that a handshake is answered with.
func refused(t *testing.T, url string, wantStatus int, wantCode string, headers ...string) {
	t.Helper()
	conn, response, err := dialSocket(t, url, "", headers...)
	if err == nil {
		conn.CloseNow()
		t.Fatalf("a handshake with %q is taken", headers)
	}
	if response == nil {
		t.Fatal(err)
	}
	var p problem.Problem
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil || p.Code != wantCode || response.StatusCode != wantStatus {
		t.Errorf("a handshake with %q is answered %s with %+v (%v), want %d %s", headers, response.Status, p, err, wantStatus, wantCode)
	}
}
