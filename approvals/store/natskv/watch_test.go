package natskv

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
)

// slowServer makes a consumer in a time that it needs, unless the request ends before.
type slowServer struct {
	jetstream.JetStream
	needs time.Duration
}

func (s slowServer) CreateConsumer(ctx context.Context, _ string, _ jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	select {
	case <-time.After(s.needs):
		return emptyConsumer{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// emptyConsumer has no messages, and ends at once.
type emptyConsumer struct{ jetstream.Consumer }

func (emptyConsumer) CachedInfo() *jetstream.ConsumerInfo { return &jetstream.ConsumerInfo{} }

func (emptyConsumer) Messages(...jetstream.PullMessagesOpt) (jetstream.MessagesContext, error) {
	return noMessages{}, nil
}

type noMessages struct{ jetstream.MessagesContext }

func (noMessages) Next(...jetstream.NextOpt) (jetstream.Msg, error) {
	return nil, errors.New("the end")
}
func (noMessages) Stop() {}

// A watch of a server that is slow, but answers, is opened: its attempts may take longer each.
func TestWatchOfASlowServer(t *testing.T) {
	for _, needs := range []time.Duration{openTimeout / 2, 2*openTimeout - 1, OpTimeout - 1} {
		t.Run(needs.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := NewBackend(slog.New(slog.DiscardHandler), prometheus.NewRegistry())
				b.Conn, b.JS = &natsgo.Conn{}, slowServer{needs: needs}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				opened := false
				err := Bucket{KV: &lossy{}, Backend: b}.Watch(ctx, Watched{Current: func(current bool) {
					if current {
						opened = true
						cancel()
					}
				}})
				if err != nil || !opened {
					t.Errorf("opened: %t, %v", opened, err)
				}
			})
		})
	}
}
