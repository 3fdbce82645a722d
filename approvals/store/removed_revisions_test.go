package store_test

import (
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals/store"
)

// A replica that starts when the last records are no longer there, such as the marker of a turn that
// has ended, finds out once that there is nothing to read.
func TestAwaitAfterTheLastRecordsAreRemoved(t *testing.T) {
	t.Parallel()
	e := startExternal(t, 0, t.TempDir())
	first := keepingReplica(t, e.url)
	a, _ := first.keep(t, "t1")
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.stop()
	conn, err := natsgo.Connect(e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, bucket := range []string{store.BucketHeld, store.BucketHeldStates} {
		stream, err := js.Stream(t.Context(), "KV_"+bucket)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	second := keepingReplica(t, e.url)
	for i, most := range []time.Duration{12 * time.Second, time.Second} {
		began := time.Now()
		if second.keeper.Await(t.Context()); time.Since(began) > most {
			t.Errorf("request %d waits %s", i+1, time.Since(began))
		}
	}
}
