package slack

import (
	"context"
	"errors"
	"fmt"
	"time"

	slackapi "github.com/slack-go/slack"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// channel is how what comes from Slack came.
const channel = "slack"

// refusal is what somebody is told privately whose click did nothing.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// handle does what somebody asked for on a card or in a form. The answer is for a
// form that was sent: nil closes it.
func (c *Channel) handle(ctx context.Context, click *slackapi.InteractionCallback) *slackapi.ViewSubmissionResponse {
	ctx, cancel := context.WithTimeout(ctx, clickTimeout)
	defer cancel()
	switch click.Type {
	case slackapi.InteractionTypeBlockActions:
		for _, action := range click.ActionCallback.BlockActions {
			if err := c.press(ctx, click, action); err != nil {
				c.tell(ctx, click, c.excuse(err))
			}
		}
	case slackapi.InteractionTypeViewSubmission:
		return c.submit(ctx, click)
	}
	return nil
}

// press does what a button says.
func (c *Channel) press(ctx context.Context, click *slackapi.InteractionCallback, action *slackapi.BlockAction) error {
	switch action.ActionID {
	case doApprove, doDeny, doAlways, doEdit, doNote:
	default:
		return nil // the link to the inbox
	}
	who, err := c.reviewer(ctx, click)
	if err != nil {
		return err
	}
	r, err := c.gate.Request(ctx, action.Value)
	switch {
	case err != nil:
		return err
	case r.Status.Final():
		return &approvals.DecidedError{Request: r}
	case !c.cards.offered(action.ActionID, &r):
		return refuse("This cannot be done from Slack: %s.", c.cards.link(r.ID, "decide in the inbox"))
	}
	if d, ok := decision(action.ActionID); ok {
		r, err := c.decide(ctx, who, r.ID, d)
		if err == nil && !r.Status.Final() {
			c.tell(ctx, click, "You approved. Waiting for "+mustWord(r.Missing())+".")
		}
		return err
	}
	if _, err := c.api.OpenViewContext(ctx, click.TriggerID, form(action.ActionID, &r, click.Channel.ID)); err != nil {
		return errorClass("views.open", err)
	}
	return nil
}

// decide hands a decision in and returns the request as it is then.
func (c *Channel) decide(ctx context.Context, who reviewers.Reviewer, id string, d approvals.Decision) (approvals.Request, error) {
	d.RequestID, d.Channel = id, channel
	who.Sign(&d)
	return c.gate.Decide(ctx, d)
}

// reviewer is who clicked, in the workspace that the token is of. Slack is asked
// whether the account is still one of a person: whoever has left keeps no right that
// the configuration still has.
func (c *Channel) reviewer(ctx context.Context, click *slackapi.InteractionCallback) (reviewers.Reviewer, error) {
	userID := click.User.ID
	var who reviewers.Reviewer
	known := false
	if c.reviewers != nil && userID != "" {
		who, known = c.reviewers.BySlack(userID)
	}
	if !known {
		return who, refuse("You are not a reviewer of this heldcall, so nothing was done. Whoever runs it can make you one: your Slack user id is %s.", mustWord(userID))
	}
	if !who.Role.Includes(reviewers.RoleReviewer) {
		return who, refuse("You may see requests and not decide them: your role is %s.", mustWord(string(who.Role)))
	}
	if err := c.atHome(ctx, click); err != nil {
		return who, err
	}
	user, err := c.api.GetUserInfoContext(ctx, userID)
	if err != nil {
		return who, errorClass("users.info", err)
	}
	if user.Deleted || user.IsBot || user.ID != userID {
		return who, refuse("Slack says that your account is not one of an active person, so nothing was done.")
	}
	return who, nil
}

func mustWord(text string) string {
	code, _ := word(text, maxName)
	return code
}

// tellTimeout bounds telling somebody that their click did nothing.
const tellTimeout = 5 * time.Second

// tell tells who clicked, and nobody else.
func (c *Channel) tell(ctx context.Context, click *slackapi.InteractionCallback, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	options := []slackapi.MsgOption{slackapi.MsgOptionText(text, false), slackapi.MsgOptionParse(false)}
	if thread := click.Message.ThreadTimestamp; thread != "" {
		options = append(options, slackapi.MsgOptionTS(thread))
	}
	if _, err := c.api.PostEphemeralContext(ctx, click.Channel.ID, click.User.ID, options...); err != nil {
		c.log.Warn("cannot reply to a click that had no effect", "error", errorClass("chat.postEphemeral", err))
	}
}

// excuse says in words for who clicked why nothing was done.
func (c *Channel) excuse(err error) string {
	var refused *refusal
	var decided *approvals.DecidedError
	var forbidden *approvals.ForbiddenError
	var invalid *approvals.InvalidError
	switch {
	case errors.As(err, &refused):
		return refused.text
	case errors.As(err, &decided):
		return "This was over before: " + statusText(&decided.Request) + "."
	case errors.As(err, &forbidden):
		return "You may not decide this: " + mustWord(forbidden.Reason) + "."
	case errors.As(err, &invalid):
		return "This was not taken: " + mustWord(invalid.Field+": "+invalid.Reason) + "."
	case errors.Is(err, approvals.ErrUnknownRequest):
		return "There is no such request any more."
	}
	c.log.Warn("a click in Slack could not be handled", "error", err)
	return "heldcall could not do this now. Whether it was done is not known: " + c.cards.link("", "look in the inbox") + ", or try again."
}
