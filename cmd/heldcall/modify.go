package main

import (
	"context"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/console/client"
	"github.com/heldcall/heldcall/internal/textview"
)

type modifyCommand struct {
	oneRequest
	Args    string `help:"Arguments to release instead of the model's. Opens $VISUAL or $EDITOR if omitted." placeholder:"JSON"`
	Note    string `help:"Reason, sent to the model." placeholder:"WHY"`
	Confirm string `help:"The text that the request asks you to type." placeholder:"TEXT"`
}

// Run releases a call with other arguments.
func (c *modifyCommand) Run(ctx context.Context, s *streams) error {
	console, request, err := c.find(ctx, s)
	if err != nil {
		return err
	}
	if request.Status.Final() {
		return &tooLate{&approvals.DecidedError{Request: request}}
	}
	if c.Args != "" {
		return c.release(ctx, s, console, request.ID, []byte(c.Args))
	}
	draft, err := newDraft(request.Arguments)
	if err != nil {
		return err
	}
	edited, err := draft.edit(s)
	if err == nil { // the keys of an editor may end the context: they were not meant for us
		err = c.release(context.WithoutCancel(ctx), s, console, request.ID, edited)
	}
	return draft.close(err)
}

// release has the call go on with these arguments.
func (c *modifyCommand) release(ctx context.Context, s *streams, console *client.Client, id string, arguments []byte) error {
	if err := textview.CheckJSON(arguments); err != nil {
		return usagef("the arguments are not valid JSON, so nothing was decided: %w", err)
	}
	return decideOne(ctx, s, console, c.outputFlag, approvals.Decision{
		RequestID: id, Action: approvals.ActionModifyArgs, ModifiedArgs: arguments, Note: c.Note, Confirm: c.Confirm,
	})
}
