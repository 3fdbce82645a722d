package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
	"github.com/heldcall/heldcall/internal/sanitize"
)

// runAttached runs a command whose agent is served by the heldcall of another run. This run has no token.
func runAttached(ctx context.Context, s *streams, place *launch.Place, command []string) error {
	attached, upstreams := place.Attached, place.Config.Proxy.Upstreams
	n := launch.NewNotices(s.err, place.Terminal, place.Config.Notify.Terminal, nil)
	defer n.Wait()
	inbox := sanitize.Line(attached.Inbox)
	name := sanitize.Line(launch.AgentName(command))
	command, note := launch.EquipAgent(command, os.LookupEnv, "http://"+app.Reachable(attached.Proxy)+launch.OpenAIPrefix(upstreams))
	_, err := fmt.Fprintf(s.err, "heldcall: attached to the heldcall that runs: approve calls at %s\n%s", inbox, place.PolicyNote()+place.Notes+note)
	if err != nil {
		return err
	}
	reports := make(chan *discovery.Report, 1)
	go func() {
		report, whole := attached.Events(n.Event)
		if !whole {
			fmt.Fprintf(s.err, "heldcall: the heldcall that %s is attached to has ended, so requests of %s fail: start it again\n", name, name)
			reports <- nil
			return
		}
		reports <- &report
	}()
	environment := launch.WithoutKeys(os.Environ(), place.StandIns, place.Config.OwnSecrets())
	ended := launch.Run(ctx, command, launch.Environment(environment, command, attached.Proxy, &place.Config), s.in, s.out, s.err)
	attached.Leave()
	if report := <-reports; report != nil && launch.Started(ended) {
		reportUnheld(s.err, *report, name, ended)
	}
	return ended
}

// stay keeps heldcall running for attached agents after the command of its run has ended.
type stay struct{ signals chan os.Signal }

// newStay begins to record the signals that end heldcall and its command: SIGTERM and SIGHUP. Ctrl-C is for the
// command alone.
func newStay() *stay {
	s := &stay{make(chan os.Signal, 1)}
	signal.Notify(s.signals, launch.NotIgnored(syscall.SIGTERM, syscall.SIGHUP)...)
	return s
}

func (s *stay) end() { signal.Stop(s.signals) }

// forOthers waits until no agent is attached, or until a signal, which may have come earlier.
func (s *stay) forOthers(w io.Writer, server *discovery.Server, name string) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signal.Notify(s.signals, launch.NotIgnored(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)...)
	if n := server.Attached(); n > 0 && len(s.signals) == 0 {
		fmt.Fprintf(w, "heldcall: %s has ended; heldcall runs until its attached agents (%d) end. Ctrl-C ends it now\n", name, n)
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
