// Package demo shows heldcall at work and needs nothing else: a real heldcall
// with its embedded NATS, a scripted model as its upstream, and a small agent that
// runs its tools in a temporary folder.
//
// [Open] sets the [Stage]. [Stage.NewAgent] gives an [Agent] to talk to, for a
// person who answers its calls; [Stage.PlayAll] plays every way a call can end
// and checks what each side saw.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/testing/fakemodel"
)

// Policy is what the demo's heldcall allows, asks about and denies.
const Policy = `default: ask
questions: {offer: [clarification, decision, env_var, input]}
tools:
  list_files:  {default: allow}
  read_file:   {resource: path, as: path, risk: low}
  run_command: {resource: command, as: shell, risk: high}
rules:
  - deny: ["read_file(**/.env)"]
    reason: Secrets stay where they are.
  - ask: ["run_command(cp *)"]
    timeout: 1s
  - allow: ["read_file(notes.txt)", "read_file(report.txt)"]
results:
  - redact: ["read_file(notes.txt)"]
    contains: ["Ann"]
  - ask: ["read_file(report.txt)"]
`

// keepalive is the time between heartbeats to an agent that waits.
const keepalive = time.Second

// Options configure the stage.
type Options struct {
	Config  app.Config   // where to listen; the rest is the demo's own
	Policy  string       // "" is [Policy]
	Log     *slog.Logger // of heldcall; nil discards
	Version string
}

// Stage is a running heldcall with its scripted model. [Stage.Close] ends it.
type Stage struct {
	Proxy   string // base URL for agents
	Console string // URL
	NATS    string // URL for bots; "" where the configuration names an external server
	Folder  string // holds everything the demo writes
	Client  *client.Client
	Ledger  *Ledger
	Model   *fakemodel.Server

	patience time.Duration  // see the constant
	closers  []func() error // in the order of the starts
}

// Open starts everything and returns when agents and reviewers are served.
// Nothing remains of a start that fails.
func Open(ctx context.Context, o Options) (*Stage, error) {
	s := &Stage{patience: patience}
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stage) open(ctx context.Context, o Options) (err error) {
	if s.Folder, err = os.MkdirTemp("", "heldcall-demo-"); err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	s.closers = append(s.closers, func() error { return os.RemoveAll(s.Folder) })
	if s.Model, err = fakemodel.New(unhurried(scriptedModel().Reply)); err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { s.Model.Close(); return nil })
	heldcall, err := s.startHeldcall(ctx, o)
	if err != nil {
		return fmt.Errorf("start heldcall: %w", err)
	}
	s.Proxy = "http://" + heldcall.ProxyAddr() + "/v1"
	s.Console = heldcall.ConsoleURL()
	if addr := heldcall.NATSAddr(); addr != "" {
		s.NATS = "nats://" + addr
	}
	if s.Client, err = client.New(s.Console); err != nil {
		return err
	}
	s.follow()
	return nil
}

func (s *Stage) startHeldcall(ctx context.Context, o Options) (*app.App, error) {
	c := o.Config
	c.Proxy.Upstreams = []app.Upstream{{Prefix: "/v1", URL: s.Model.URL()}}
	c.Proxy.Keepalive = keepalive
	c.NATS.Dir = filepath.Join(s.Folder, "data")
	c.Policy.File, c.Policy.FileNamed = filepath.Join(s.Folder, "policy.yaml"), true
	if err := os.WriteFile(c.Policy.File, []byte(cmp.Or(o.Policy, Policy)), 0o600); err != nil {
		return nil, err
	}
	heldcall, err := app.New(app.Options{Config: c, Log: o.Log, Version: o.Version})
	if err != nil {
		return nil, err
	}
	// It outlives the context: what talks to it has to end first.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- heldcall.Run(serving) }()
	end := sync.OnceValue(func() error { stop(); return <-ended })
	s.closers = append(s.closers, end)
	select {
	case <-heldcall.Started():
		return heldcall, nil
	case err := <-ended:
		ended <- nil
		return nil, cmp.Or(err, errors.New("it stopped at once"))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// follow keeps the ledger.
func (s *Stage) follow() {
	s.Ledger = newLedger()
	ctx, stop := context.WithCancel(context.Background())
	var following sync.WaitGroup
	following.Go(func() { s.Ledger.follow(ctx, s.Client) })
	s.closers = append(s.closers, func() error { stop(); following.Wait(); return nil })
}

// Close stops everything in the reverse order and removes the folder.
func (s *Stage) Close() error {
	var failed error
	for _, closer := range slices.Backward(s.closers) {
		failed = errors.Join(failed, closer())
	}
	s.closers = nil
	return failed
}
