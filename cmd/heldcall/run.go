package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/discovery"
	"github.com/heldcall/heldcall/cmd/heldcall/internal/launch"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/problem"
	"github.com/heldcall/heldcall/internal/sanitize"
)

type runCommand struct {
	Config    string `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"Configuration file. Uses built-in defaults if omitted."`
	LogFile   string `placeholder:"FILE" help:"Append heldcall's own log to this file, not to standard error. On a terminal, without this, it is in the folder of the run's state."`
	TokenFile string `placeholder:"FILE" help:"Write the token of this run to this file, which only you can read, for --token-file of the other commands. There is a token where no reviewers are configured."`
	Separate  bool   `help:"Start a heldcall for this command alone, also while another one runs. --log-file, --token-file, --accept-loss and --revoke-passkeys do so too."`
	repairs
	Command []string `arg:"" passthrough:"" name:"command" help:"The command and its arguments, after --."`
}

// Run runs the command with the address of a heldcall in place of its model's. That is the heldcall of another run of
// the user, or one that Run starts and that ends with the last command. It fails with a [*launch.ExitError] if the
// command did.
func (c *runCommand) Run(ctx context.Context, s *streams) error {
	command := c.Command
	if command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return usagef("name the command to run: heldcall run -- COMMAND ARG...")
	}
	if err := launch.CheckAgent(command); err != nil {
		return &usageError{err}
	}
	config, err := app.LoadConfig(c.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	alone := c.Separate || c.LogFile != "" || c.TokenFile != "" || c.AcceptLoss || c.RevokePasskeys != ""
	place, err := launch.Settle(ctx, launch.Options{Config: config, ConfigFile: c.Config, LogFile: c.LogFile, TokenFile: c.TokenFile, Command: command, In: s.in, Out: s.out}, version(), alone)
	if err != nil {
		return err
	}
	if place.Attached != nil {
		return runAttached(ctx, s, place, command)
	}
	if place.Claim != nil {
		defer place.Claim.Release()
	}
	logTo, closeLog, err := openLog(place.LogFile, s.err)
	if err != nil {
		return err
	}
	defer closeLog()
	log, err := newLog(logTo, config.Log)
	if err != nil {
		return err
	}
	warnOfUnread(log, c.Config)
	place.Warn(log)
	return c.host(ctx, s, place, command, log)
}

// host starts a heldcall, runs the command, and stops heldcall when the command and all attached agents have ended.
func (c *runCommand) host(ctx context.Context, s *streams, place *launch.Place, command []string, log *slog.Logger) error {
	var noticeLog *slog.Logger
	if place.LogFile != "" {
		noticeLog = log
	}
	n := launch.NewNotices(s.err, place.Terminal, place.Config.Notify.Terminal, noticeLog)
	defer n.Wait()
	host := launch.NewHost(place.Setup, log, n.Event)
	held, notes, err := launch.OnFreePorts(place.Config, func(config app.Config) (*running, error) {
		return start(ctx, app.Options{Config: config, ConfigFile: c.Config, KeepRights: true, Log: log, Version: version(), Notice: host.Event, AcceptLoss: c.AcceptLoss, RevokePasskeys: c.RevokePasskeys})
	})
	if errors.Is(err, errStart) {
		return besideAnother(ctx, err, &place.Config)
	}
	if err != nil {
		return err
	}
	defer held.stop()
	server, err := host.Serve(place.Claim, held.App, version(), c.Config)
	if err != nil {
		place.NoteUnfound(err)
	}
	defer server.Close()
	name := sanitize.Line(launch.AgentName(command))
	command, note := launch.EquipAgent(command, os.LookupEnv, "http://"+app.Reachable(held.ProxyAddr())+launch.OpenAIPrefix(place.Config.Proxy.Upstreams))
	if _, err := io.WriteString(s.err, place.Introduction(held.ConsoleURL())+place.Notes+notes+note); err != nil {
		return err
	}
	stay := newStay()
	defer stay.end()
	environment := launch.WithoutKeys(os.Environ(), place.StandIns, place.Config.OwnSecrets())
	ended := launch.Run(ctx, command, launch.Environment(environment, command, held.ProxyAddr(), &held.config), s.in, s.out, s.err)
	stay.forOthers(s.err, server, name)
	server.Close()
	held.stop() // so that all requests are counted
	if launch.Started(ended) {
		reportUnheld(s.err, launch.Report(held), name, ended)
	}
	return ended
}

// reportUnheld reports that nothing of a command could be held, if that is so. A command that failed before its first
// request has another problem, which it reports itself.
func reportUnheld(w io.Writer, r discovery.Report, name string, ended error) {
	if r.Requests == 0 && ended == nil {
		fmt.Fprintf(w, "heldcall: %s made no requests through heldcall, so nothing was reviewed. "+
			"Its model address is probably set elsewhere: see docs/agents.md\n", name)
	}
	if r.Model > 0 && r.Offering == 0 {
		fmt.Fprintf(w, "heldcall: %d requests, none offered tools: nothing could be held. "+
			"%s reads what to do from the model's text: see docs/agents.md\n", r.Model, name)
	}
}

// running is a heldcall that serves.
type running struct {
	*app.App
	config app.Config
	stop   func()
}

// start starts heldcall, and returns as soon as it serves. The command decides when
// to end, so from then on the end of the context does not stop it.
func start(ctx context.Context, options app.Options) (*running, error) {
	heldcall, err := app.New(options)
	if err != nil {
		return nil, err
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- heldcall.Run(serving) }()
	select {
	case err := <-served:
		cancel()
		return nil, fmt.Errorf("%w: %w", errStart, err)
	case <-ctx.Done():
		cancel()
		return nil, errors.Join(launch.ErrNotStarted, <-served)
	case <-heldcall.Started():
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := <-served; err != nil {
			options.Log.Error("heldcall has stopped", "error", err)
		}
	}()
	return &running{heldcall, options.Config, func() { cancel(); <-ended }}, nil
}

// errStart is why a heldcall whose configuration is right does not serve.
var errStart = errors.New("start heldcall")

// besideAnother adds to why heldcall did not start what to do if one runs already
// where the configuration has it.
func besideAnother(ctx context.Context, failed error, config *app.Config) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	other, err := client.New("http://" + config.Console.Listen)
	if err != nil {
		return failed
	}
	if err := other.Ready(ctx); err != nil && !errors.As(err, new(*problem.Problem)) {
		return failed // no answer, or another program
	}
	return fmt.Errorf("%w\nA heldcall runs already, and `heldcall run` starts one of its own. To use the one that runs:\n  OPENAI_BASE_URL=http://%s%s COMMAND",
		failed, app.Reachable(config.Proxy.Listen), launch.OpenAIPrefix(config.Proxy.Upstreams))
}

// openLog opens the file of heldcall's own log, or returns standard error if there is
// no file.
func openLog(name string, stderr io.Writer) (io.Writer, func(), error) {
	if name == "" {
		return stderr, func() {}, nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	return file, func() { file.Close() }, nil
}
