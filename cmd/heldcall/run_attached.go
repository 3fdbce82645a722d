package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/internal/launch"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// runAttached runs a command whose agent the heldcall of another run serves. It knows no token.
func runAttached(ctx context.Context, s *streams, place *launch.Place, command []string) error {
	attached, upstreams := place.Attached, place.Config.Proxy.Upstreams
	n := launch.NewNotices(s.err, place.Terminal, nil)
	defer n.Wait()
	inbox := sanitize.Line(attached.Inbox)
	n.LinkTo(inbox)
	name := sanitize.Line(launch.AgentName(command))
	command, note := launch.EquipAgent(command, os.LookupEnv, "http://"+app.Reachable(attached.Proxy)+launch.OpenAIPrefix(upstreams))
	_, err := fmt.Fprintf(s.err, "%s%sheldcall: attached to the heldcall that runs: approve calls at %s\n", place.Notes, note, inbox)
	if err != nil {
		return err
	}
	reports := make(chan *discovery.Report, 1)
	go func() {
		report, whole := attached.Events(n.Event)
		if !whole {
			fmt.Fprintf(s.err, "heldcall: the heldcall that %s is attached to has ended, so its requests fail: start it again\n", name)
			reports <- nil
			return
		}
		reports <- &report
	}()
	environment := launch.WithoutKeys(os.Environ(), place.StandIns, place.Config.OwnSecrets())
	ended := launch.Run(ctx, command, launch.Environment(environment, attached.Proxy, &place.Config), s.in, s.out, s.err)
	attached.Leave()
	if report := <-reports; report != nil && launch.Started(ended) {
		reportUnheld(s.err, *report, name)
	}
	return ended
}

// stay keeps heldcall running after the command that it was started with, for agents that are attached.
type stay struct{ signals chan os.Signal }

// newStay notes the signals that end heldcall with its command: all that passes on but Ctrl-C, which is for the command.
func newStay() *stay {
	s := &stay{make(chan os.Signal, 1)}
	signal.Notify(s.signals, launch.NotIgnored(syscall.SIGTERM, syscall.SIGHUP)...)
	return s
}

func (s *stay) end() { signal.Stop(s.signals) }

// forOthers returns when no agent is attached, or after a signal, also an earlier one.
func (s *stay) forOthers(w io.Writer, server *discovery.Server, name string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signal.Notify(s.signals, launch.NotIgnored(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)...)
	if n := server.Attached(); n > 0 && len(s.signals) == 0 {
		fmt.Fprintf(w, "heldcall: %s has ended; heldcall stays until the agents that are attached to it (%d) end. Ctrl-C ends it now\n", name, n)
	}
	go func() {
		select {
		case <-s.signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	server.Drain(ctx)
}
