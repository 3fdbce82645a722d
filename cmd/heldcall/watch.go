package main

import (
	"context"
	"errors"
	"os"

	"github.com/charmbracelet/x/term"

	"github.com/heldcall/heldcall/console/watch"
)

type watchCommand struct{ connection }

// Run shows pending requests until the reviewer quits.
func (c *watchCommand) Run(ctx context.Context, s *streams) error {
	out, ok := s.out.(*os.File)
	if !ok || !term.IsTerminal(out.Fd()) {
		return usagef("watch needs a terminal, and standard output is not one; `heldcall requests` lists pending requests")
	}
	in, ok := s.in.(*os.File)
	if !ok || !term.IsTerminal(in.Fd()) {
		return usagef("watch needs a terminal, and standard input is not one; use `heldcall approve` and `heldcall deny`")
	}
	console, err := c.dial(ctx, s)
	if err != nil {
		return err
	}
	me, err := console.Me(ctx)
	if err != nil {
		return err
	}
	return watch.Run(ctx, watch.Options{
		Console: console, Me: me, In: in, Out: out,
		NewDraft: draftOnScreen,
	})
}

// draftOnScreen makes a draft. Its error names no flags: a reviewer in watch has only
// keys.
func draftOnScreen(arguments []byte) (watch.Draft, error) {
	d, err := newDraft(arguments)
	if errors.Is(err, errNoEditor) {
		return nil, errors.New("there is no editor: set VISUAL or EDITOR and start watch again, or use `heldcall modify ID --args JSON`")
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}
