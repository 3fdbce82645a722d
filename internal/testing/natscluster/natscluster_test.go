//go:build replicas && unix

package natscluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/heldcall/heldcall/internal/testing/natscluster"
)

// Two of three nodes accept writes, whatever happens to the third; it gets them afterwards.
func TestClusterLosesANode(t *testing.T) {
	c := natscluster.Start(t, 3)
	conn, err := nats.Connect(c.URLs(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.PingInterval(500*time.Millisecond), nats.Timeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "s", Subjects: []string{"s"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, fault := range []struct {
		name        string
		begin, undo func(int)
	}{
		{"kill", c.Kill, c.Restart},
		{"stop", c.Stop, c.Cont},
		{"cut", c.Cut, c.Heal},
	} {
		fault.begin(i)
		publish(t, js, fault.name)
		fault.undo(i)
		c.Await()
	}
	info, err := stream.Info(t.Context())
	if err != nil || info.State.Msgs < 3 {
		t.Errorf("%+v, %v", info, err)
	}
}

// publish publishes a message until the stream has it.
func publish(t *testing.T, js jetstream.JetStream, text string) {
	t.Helper()
	for start := time.Now(); ; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := js.Publish(ctx, "s", []byte(text))
		cancel()
		if err == nil {
			return
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// A node that is cut off has no contact with a leader, and has it again by itself.
func TestCutNodeIsNotHealthy(t *testing.T) {
	c := natscluster.Start(t, 3)
	c.CutRoutes(1)
	for start := time.Now(); c.Healthy(1) == nil; time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatal("a node without the others is healthy")
		}
	}
	if err := c.Healthy(0); err != nil {
		t.Errorf("a node with one other: %v", err)
	}
	c.Heal(1)
	c.Await()
}
