package app_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// shownWrites is the most that a held call may write to the store before it is shown: its turn,
// its request and its event. The message in the stream of requests shows it to bots.
const shownWrites = 3

// notCounted are streams that show the call to bots, or are written a time after the first call
// of a run and at intervals.
var notCounted = []string{subjects.StreamRequests, "KV_" + store.BucketRuns, "KV_" + store.BucketLeases}

// TestHeldCallWritesLittle counts the messages of all streams, buckets included, that the
// server has stored when a held call is in the list of pending requests.
func TestHeldCallWritesLittle(t *testing.T) {
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(soon) {
		t.Fatal("the NATS server does not start")
	}
	calls := 0
	w := build(t, "default: ask\n", func(r *fakemodel.Request) fakemodel.Reply {
		calls++
		return fakemodel.Answer{Text: "Let me see.", Calls: []fakemodel.Call{{ID: fmt.Sprint("call_", calls), Name: "transfer", Arguments: `{"amount":1}`}}}.Reply(r)
	}, func(c *app.Config) { c.NATS.URL = srv.ClientURL() })
	before := storedMessages(t, srv.ClientURL())
	for n := range 3 {
		body := fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":"task %d"}]}`, n)
		w.post("/v1/chat/completions", body, "X-Heldcall-Session", "s1", "X-Heldcall-Run", "r1")
		w.pending(n + 1)
		after := storedMessages(t, srv.ClientURL())
		wrote, total := maps.Clone(after), uint64(0)
		for stream := range wrote {
			wrote[stream] -= before[stream]
			if !slices.Contains(notCounted, stream) {
				total += wrote[stream]
			}
		}
		t.Logf("held call %d wrote %v", n+1, wrote)
		if total > shownWrites {
			t.Errorf("held call %d wrote %d messages to the store before it was shown, want at most %d: %v", n+1, total, shownWrites, wrote)
		}
		for before = nil; !maps.Equal(before, after); after = storedMessages(t, srv.ClientURL()) {
			before = after
			time.Sleep(50 * time.Millisecond) // writes that follow the display of a call do not count for the next call
		}
	}
}

// storedMessages returns the number of messages that each stream has ever stored.
func storedMessages(t *testing.T, url string) map[string]uint64 {
	t.Helper()
	conn, err := natsgo.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]uint64{}
	streams := js.ListStreams(t.Context())
	for s := range streams.Info() {
		stored[s.Config.Name] = s.State.LastSeq
	}
	if streams.Err() != nil {
		t.Fatal(streams.Err())
	}
	return stored
}
