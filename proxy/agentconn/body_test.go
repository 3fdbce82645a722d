package agentconn

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// What a body reserves: a small one its length, a chunked one the limit, a large one
// what has arrived and the server's read buffer.
func TestAdmitBody(t *testing.T) {
	const limit = 3 << 20
	large := largeBody + 5*bodyPiece/2
	for name, tt := range map[string]struct {
		n        int
		budget   int64
		reserved int64
		err      error
	}{
		"empty":                 {n: 0, budget: 0, reserved: 0},
		"small":                 {n: 100, budget: 100, reserved: 100},
		"small, no room":        {n: 100, budget: 99, err: ErrNoMemory},
		"just not large":        {n: largeBody, budget: limit, reserved: largeBody},
		"chunked":               {n: -1, budget: limit, reserved: limit},
		"chunked, no room":      {n: -1, budget: limit - 1, err: ErrNoMemory},
		"large":                 {n: large, budget: limit, reserved: int64(large)},
		"large, no room at all": {n: large, budget: ReadBufferSize - 1, err: ErrNoMemory},
		"large, no room later":  {n: large, budget: ReadBufferSize + bodyPiece, err: ErrNoMemory},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBudget(tt.budget)
			agent, conn := connectTo(t, b)
			go func() { _, _ = io.WriteString(agent, strings.Repeat("x", max(tt.n, 0))) }()
			if err := conn.AdmitBody(tt.n, limit, false); !errors.Is(err, tt.err) || b.Used() != tt.reserved {
				t.Errorf("reserved %d, %v; want %d, %v", b.Used(), err, tt.reserved, tt.err)
			}
			if conn.ReleaseMemory(); b.Used() != 0 {
				t.Errorf("%d bytes stay reserved", b.Used())
			}
		})
	}
}

// Chunked bodies of which nothing arrives leave room for other bodies: two connections
// held all of the default budget of a pod without a byte of a body.
func TestChunkedBodiesLeaveRoom(t *testing.T) {
	const limit = 1 << 20
	b := NewBudget(2*limit + 100)
	admitted := 0
	for range 3 {
		_, conn := connectTo(t, b)
		err := conn.AdmitBody(-1, limit, false)
		if err == nil {
			admitted++
		} else if !errors.Is(err, ErrNoMemory) {
			t.Fatal(err)
		}
	}
	_, conn := connectTo(t, b)
	if err := conn.AdmitBody(100<<10, limit, false); err != nil || admitted != 1 {
		t.Errorf("beside %d chunked bodies: %v", admitted, err)
	}
}

// A large body is read in its order, what the server has of it before, and no byte of
// the request after it is read too early.
func TestLargeBodyIsReadInOrder(t *testing.T) {
	for _, buffered := range []int{0, 1, 5000, ReadBufferSize} {
		body := numbered(largeBody + 300<<10)
		agent, conn := connectTo(t, NewBudget(int64(len(body))))
		go func() { _, _ = io.WriteString(agent, body+"next") }()
		got := make([]byte, len(body))
		if _, err := io.ReadFull(conn, got[:buffered]); err != nil {
			t.Fatal(err)
		}
		// n counts what the server has: AdmitBody leaves ReadBufferSize bytes for it.
		if err := conn.AdmitBody(len(body), len(body), false); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, got[buffered:]); err != nil || string(got) != body {
			t.Errorf("%d bytes in the server's buffer: the body differs, %v", buffered, err)
		}
		next := make([]byte, len("next"))
		if _, err := io.ReadFull(conn, next); err != nil || string(next) != "next" {
			t.Errorf("after the body: %q, %v", next, err)
		}
	}
}

// numbered returns n bytes in which every part differs from the others.
func numbered(n int) string {
	var text strings.Builder
	for i := 0; text.Len() < n; i++ {
		text.WriteString(strings.Repeat(string(rune('a'+i%26)), 1+i%97))
	}
	return text.String()[:n]
}

// A body that is cut off returns the error of the connection.
func TestLargeBodyIsCut(t *testing.T) {
	b := NewBudget(1 << 30)
	agent, conn := connectTo(t, b)
	go func() { _, _ = io.WriteString(agent, numbered(bodyPiece+1)); _ = agent.CloseWrite() }()
	if err := conn.AdmitBody(2*largeBody, 2*largeBody, false); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	if conn.ReleaseMemory(); b.Used() != 0 {
		t.Errorf("%d bytes stay reserved", b.Used())
	}
}

// Connections share a budget, and the next body returns what the last one reserved.
func TestBudgetIsShared(t *testing.T) {
	b := NewBudget(100)
	_, first := connectTo(t, b)
	_, second := connectTo(t, b)
	for _, tt := range []struct {
		conn *Conn
		n    int
		err  error
		used int64
	}{
		{first, 60, nil, 60},
		{second, 60, ErrNoMemory, 60},
		{second, 40, nil, 100},
		{first, 0, nil, 40},
		{second, 100, nil, 100},
	} {
		if err := tt.conn.AdmitBody(tt.n, 1000, false); !errors.Is(err, tt.err) || b.Used() != tt.used {
			t.Errorf("%d bytes: %v, %d are reserved; want %v, %d", tt.n, err, b.Used(), tt.err, tt.used)
		}
	}
}

// A chunked body reserves the limit until its size is known.
func TestChunkedBodyShrinks(t *testing.T) {
	b := NewBudget(3000)
	_, conn := connectTo(t, b)
	_, second := connectTo(t, b)
	if err := conn.AdmitBody(-1, 1000, false); err != nil || b.Used() != 1000 {
		t.Fatalf("%v, %d bytes are reserved", err, b.Used())
	}
	if err := second.AdmitBody(-1, 1200, false); !errors.Is(err, ErrNoMemory) {
		t.Errorf("a chunked body that leaves no room for another: %v", err)
	}
	for _, tt := range []struct {
		n    int
		used int64
	}{{2000, 1000}, {10, 10}, {10, 10}} {
		if conn.ShrinkMemory(tt.n); b.Used() != tt.used {
			t.Errorf("for %d bytes %d are reserved, want %d", tt.n, b.Used(), tt.used)
		}
	}
}
