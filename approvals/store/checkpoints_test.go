//go:build replicas

package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/audit"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/approvals/store/subjects"
	"github.com/heldcall/heldcall/internal/testing/natscluster"
)

// TestReplicasSignOneLog: two replicas on a cluster sign the same log with their own keys, and
// each finds at its start what the other's retention has removed, and what somebody else has.
func TestReplicasSignOneLog(t *testing.T) {
	servers := natscluster.Start(t, 3)
	var stores []*store.Store
	var dirs []string
	for i := range 2 {
		s, _ := replica(t, servers.URL(i))
		stores, dirs = append(stores, s), append(dirs, t.TempDir())
	}
	open := func(i int, retention time.Duration) *audit.Keeper {
		t.Helper()
		k, err := audit.OpenKeeper(audit.Options{
			Log: stores[i].Events, Dir: dirs[i], Every: time.Minute, Retention: retention, Shared: true, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	appendTo := func(i int, id string) {
		t.Helper()
		if err := stores[i].Events.AppendEvents(t.Context(), approvals.Event{ID: id, Type: approvals.EventCallAllowed}); err != nil {
			t.Fatal(err)
		}
	}
	keepers := []*audit.Keeper{open(0, time.Hour), open(1, time.Hour)}
	for i := range 6 {
		appendTo(i%2, fmt.Sprint(i))
		for _, k := range keepers {
			if err := k.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	report, err := audit.Verifier{}.Verify(stores[0].Events.Entries(t.Context(), 1))
	if err != nil || report.Checkpoints != 12 || len(report.Signers) != 2 || report.Count != 18 {
		t.Fatalf("%+v, %v", report, err)
	}

	js, err := jetstream.New(stores[0].Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), subjects.StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	if err := open(0, time.Nanosecond).Retain(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := stores[1].Events.First(t.Context())
	if err != nil || first.Seq != 18 {
		t.Fatalf("after retention the log begins at %+v, %v", first, err)
	}
	for i := range keepers {
		if err := open(i, time.Hour).Verify(t.Context()); err != nil {
			t.Errorf("replica %d, after retention: %v", i, err)
		}
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(19)); err != nil {
		t.Fatal(err)
	}
	for i := range keepers {
		var broken *audit.BrokenError
		if err := open(i, time.Hour).Verify(t.Context()); !errors.As(err, &broken) || broken.Seq != 19 {
			t.Errorf("replica %d, after somebody has removed an entry: %v", i, err)
		}
	}
}
