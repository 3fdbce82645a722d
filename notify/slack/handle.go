package slack

import (
	"context"
	"errors"
	"strings"
	"time"

	slackapi "github.com/slack-go/slack"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
)

// clickTimeout bounds what follows from a click: Slack waits three seconds for the
// answer to a form.
const clickTimeout = 2500 * time.Millisecond

// handle does the action of a click on a card or in a form. The answer is for a form that
// was sent: nil closes it.
func (c *clicks) handle(ctx context.Context, click *slackapi.InteractionCallback) *slackapi.ViewSubmissionResponse {
	ctx, cancel := context.WithTimeout(ctx, clickTimeout)
	defer cancel()
	switch click.Type {
	case slackapi.InteractionTypeBlockActions:
		for _, action := range click.ActionCallback.BlockActions {
			press := c.press
			if ofEach[action.ActionID] != "" {
				press = c.pressAll
			}
			if err := press(ctx, click, action); err != nil {
				c.reply(ctx, click, c.excuse(err))
			}
		}
	case slackapi.InteractionTypeViewSubmission:
		return c.submit(ctx, click)
	}
	return nil
}

// pressAll decides the calls of a button for a question, which are those that its card has shown. Those that are decided by now
// stay as they are. The reply to the person names those that cannot be decided.
func (c *clicks) pressAll(ctx context.Context, click *slackapi.InteractionCallback, action *slackapi.BlockAction) error {
	who, err := c.reviewer(ctx, click)
	if err != nil {
		return err
	}
	one, ids := ofEach[action.ActionID], strings.Split(action.Value, ",")
	if one == doApprove && !c.isOneQuestion(ctx, who, ids) {
		return refuse("These calls are not one question now, so nothing was approved. Decide each by its own buttons.")
	}
	var failed, missing []string
	for _, id := range ids {
		r, err := c.decideOffered(ctx, who, one, id)
		decided := (*approvals.DecidedError)(nil)
		switch {
		case errors.As(err, &decided):
		case err != nil:
			failed = append(failed, c.excuse(err))
		case !r.Status.Final():
			missing = append(missing, mustWord(r.Missing()))
		}
	}
	if len(missing) > 0 {
		c.reply(ctx, click, "You approved. Waiting for "+strings.Join(compact(missing), "; ")+".")
	}
	if len(failed) > 0 {
		return refuse("%s", strings.Join(compact(failed), "\n"))
	}
	return nil
}

// isOneQuestion reports whether those of the calls that are pending are one question: the card may be older than its calls are.
func (c *clicks) isOneQuestion(ctx context.Context, who reviewers.Reviewer, ids []string) bool {
	var requests []approvals.Request
	for _, id := range ids {
		if r, err := c.request(ctx, who, id); err == nil { // a decision reports the error
			requests = append(requests, r)
		}
	}
	return len(approvals.JointQuestions(requests)) <= 1
}

// decideOffered decides a call by a button that its card has.
func (c *clicks) decideOffered(ctx context.Context, who reviewers.Reviewer, action, id string) (approvals.Request, error) {
	r, err := c.request(ctx, who, id)
	switch {
	case err != nil:
		return r, err
	case r.Status.Final():
		return r, &approvals.DecidedError{Request: r}
	case !c.cards.offered(action, &r):
		return r, refuse("Not possible from Slack: %s.", c.cards.link(r.ID, "decide in the inbox"))
	}
	return c.decide(ctx, who, r.ID, approvals.Decision{Action: decisions[action]})
}

// compact returns a list without repetitions, in its order.
func compact(list []string) []string {
	var once []string
	known := map[string]bool{}
	for _, one := range list {
		if !known[one] {
			known[one] = true
			once = append(once, one)
		}
	}
	return once
}
