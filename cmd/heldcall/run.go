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
	Config  string   `placeholder:"FILE" env:"HELDCALL_CONFIG" help:"The configuration file. Without one the defaults hold."`
	LogFile string   `placeholder:"FILE" help:"Append heldcall's own log to this file, not to standard error."`
	Command []string `arg:"" passthrough:"" name:"command" help:"The command and its arguments, after --."`
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
	logTo, closeLog, err := c.openLog(s.err)
	if err != nil {
		return err
	}
	defer closeLog()
	log, err := newLog(logTo, config.Log)
	if err != nil {
		return err
	}
	warnOfUnread(log, c.Config)
	held, notes, err := onFreePorts(config, func(config app.Config) (*running, error) {
		return start(ctx, app.Options{Config: config, ConfigFile: c.Config, Log: log, Version: version()})
	})
	if errors.Is(err, errStart) {
		return besideAnother(ctx, err, &config)
	}
	if err != nil {
		return err
	}
	defer held.stop()
	command, note := equipAgent(command, os.LookupEnv, "http://"+reachable(held.ProxyAddr())+openAIPrefix(config.Proxy.Upstreams))
	if _, err := io.WriteString(s.err, notes+note); err != nil {
		return err
	}
	ended := runChild(ctx, command, childEnvironment(os.Environ(), held.ProxyAddr(), &held.config), s)
	held.stop() // so that all requests are counted
	if ranUnheld(held.App, ended) {
		fmt.Fprintf(s.err, "heldcall: %s sent nothing through heldcall, so nothing of it was held. "+
			"If it has a model, its address stands elsewhere: see docs/agents.md\n", printable(agentName(command)))
	}
	return ended
}

// ranUnheld reports whether the command has run and sent heldcall no request.
func ranUnheld(heldcall *app.App, ended error) bool {
	var child *childError
	if errors.Is(ended, errNotStarted) || errors.As(ended, &child) && (child.code == exitNotFound || child.code == exitNotExecutable) {
		return false
	}
	n, err := heldcall.AgentRequests()
	return err == nil && n == 0
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

func (c *runCommand) openLog(stderr io.Writer) (io.Writer, func(), error) {
	if c.LogFile == "" {
		return stderr, func() {}, nil
	}
	file, err := os.OpenFile(c.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
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
