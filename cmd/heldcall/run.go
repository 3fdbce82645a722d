package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/heldcall/heldcall/app"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/problem"
)

// Exit codes of a command that could not be started, as shells have them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

type runCommand struct {
	Config    string   `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"Configuration file. Uses built-in defaults if omitted."`
	LogFile   string   `placeholder:"FILE" help:"Append heldcall's own log to this file, not to standard error. On a terminal, without this, it is in the folder of the run's state."`
	TokenFile string   `placeholder:"FILE" help:"Write the token of this run to this file, which only you can read, for --token-file of the other commands. There is a token where no reviewers are configured."`
	Command   []string `arg:"" passthrough:"" name:"command" help:"The command and its arguments, after --."`
}

// Run starts heldcall, runs the command with its model's address pointing at
// it, and stops heldcall when the command has ended. It fails with a
// [*childError] if the command did.
func (c *runCommand) Run(ctx context.Context, s *streams) error {
	command := c.Command
	if command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return usagef("name the command to run: heldcall run -- COMMAND ARG...")
	}
	if err := notGated(command); err != nil {
		return err
	}
	config, err := app.LoadConfig(c.Config, os.LookupEnv)
	if err != nil {
		return err
	}
	u, err := c.prepare(config, s)
	if err != nil {
		return err
	}
	logTo, closeLog, err := openLog(u.logFile, s.err)
	if err != nil {
		return err
	}
	defer closeLog()
	log, err := newLog(logTo, config.Log)
	if err != nil {
		return err
	}
	warnOfUnread(log, c.Config)
	u.warn(log)
	n := &notices{out: s.err, terminal: u.terminal}
	if u.logFile != "" {
		n.log = log
	}
	defer n.shows.Wait()
	held, notes, err := onFreePorts(u.config, func(config app.Config) (*running, error) {
		return start(ctx, app.Options{Config: config, ConfigFile: c.Config, Log: log, Version: version(), Notice: n.event})
	})
	if errors.Is(err, errStart) {
		return besideAnother(ctx, err, &config)
	}
	if err != nil {
		return err
	}
	defer held.stop()
	n.at(held.ConsoleURL())
	command, note := equipAgent(command, os.LookupEnv, "http://"+reachable(held.ProxyAddr())+openAIPrefix(config.Proxy.Upstreams))
	if _, err := io.WriteString(s.err, u.notes+notes+note+u.introduction(held.ConsoleURL())); err != nil {
		return err
	}
	environment := withoutKeys(os.Environ(), u.standIns, u.config.OwnSecrets())
	ended := runChild(ctx, command, childEnvironment(environment, held.ProxyAddr(), &held.config), s)
	held.stop() // so that all requests are counted
	if hasRun(ended) {
		reportUnheld(s.err, held.App, printable(agentName(command)))
	}
	return ended
}

// hasRun reports whether a command that has ended so was started.
func hasRun(ended error) bool {
	var child *childError
	return !errors.Is(ended, errNotStarted) && (!errors.As(ended, &child) || child.code != exitNotFound && child.code != exitNotExecutable)
}

// reportUnheld reports that nothing of a command could be held, if that is so.
func reportUnheld(w io.Writer, heldcall *app.App, name string) {
	if n, err := heldcall.AgentRequests(); err == nil && n == 0 {
		fmt.Fprintf(w, "heldcall: %s made no requests through heldcall, so nothing was reviewed. "+
			"Its model address is probably set elsewhere: see docs/agents.md\n", name)
	}
	if requests, offering := heldcall.ToolOffers(); requests > 0 && offering == 0 {
		fmt.Fprintf(w, "heldcall: %d requests, none offered tools: nothing could be held. "+
			"%s reads what to do from the model's text: see docs/agents.md\n", requests, name)
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
		return nil, errors.Join(errNotStarted, <-served)
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

var (
	// errStart is why a heldcall whose configuration is right does not serve.
	errStart = errors.New("start heldcall")
	// errNotStarted is the end of a command that a signal prevented.
	errNotStarted = errors.New("stopped before the command was started")
)

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
		return failed // nobody answers, or another program
	}
	return fmt.Errorf("%w\nA heldcall runs already, and `heldcall run` starts one of its own. To use the one that runs:\n  OPENAI_BASE_URL=http://%s%s COMMAND",
		failed, reachable(config.Proxy.Listen), openAIPrefix(config.Proxy.Upstreams))
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

// runChild runs the command with heldcall's standard streams and hands signals
// on to it.
func runChild(ctx context.Context, command, environment []string, s *streams) error {
	child := exec.Command(command[0], command[1:]...)
	child.Stdin, child.Stdout, child.Stderr = s.in, s.out, s.err
	child.Env = environment
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, heeded(passedOn()...)...)
	defer signal.Stop(signals)
	if ctx.Err() != nil { // one came before they were listened to
		return errNotStarted
	}
	if err := child.Start(); err != nil {
		fmt.Fprintf(s.err, "heldcall: the command cannot be run: %s\n", printable(err.Error()))
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return &childError{exitNotFound}
		}
		return &childError{exitNotExecutable}
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case sig := <-signals:
			if !sentByTerminal(sig) {
				_ = child.Process.Signal(sig) // fails only if the child has just ended
			}
		case err := <-ended:
			if child.ProcessState == nil {
				return fmt.Errorf("wait for the command: %w", err)
			}
			if code := exitStatus(child.ProcessState); code != 0 {
				return &childError{code}
			}
			return nil
		}
	}
}
