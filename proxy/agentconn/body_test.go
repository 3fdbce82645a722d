package agentconn

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/heldcall/heldcall/internal/memory"
)

// What a body reserves: a small one its length, a chunked one what it may take while it grows, a large one
// what has arrived and the server's read buffer, and then as much for the server.
func TestAdmitBody(t *testing.T) {
	const limit = 3 << 20
	large := largeBody + 5*bodyPiece/2
	// A budget with room for n bytes beside the last part, which is for small ones.
	room := func(n int64) int64 { return n/7*8 + 8 }
	for name, tt := range map[string]struct {
		n        int
		budget   int64
		used     int64 // by others
		reserved int64
		err      error
	}{
		"empty":                 {n: 0, budget: 0, reserved: 0},
		"small":                 {n: 100, budget: room(100), reserved: 100},
		"small, no room":        {n: 100, budget: 99, err: ErrNeverFits},
		"just not large":        {n: largeBody, budget: room(largeBody), reserved: largeBody},
		"chunked":               {n: -1, budget: room(limit / 2 * 3), reserved: limit / 2 * 3},
		"chunked, all there is": {n: -1, budget: room(limit), reserved: memory.NewBudget(room(limit)).Most()},
		"large":                 {n: large, budget: room(2 * int64(large)), reserved: 2 * int64(large)},
		"large, no room at all": {n: large, budget: room(2*int64(large)) - 16, err: ErrNeverFits},
		"large, no room later":  {n: large, budget: room(2 * int64(large)), used: int64(large), err: ErrNoMemory},
	} {
		t.Run(name, func(t *testing.T) {
			b := memory.NewBudget(tt.budget)
			if !b.Reserve(tt.used) {
				t.Fatal("the others do not fit")
			}
			agent, conn := connectTo(t, b)
			go func() { _, _ = io.WriteString(agent, strings.Repeat("x", max(tt.n, 0))) }()
			if err := conn.AdmitBody(tt.n, limit, false); !errors.Is(err, tt.err) || b.Used()-tt.used != tt.reserved {
				t.Errorf("reserved %d, %v; want %d, %v", b.Used()-tt.used, err, tt.reserved, tt.err)
			}
			if conn.ReleaseMemory(); b.Used() != tt.used {
				t.Errorf("%d bytes stay reserved", b.Used()-tt.used)
			}
		})
	}
}

// Chunked bodies of which nothing arrives leave room for other bodies: two connections
// held all of the default budget of a pod without a byte of a body.
func TestChunkedBodiesLeaveRoom(t *testing.T) {
	const limit = 1 << 20
	b := memory.NewBudget(4*limit + 100)
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
		agent, conn := connectTo(t, memory.NewBudget(4*int64(len(body))))
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
	b := memory.NewBudget(1 << 30)
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
	b := memory.NewBudget(100)
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
		{second, 88, nil, 88},
		{second, 89, ErrNeverFits, 0},
	} {
		if err := tt.conn.AdmitBody(tt.n, 1000, false); !errors.Is(err, tt.err) || b.Used() != tt.used {
			t.Errorf("%d bytes: %v, %d are reserved; want %v, %d", tt.n, err, b.Used(), tt.err, tt.used)
		}
	}
}

// A chunked body reserves what it may take until its size is known, and may then take more.
func TestChunkedBodyShrinks(t *testing.T) {
	b := memory.NewBudget(4000)
	_, conn := connectTo(t, b)
	_, second := connectTo(t, b)
	if err := conn.AdmitBody(-1, 1000, false); err != nil || b.Used() != 1500 {
		t.Fatalf("%v, %d bytes are reserved", err, b.Used())
	}
	if err := second.AdmitBody(-1, 1200, false); !errors.Is(err, ErrNoMemory) {
		t.Errorf("a chunked body that leaves no room for another: %v", err)
	}
	for _, tt := range []struct {
		n    int
		ok   bool
		used int64
	}{{10, true, 10}, {10, true, 10}, {2000, true, 2000}, {4001, false, 2000}} {
		if ok := conn.ResizeMemory(tt.n); ok != tt.ok || b.Used() != tt.used {
			t.Errorf("for %d bytes: %t, %d are reserved, want %t, %d", tt.n, ok, b.Used(), tt.ok, tt.used)
		}
	}
	if conn.ReturnMemory(500); b.Used() != 1500 {
		t.Errorf("%d bytes are reserved, want 1500", b.Used())
	}
	if conn.ReturnMemory(2000); b.Used() != 0 {
		t.Errorf("%d bytes stay reserved", b.Used())
	}
}
