package store

import (
	"testing"

	natsgo "github.com/nats-io/nats.go"
)

// A machine that stands still for a moment does not keep heldcall from reaching the
// server within itself.
func TestOwnConnectionsAreGivenTime(t *testing.T) {
	s, err := Open(t.Context(), Options{Dir: t.TempDir(), Listen: "-"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, conn := range []*natsgo.Conn{s.conn, s.server.door.conn} {
		if conn.Opts.Timeout < ownTimeout {
			t.Errorf("%s has %s to connect", conn.Opts.Name, conn.Opts.Timeout)
		}
	}
}
