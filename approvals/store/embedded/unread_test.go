package embedded

import (
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"

	"github.com/heldcall/heldcall/internal/memory"
)

// Bots that do not read what they get are disconnected before it fills the memory, and the others are not.
func TestBotsThatDoNotRead(t *testing.T) {
	budget := memory.NewBudget(1 << 30)
	s, err := Start(Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", Memory: budget, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	own, err := natsgo.Connect("", s.ConnectOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	const feed = "heldcall.v1.requests.default.permission.x"
	reader, err := natsgo.Connect("nats://" + s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	read := make(chan *natsgo.Msg, 1)
	if _, err := reader.ChanSubscribe(feed, read); err != nil {
		t.Fatal(err)
	}
	if err := reader.Flush(); err != nil {
		t.Fatal(err)
	}
	const bots = 10
	for range bots {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "CONNECT {\"verbose\":false}\r\nSUB %s 1\r\n", feed); err != nil {
			t.Fatal(err)
		}
	}
	const all = bots + 2 // the reader and heldcall itself
	for deadline := time.Now().Add(time.Minute); s.server.NumClients() < all || s.server.NumSubscriptions() < bots; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the bots do not connect")
		}
	}
	message := make([]byte, 1<<20)
	// The server itself ends a connection with more than 64 MiB.
	for sent := 0; s.server.NumClients() == all; sent++ {
		if sent > 48 {
			t.Fatalf("no bot was disconnected; %d bytes are reserved", budget.Used())
		}
		if err := own.Publish(feed, message); err != nil {
			t.Fatal(err)
		}
		<-read
		time.Sleep(unreadSoon)
	}
	if used := budget.Used(); used == 0 || used > 8*maxUnread {
		t.Errorf("%d bytes are reserved for what bots have not read", used)
	}
	if !reader.IsConnected() {
		t.Error("the bot that reads was disconnected too")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if used := budget.Used(); used != 0 {
		t.Errorf("%d bytes stay reserved", used)
	}
}
