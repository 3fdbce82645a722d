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
// What an operator can put right meanwhile is not among them, such as a token, an
// invitation (without it a private conversation is not found), or what an archived
// conversation permits.
var hopeless = append([]string{
	"message_not_found", "cant_update_message", "edit_window_closed", "invalid_arguments", "invalid_metadata_format", "no_text",
}, unfit...)

// unfit are Slack's words for a message that it will not show; threadless for one
// whose thread is gone.
var (
	unfit      = []string{"msg_blocks_too_long", "msg_too_long", "invalid_blocks", "invalid_blocks_format"}
	threadless = []string{"thread_not_found", "cannot_reply_to_message"}
)

// refusal is an error that is shown to the reviewer whose click had no effect.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

func answers(err error, words []string) bool {
	var refused slackapi.SlackErrorResponse
	return errors.As(err, &refused) && slices.Contains(words, refused.Err)
}

// apiError returns an error of Slack's API as permanent or not. It contains the method and
// Slack's code of the error, and nothing of the message.
func apiError(method string, err error) error {
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
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: Slack does not answer: %w", method, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: Slack does not answer: %w", method, context.DeadlineExceeded)
	}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return fmt.Errorf("%s: Slack does not answer in time", method)
	}
	return fmt.Errorf("%s: Slack cannot be reached, or its answer not be read (%T)", method, rootOf(err))
}

// rootOf returns the innermost error: its type contains no URL.
func rootOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
