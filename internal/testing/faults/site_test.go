//go:build faults

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/heldcall/heldcall/internal/testing/natscluster"
)

// site is the replicas of one store, with what lets them fail. It is used for many seeds.
type site struct {
	replicas []*replica
	cluster  *natscluster.Cluster // nil with an embedded store
	disk     string               // folder of a small disk with the embedded store, "" in a cluster
	front    *front
	model    *model
	steps    *steps
	bot      *natsgo.Conn // decides over NATS and reads the audit log
	log      chainReader
}

// newClusterSite starts three replicas on a cluster of three nodes.
func newClusterSite(t *testing.T, program, logs string) *site {
	s := &site{steps: newSteps(), cluster: natscluster.Start(t, 3)}
	s.begin(t, program, logs, 3, func(int) string { return fmt.Sprintf("url: %q", s.cluster.URLs()) })
	return s
}

// diskSize is the size of the small disk.
const diskSize = "size=96m"

// newEmbeddedSite starts a replica with an embedded store on a small disk, which needs root.
func newEmbeddedSite(t *testing.T, program, logs string) *site {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, diskSize); err != nil {
		t.Fatalf("mount a small disk, which needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := &site{steps: newSteps(), disk: dir}
	s.begin(t, program, logs, 1, func(int) string { return fmt.Sprintf("dir: %q", filepath.Join(dir, "data")) })
	return s
}

// begin starts the model, the replicas and the balancer.
func (s *site) begin(t *testing.T, program, logs string, n int, store func(int) string) {
	s.model = newModel(t, s.steps)
	for i := range n {
		name := fmt.Sprintf("replica%d", i)
		if s.disk != "" {
			name = "embedded"
		}
		s.replicas = append(s.replicas, newReplica(t, program, logs, name, s.model.server.URL(), store(i)))
	}
	s.front = newFront(t, s.steps, func() []string {
		var living []string
		for _, r := range s.living() {
			living = append(living, r.proxy)
		}
		return living
	})
	for _, r := range s.replicas {
		if err := errors.Join(r.start(), r.await(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	url := "nats://" + s.replicas[0].nats
	if s.cluster != nil {
		url = s.cluster.URLs()
	}
	bot, err := natsgo.Connect(url, natsgo.MaxReconnects(-1), natsgo.ReconnectWait(100*time.Millisecond),
		natsgo.PingInterval(time.Second), natsgo.MaxPingsOutstanding(2), natsgo.Timeout(time.Second),
		natsgo.ErrorHandler(func(*natsgo.Conn, *natsgo.Subscription, error) {})) // bots may not delete consumers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bot.Close)
	s.bot = bot
}

// living are the replicas that take connections.
func (s *site) living() []*replica {
	var living []*replica
	for _, r := range s.replicas {
		if r.alive() {
			living = append(living, r)
		}
	}
	return living
}

// any returns one of the living replicas, nil if there is none.
func (s *site) any() *replica {
	living := s.living()
	if len(living) == 0 {
		return nil
	}
	return living[rand.IntN(len(living))]
}

// heal starts what does not run, and waits until all replicas are ready.
func (s *site) heal(ctx context.Context) error {
	if s.cluster != nil {
		for i := range s.replicas {
			if s.cluster.PID(i) == 0 {
				s.cluster.Restart(i)
			}
			s.cluster.Heal(i)
		}
	} else if err := os.RemoveAll(s.filler()); err != nil {
		return err
	}
	var all errgroup.Group
	for _, r := range s.replicas {
		all.Go(func() error {
			r.ended() // a replica that has ended by itself is started again
			return errors.Join(r.start(), r.await(ctx))
		})
	}
	return all.Wait()
}

func (s *site) filler() string { return filepath.Join(s.disk, "filler") }

// cause lets a fault happen when its step has, and returns when it is over.
func (s *site) cause(ctx context.Context, f fault) error {
	s.steps.await(ctx, f.step, f.count, 4*time.Second)
	sleep(ctx, f.after)
	switch f.kind {
	case killReplica, termReplica:
		return s.restart(ctx, s.replicas[f.index], f)
	case rollAll:
		for i := range s.replicas {
			if err := s.restart(ctx, s.replicas[(f.index+i)%len(s.replicas)], fault{kind: termReplica, last: 100 * time.Millisecond}); err != nil {
				return err
			}
		}
	case stopReplica:
		s.replicas[f.index].freeze(ctx, f.last)
	case killNode:
		s.cluster.Kill(f.index)
		sleep(ctx, f.last)
		s.cluster.Restart(f.index)
	case pulseNode:
		for range 4 {
			pulse(ctx, s.cluster.PID(f.index), f.last/4)
			sleep(ctx, f.last/8)
		}
	case cutNode:
		s.cluster.Cut(f.index)
		sleep(ctx, f.last)
		s.cluster.Heal(f.index)
	case fillDisk:
		return s.fill(ctx, f.last)
	}
	return nil
}

// restart ends a replica and starts it again after the fault's time.
func (s *site) restart(ctx context.Context, r *replica, f fault) error {
	signal := syscall.SIGTERM
	if f.kind == killReplica {
		signal = syscall.SIGKILL
	}
	if err := r.end(signal); err != nil {
		return err
	}
	sleep(ctx, f.last)
	return errors.Join(r.start(), r.await(ctx))
}

// fill fills the disk of the embedded store for a time.
func (s *site) fill(ctx context.Context, last time.Duration) error {
	file, err := os.Create(s.filler())
	if err != nil {
		return fmt.Errorf("fill the disk: %w", err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 1<<20))
	}
	_ = file.Close()
	if !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("fill the disk: %w", err)
	}
	sleep(ctx, last)
	return os.Remove(s.filler())
}
