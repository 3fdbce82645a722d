package embedded

import (
	"log/slog"
	"testing"

	natsgo "github.com/nats-io/nats.go"
)

// Connections to the server in the process have a long time limit, for busy machines.
func TestOwnConnectionsAreGivenTime(t *testing.T) {
	s, err := Start(Options{Dir: t.TempDir(), Listen: "-", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	own, err := natsgo.Connect("", s.ConnectOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	consumers, err := s.ServeConsumers(own, s.opts.Log)
	if err != nil {
		t.Fatal(err)
	}
	defer consumers.Close()
	for _, conn := range []*natsgo.Conn{own, consumers.conn} {
		if conn.Opts.Timeout < connectTimeout {
			t.Errorf("%s has %s to connect", conn.Opts.Name, conn.Opts.Timeout)
		}
	}
}
