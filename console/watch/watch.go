// Package watch hides the terminal on which it shows pending requests: a list that is kept
// current, a request in full, and the keys to decide it. It asks the console through its Go
// client.
//
// [Run] starts it. [Model] is pure: Update takes a message (messages.go) and returns
// effects as commands. A Model has three parts: the connection, the list of requests
// (requests.go), and the review of the one that is shown (review.go) with its pager and
// its question. All text of others goes through internal/sanitize before it is drawn.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/console/live"
	"github.com/heldcall/heldcall/console/problem"
)

const (
	leastPause = 500 * time.Millisecond // before a lost connection is tried again
	mostPause  = 10 * time.Second
)

// Draft is arguments that are edited in a program of their own.
type Draft interface {
	// Command opens them in the reviewer's editor.
	Command() *exec.Cmd
	// Result returns the edited arguments.
	Result() ([]byte, error)
	// Discard removes what was written to disk.
	Discard() error
}

// Options is what [Run] needs.
type Options struct {
	Console *client.Client
	Me      client.Self // as the console knows the client
	In      io.Reader   // the keyboard
	Out     io.Writer   // the terminal
	// NewDraft makes a draft of arguments; it fails where there is no editor, with
	// what to do then.
	NewDraft func(arguments []byte) (Draft, error)
}

// Run draws until the reviewer quits, the context ends, or the console refuses the
// reviewer, which it returns as an error.
func Run(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	program := tea.NewProgram(New(o.Me, &commands{ctx, o}, time.Now()),
		tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		follow(ctx, o.Console, program.Send)
	}()
	final, err := program.Run()
	cancel()
	<-followed
	if errors.Is(err, tea.ErrProgramKilled) && errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("draw on the terminal: %w", err)
	}
	return final.(Model).failure
}

// follow keeps a WebSocket to the console and passes its messages on, until the context
// ends or the console refuses.
func follow(ctx context.Context, console *client.Client, send func(tea.Msg)) {
	last, pause := "", leastPause
	for {
		err := followOne(ctx, console, &last, func(msg tea.Msg) { pause = leastPause; send(msg) })
		if ctx.Err() != nil {
			return
		}
		if p := (*problem.Problem)(nil); errors.As(err, &p) && (p.Status == 401 || p.Status == 403) {
			send(refusedMsg{err})
			return
		}
		send(lostMsg{err})
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, mostPause)
	}
}

func followOne(ctx context.Context, console *client.Client, last *string, send func(tea.Msg)) error {
	socket, err := console.Live(ctx, *last)
	if err != nil {
		return err
	}
	defer socket.Close()
	send(openedMsg{})
	for {
		update, err := socket.Next(ctx)
		if err != nil {
			return err
		}
		if update.EventID != "" {
			*last = update.EventID
		}
		if update.Type == live.TypeReady {
			send(readyMsg{update.Ready.Pending})
			continue
		}
		send(requestMsg{update.Request})
	}
}

type commands struct {
	ctx context.Context //nolint:containedctx // of the program, which has no other way to hand it on
	o   Options
}

func (c *commands) decide(d approvals.Decision) tea.Cmd {
	return func() tea.Msg {
		request, err := c.o.Console.Decide(c.ctx, d)
		return decidedMsg{d, request, err}
	}
}

func (c *commands) load(id string) tea.Cmd {
	return func() tea.Msg {
		request, err := c.o.Console.Request(c.ctx, id)
		return wholeMsg{id, request, err}
	}
}

func (c *commands) suggest(id string) tea.Cmd {
	return func() tea.Msg {
		items, err := c.o.Console.Suggestions(c.ctx, id)
		if err != nil {
			items = nil // the patterns can be chosen without their effects
		}
		return suggestedMsg{id, items}
	}
}

func (c *commands) edit(id string, arguments []byte) tea.Cmd {
	draft, err := c.o.NewDraft(arguments)
	if err != nil {
		return func() tea.Msg { return draftMsg{id: id, err: err} }
	}
	return tea.ExecProcess(draft.Command(), func(err error) tea.Msg {
		var text []byte
		if err == nil {
			text, err = draft.Result()
		}
		return draftMsg{id, text, errors.Join(err, draft.Discard())}
	})
}
