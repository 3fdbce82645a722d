package slack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"

	slackapi "github.com/slack-go/slack"

	"github.com/heldcall/heldcall/notify"
)

// hopeless are the answers of Slack that stay the same however often it is asked.
// What an operator can put right meanwhile, such as a token or an invitation, is not
// among them.
var hopeless = []string{
	"channel_not_found", "is_archived", "message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found",
	"invalid_blocks", "invalid_blocks_format", "invalid_arguments", "invalid_metadata_format", "msg_too_long", "msg_blocks_too_long",
	"no_text", "restricted_action", "cannot_reply_to_message",
}

// verdict says whether an error of Slack's API is for good. It names the method and
// Slack's own word for what is wrong, and nothing of what was sent.
func (c *Channel) verdict(method string, err error) error {
	var limited *slackapi.RateLimitedError
	var refused slackapi.SlackErrorResponse
	var status slackapi.StatusCodeError
	switch {
	case errors.As(err, &limited):
		return notify.RetryAfter(fmt.Errorf("%s: Slack limits the rate", method), limited.RetryAfter)
	case errors.As(err, &refused):
		err := fmt.Errorf("%s: Slack answers %q", method, refused.Err)
		if slices.Contains(hopeless, refused.Err) {
			return notify.Permanent(err)
		}
		return err
	case errors.As(err, &status):
		err := fmt.Errorf("%s: Slack answers with status %d", method, status.Code)
		if status.Code == http.StatusBadRequest || status.Code == http.StatusNotFound || status.Code == http.StatusRequestEntityTooLarge {
			return notify.Permanent(err)
		}
		return err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: Slack does not answer: %w", method, contextError(err))
	}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return fmt.Errorf("%s: Slack does not answer in time", method)
	}
	return fmt.Errorf("%s: Slack cannot be reached, or its answer not be read (%T)", method, rootOf(err))
}

func contextError(err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return context.DeadlineExceeded
}

// rootOf is the innermost error: its type says what happened, and holds no URL.
func rootOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
