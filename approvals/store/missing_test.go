package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/store"
	"github.com/heldcall/heldcall/approvals/store/subjects"
)

// A start reports a stream that was removed from an external server, and does not make it again.
// With AcceptLoss it makes the stream again, and the next start reports nothing. The bucket of leases
// is not reported: it is in memory and ends with its server.
func TestAStreamOfAnExternalServerIsMissing(t *testing.T) {
	t.Parallel()
	e := startExternal(t, 0, t.TempDir())
	conn, err := natsgo.Connect(e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	opened := func(accept bool) (loss string, err error) {
		s, err := store.Open(t.Context(), store.Options{URL: e.url, AcceptLoss: accept})
		if err != nil {
			return "", err
		}
		requests++
		if _, err := s.Requests.CreateRequest(t.Context(), approvals.Request{ID: fmt.Sprint("r", requests), Status: approvals.StatusPending}); err != nil {
			t.Error(err)
		}
		return s.Loss(), s.Close()
	}
	for _, name := range []string{
		"", "KV_" + store.BucketLeases, "KV_" + store.BucketRequests, "OBJ_" + store.BucketHeldObjects, subjects.StreamEvents,
	} {
		if loss, err := opened(false); loss != "" || err != nil {
			t.Fatalf("before %q is removed: %q, %v", name, loss, err)
		}
		if name == "" {
			continue
		}
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if name == "KV_"+store.BucketLeases {
			continue
		}
		_, err := opened(false)
		if lost := new(store.MissingError); !errors.As(err, &lost) || !slices.Equal(lost.Streams, []string{name}) {
			t.Errorf("without %s: %v", name, err)
		}
		if _, err := js.Stream(t.Context(), name); !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Errorf("%s was made again: %v", name, err)
		}
		if loss, err := opened(true); loss != "missing streams: "+name || err != nil {
			t.Errorf("the loss of %s is accepted: %q, %v", name, loss, err)
		}
	}
}

// The audit log names the streams. Without it, the rest of the state shows that they were there.
func TestTheAuditLogAndOtherStreamsAreMissing(t *testing.T) {
	t.Parallel()
	e := startExternal(t, 0, t.TempDir())
	conn, err := natsgo.Connect(e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Options{URL: e.url})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Grants.PutGrant(t.Context(), approvals.Grant{ID: "g"}, 0); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	removed := []string{subjects.StreamEvents, "KV_" + store.BucketRequests}
	slices.Sort(removed)
	for _, name := range removed {
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	_, err = store.Open(t.Context(), store.Options{URL: e.url})
	if lost := new(store.MissingError); !errors.As(err, &lost) || !slices.Equal(lost.Streams, removed) {
		t.Errorf("without %q: %v", removed, err)
	}
}
