package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"slices"

	"github.com/heldcall/heldcall/internal/sanitize"
)

// Exit codes of a command that could not be started, as shells have them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// ExitError reports that a command has failed. It has printed the reason itself.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the command exited with %d", e.Code) }

// ErrNotStarted is the end of a command that a signal prevented.
var ErrNotStarted = errors.New("stopped before the command was started")

// Started reports whether a command that has ended with an error was started.
func Started(ended error) bool {
	var failed *ExitError
	switch {
	case errors.Is(ended, ErrNotStarted):
		return false
	case errors.As(ended, &failed):
		return failed.Code != exitNotFound && failed.Code != exitNotExecutable
	}
	return true
}

// Signals returns the signals that end a command, and not heldcall before it.
func Signals() []os.Signal { return NotIgnored(passedOn()...) }

// NotIgnored leaves out the signals that heldcall was started to ignore, as nohup does.
func NotIgnored(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, signal.Ignored)
}

// Run runs a command and passes signals on to it. It fails with [*ExitError] if the command
// did, and with [ErrNotStarted] if the context has ended before.
func Run(ctx context.Context, command, environment []string, stdin io.Reader, stdout, stderr io.Writer) error {
	child := exec.Command(command[0], command[1:]...)
	child.Stdin, child.Stdout, child.Stderr = stdin, stdout, stderr
	child.Env = environment
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, Signals()...)
	defer signal.Stop(signals)
	if ctx.Err() != nil { // one came before they were listened to
		return ErrNotStarted
	}
	if err := child.Start(); err != nil {
		fmt.Fprintf(stderr, "heldcall: the command cannot be run: %s\n", sanitize.Line(err.Error()))
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			return &ExitError{exitNotFound}
		}
		return &ExitError{exitNotExecutable}
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
				return &ExitError{code}
			}
			return nil
		}
	}
}
