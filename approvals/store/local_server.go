package store

import (
	"context"
	"errors"
	"time"

	"github.com/heldcall/heldcall/approvals/store/embedded"
	"github.com/heldcall/heldcall/approvals/store/natskv"
)

// natsServer is the NATS server of a store.
type natsServer struct {
	local *localServer // nil: it is an external one
	lost  MissingError // streams of an external server whose loss is accepted
}

// localServer is the embedded server of a store, with the service for its clients.
type localServer struct {
	*embedded.Server
	backend   *natskv.Backend
	consumers *embedded.ConsumerService // nil before serveConsumers
}

// reconnectWait is the time limit for the connection to the embedded server after its restart.
const reconnectWait = 30 * time.Second

// recordInterval is the time between two records of the state of the streams. Writes that are
// lost in a crash may not be noticed if they are later than the last record.
const recordInterval = 5 * time.Second

// startServer starts the embedded server and connects to it.
func (s *Store) startServer(o Options) error {
	local, err := embedded.Start(embedded.Options{
		Dir: o.Dir, Listen: o.Listen, Reviewers: o.Reviewers, ReviewersOnly: o.ReviewersOnly, Channels: o.Channels,
		Kept: kept(o.Retention), Unrecorded: unrecorded(), Erased: []string{"KV_" + BucketSecrets}, AcceptLoss: o.AcceptLoss, Memory: o.Memory, Log: o.Log,
	})
	if err != nil {
		return err
	}
	s.server.local = &localServer{Server: local, backend: s.backend}
	s.backend.UseDisk(o.Dir, s.server.local.restart)
	return s.backend.Connect("", local.ConnectOptions())
}

// serveConsumers answers the clients of the server: see [embedded.ServeConsumers].
func (l *localServer) serveConsumers() (err error) {
	l.consumers, err = l.Server.ServeConsumers(l.backend.Conn, l.backend.Log)
	return err
}

// restart restarts the server and waits until it is connected: a write meanwhile would
// fail.
func (l *localServer) restart() error {
	reconnected := l.backend.NextReconnect()
	if err := l.Restart(); err != nil {
		return err
	}
	select {
	case <-reconnected:
		return nil
	case <-time.After(reconnectWait):
		return errors.New("it does not accept the connection of heldcall")
	}
}

// recordState records the state of the streams until the context ends.
func (l *localServer) recordState(ctx context.Context) {
	ticker := time.NewTicker(recordInterval)
	defer ticker.Stop()
	for {
		l.record()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (l *localServer) record() {
	if l.backend.Disk.Failing() {
		return // the server restarts then
	}
	if err := l.backend.Disk.Wrote("states", l.Record()); err != nil {
		l.backend.Log.Error("failed to record the state of the streams; trying again", "error", err)
	}
}

// close closes the connection and the server. It first records the state of the streams if
// they were opened.
func (l *localServer) close(opened bool) error {
	if l.consumers != nil {
		l.consumers.Close()
	}
	if opened {
		l.record()
	}
	l.backend.Close()
	return l.Close()
}

// Disconnect ends the connections of reviewers to the embedded server. An external one authenticates them by itself.
func (s *Store) Disconnect(names []string) error {
	if s.server.local == nil {
		return nil
	}
	return s.server.local.Disconnect(names)
}

// UseChannels replaces the channels of the options. It disconnects the clients of the embedded server.
func (s *Store) UseChannels(names []string) error {
	if s.server.local == nil {
		return nil
	}
	return s.server.local.UseChannels(names)
}

// Loss returns the parts of the state that were missing or damaged at the start and whose
// loss was accepted, "" for none.
func (s *Store) Loss() string {
	if s.server.local == nil {
		return s.server.lost.Details()
	}
	return (&embedded.LossError{Losses: s.server.local.Losses()}).Details()
}

// ListenAddr returns the address of the embedded server for bots, "" if there is none.
func (s *Store) ListenAddr() string {
	if s.server.local == nil {
		return ""
	}
	return s.server.local.Addr()
}
