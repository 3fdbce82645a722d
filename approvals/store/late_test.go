package store_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/heldcall/heldcall/approvals"
)

// late delays each write.
type late struct{ io.Writer }

func (l late) Write(p []byte) (int, error) {
	time.Sleep(50 * time.Millisecond)
	return l.Writer.Write(p)
}

// A replica whose watch is late, as after the loss of its server, still knows what others have
// stored before a request is read: else the request of an agent that has lost its connection
// would be sent to the upstream again.
func TestPromise12_AskedOnce_WatchIsLate(t *testing.T) {
	t.Parallel()
	e := startExternal(t, 0, t.TempDir())
	url := startRelay(t, e.url, func(relays *sync.WaitGroup, client, server net.Conn) {
		relays.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
		relays.Go(func() { _, _ = io.Copy(late{client}, server); _ = client.Close() })
	}, func() {})
	one, two := keepingReplica(t, e.url), keepingReplica(t, url)
	t.Cleanup(func() { _ = two.store.Close() }) // before the end of the relay
	a, _ := one.keep(t, "t1")
	if two.keeper.Await(t.Context()); !two.is("t1", approvals.AgentAttached)() {
		t.Errorf("the other replica knows %+v", two.keeper.Candidates("t1"))
	}
	if err := a.Detach(t.Context()); err != nil {
		t.Fatal(err)
	}
	if two.keeper.Await(t.Context()); !two.is("t1", approvals.AgentDetached)() {
		t.Errorf("the other replica knows %+v", two.keeper.Candidates("t1"))
	}
}
