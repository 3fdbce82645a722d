package natskv

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/heldcall/heldcall/approvals"
)

// lossy is a bucket with one key. Its first writes fail with errors, after they were done where
// that is in done.
type lossy struct {
	jetstream.KeyValue
	value    string
	revision uint64
	fail     []error
	done     []bool
	writes   int
	unread   int // reads that fail
}

type lossyEntry struct {
	jetstream.KeyValueEntry
	of lossy
}

func (e lossyEntry) Value() []byte    { return []byte(e.of.value) }
func (e lossyEntry) Revision() uint64 { return e.of.revision }

func (*lossy) Bucket() string { return "bucket" }

func (l *lossy) Update(_ context.Context, _ string, value []byte, revision uint64) (uint64, error) {
	n := l.writes
	l.writes++
	if n < len(l.fail) && !l.done[n] {
		return 0, l.fail[n]
	}
	if l.revision != revision {
		return 0, &jetstream.APIError{Code: http.StatusBadRequest, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence}
	}
	l.value, l.revision = string(value), l.revision+1
	if n < len(l.fail) {
		return 0, l.fail[n]
	}
	return l.revision, nil
}

func (l *lossy) Get(context.Context, string) (jetstream.KeyValueEntry, error) {
	if l.unread > 0 {
		l.unread--
		return nil, natsgo.ErrNoResponders
	}
	if l.revision == 0 {
		return nil, jetstream.ErrKeyNotFound
	}
	return lossyEntry{of: *l}, nil
}

// A compare-and-set whose reply is lost is tried again on a cluster, is done once, and does not
// replace what another has written.
func TestCompareAndSetAgain(t *testing.T) {
	lost := natsgo.ErrTimeout
	noSpace := &jetstream.APIError{Code: http.StatusServiceUnavailable, ErrorCode: 10023}
	full := &jetstream.APIError{Code: http.StatusServiceUnavailable, ErrorCode: 10077, Description: "maximum bytes exceeded"}
	for name, test := range map[string]struct {
		bucket   lossy
		revision uint64
		want     error
		writes   int
	}{
		"at once":                    {writes: 1},
		"not done, then done":        {bucket: lossy{fail: []error{lost, lost}, done: []bool{false, false}}, writes: 3},
		"done, reply lost":           {bucket: lossy{fail: []error{lost}, done: []bool{true}}, writes: 1},
		"done, reply lost, unread":   {bucket: lossy{fail: []error{lost}, done: []bool{true}, unread: 1}, writes: 2},
		"another has written":        {bucket: lossy{value: "other", revision: 7}, revision: 6, want: approvals.ErrConflict, writes: 1},
		"another has written, later": {bucket: lossy{value: "other", revision: 7, fail: []error{lost}, done: []bool{false}, unread: 1}, revision: 6, want: approvals.ErrConflict, writes: 2},
		"no space":                   {bucket: lossy{fail: []error{noSpace}, done: []bool{false}}, want: approvals.ErrStoreUnavailable, writes: 1},
		"full":                       {bucket: lossy{fail: []error{full}, done: []bool{false}}, want: approvals.ErrStoreUnavailable, writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := test.bucket
				b := Bucket{Backend: NewBackend(slog.New(slog.DiscardHandler), prometheus.NewRegistry()), KV: &kv}
				written, err := b.CompareAndSet(t.Context(), "key", []byte("mine"), test.revision)
				if !errors.Is(err, test.want) || kv.writes != test.writes {
					t.Fatalf("error %v after %d writes, want %v after %d", err, kv.writes, test.want, test.writes)
				}
				if err == nil && (written != kv.revision || kv.value != "mine" || kv.revision != 1) {
					t.Errorf("revision %d reported; the bucket has %q at revision %d", written, kv.value, kv.revision)
				}
			})
		})
	}
}

// An operation that waits for the cluster is not given up because the connection moves to
// another server.
func TestAgainWhileTheConnectionMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBackend(slog.New(slog.DiscardHandler), prometheus.NewRegistry())
		go func() {
			time.Sleep(2 * reconnectTime)
			b.state.disconnected()
			time.Sleep(reconnectTime / 2)
			b.state.reconnected()
		}()
		began := time.Now()
		err := b.Again(t.Context(), func() error {
			if time.Since(began) < 3*reconnectTime {
				return approvals.Unavailable("test", natsgo.ErrNoResponders)
			}
			return nil
		})
		if err != nil {
			t.Errorf("given up after %s: %v", time.Since(began), err)
		}
	})
}

// An operation counts the time without a connection from the loss on, and not at all while the
// callback of the loss has not come.
func TestWithoutConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		time.Sleep(10 * time.Second)
		for name, test := range map[string]struct {
			start, lost time.Time
			want        time.Duration
		}{
			"lost before the operation": {now.Add(8 * time.Second), now, 2 * time.Second},
			"lost during the operation": {now, now.Add(9 * time.Second), time.Second},
			"the callback is late":      {now, time.Time{}, 0},
		} {
			if got := withoutConnection(test.start, test.lost); got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
		}
	})
}

// A cluster that does not recover fails the write in the end, sooner without a connection.
func TestCompareAndSetGivesUp(t *testing.T) {
	for connected, limit := range map[bool]time.Duration{true: againTime, false: reconnectTime} {
		synctest.Test(t, func(t *testing.T) {
			kv := lossy{fail: make([]error, 1000), done: make([]bool, 1000)}
			for i := range kv.fail {
				kv.fail[i] = natsgo.ErrNoResponders
			}
			b := Bucket{Backend: NewBackend(slog.New(slog.DiscardHandler), prometheus.NewRegistry()), KV: &kv}
			if !connected {
				b.Backend.state.disconnected()
			}
			began := time.Now()
			_, err := b.CompareAndSet(t.Context(), "key", []byte("mine"), 0)
			if took := time.Since(began); !errors.Is(err, approvals.ErrStoreUnavailable) || took < limit || took > limit+2*failoverInterval {
				t.Errorf("connected %t: error %v after %s", connected, err, took)
			}
		})
	}
}
