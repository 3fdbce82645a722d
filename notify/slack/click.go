package slack

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

type clicks struct {
	api       api
	gate      *gate.Gate
	reviewers *reviewers.Directory // nil: nothing is decided from Slack
	cards     *cards
	home      home
	log       *slog.Logger
}

func (c *clicks) press(ctx context.Context, click *slackapi.InteractionCallback, action *slackapi.BlockAction) error {
	option, isOption := strings.CutPrefix(action.ActionID, doOption)
	switch action.ActionID {
	case doApprove, doDeny, doAlways, doEdit, doNote, doAnswer:
	default:
		if !isOption {
			return nil // the link to the inbox
		}
	}
	who, err := c.reviewer(ctx, click)
	if err != nil {
		return err
	}
	r, err := c.request(ctx, who, action.Value)
	switch {
	case err != nil:
		return err
	case r.Status.Final():
		return &approvals.DecidedError{Request: r}
	case !c.cards.offered(action.ActionID, &r):
		return refuse("Not possible from Slack: %s.", c.cards.link(r.ID, "decide in the inbox"))
	}
	if isOption {
		_, err := c.decide(ctx, who, r.ID, approvals.Decision{
			Action: approvals.ActionAnswer, Response: approvals.Response{Selected: []string{optionOf(&r.Details.Questions[0], option)}},
		})
		return err
	}
	if decided, ok := decisions[action.ActionID]; ok {
		r, err := c.decide(ctx, who, r.ID, approvals.Decision{Action: decided})
		if err == nil && !r.Status.Final() {
			c.reply(ctx, click, "You approved. Waiting for "+mustWord(r.Missing())+".")
		}
		return err
	}
	if _, err := c.api.OpenViewContext(ctx, click.TriggerID, form(action.ActionID, &r, click.Channel.ID)); err != nil {
		return apiError("views.open", err)
	}
	return nil
}

// request returns a request of a tenant that who clicked sees.
func (c *clicks) request(ctx context.Context, who reviewers.Reviewer, id string) (approvals.Request, error) {
	r, err := c.gate.Request(ctx, id)
	if err == nil && !who.Tenants.Has(r.Principal.Tenant) {
		return approvals.Request{}, approvals.ErrUnknownRequest
	}
	return r, err
}

func (c *clicks) decide(ctx context.Context, who reviewers.Reviewer, id string, d approvals.Decision) (approvals.Request, error) {
	d.RequestID, d.Channel = id, channelName
	who.Sign(&d)
	return c.gate.Decide(ctx, d)
}

// reviewer returns who clicked, in the workspace of the token. Slack is asked whether the
// account still is one of a person: those who have left lose the rights that the
// configuration still gives them.
func (c *clicks) reviewer(ctx context.Context, click *slackapi.InteractionCallback) (reviewers.Reviewer, error) {
	userID := click.User.ID
	var who reviewers.Reviewer
	known := false
	if c.reviewers != nil && userID != "" {
		who, known = c.reviewers.BySlack(userID)
	}
	if !known {
		return who, refuse("You are not a reviewer, so nothing was done. Ask your administrator to add your Slack user id: %s.", mustWord(userID))
	}
	if !who.Role.Includes(reviewers.RoleReviewer) {
		return who, refuse("You have view-only access: your role is %s.", mustWord(string(who.Role)))
	}
	if err := c.atHome(ctx, click); err != nil {
		return who, err
	}
	user, err := c.api.GetUserInfoContext(ctx, userID)
	if err != nil {
		return who, apiError("users.info", err)
	}
	if user.Deleted || user.IsBot || user.ID != userID {
		return who, refuse("Your Slack account is not that of an active person, so nothing was done.")
	}
	return who, nil
}

const replyTimeout = 5 * time.Second

func (c *clicks) reply(ctx context.Context, click *slackapi.InteractionCallback, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), replyTimeout)
	defer cancel()
	options := []slackapi.MsgOption{slackapi.MsgOptionText(text, false), slackapi.MsgOptionParse(false)}
	if thread := click.Message.ThreadTimestamp; thread != "" {
		options = append(options, slackapi.MsgOptionTS(thread))
	}
	if _, err := c.api.PostEphemeralContext(ctx, click.Channel.ID, click.User.ID, options...); err != nil {
		c.log.Warn("cannot reply to a click that had no effect", "error", apiError("chat.postEphemeral", err))
	}
}

func (c *clicks) excuse(err error) string {
	var refused *refusal
	var decided *approvals.DecidedError
	var forbidden *approvals.ForbiddenError
	var invalid *approvals.InvalidError
	switch {
	case errors.As(err, &refused):
		return refused.text
	case errors.As(err, &decided):
		return "Too late: " + statusText(&decided.Request) + "."
	case errors.As(err, &forbidden):
		return "You can't decide this: " + mustWord(forbidden.Reason) + "."
	case errors.As(err, &invalid):
		return "Not accepted: " + mustWord(invalid.Field+": "+invalid.Reason) + "."
	case errors.Is(err, approvals.ErrUnknownRequest):
		return "This request no longer exists."
	}
	c.log.Warn("a click in Slack could not be handled", "error", err)
	if text, certain := approvals.NotRecorded(err); certain {
		return text
	}
	return "heldcall failed, and your click may or may not have had an effect: " + c.cards.link("", "look in the inbox") + ", or try again."
}
