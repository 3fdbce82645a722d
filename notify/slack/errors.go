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
var hopeless = append([]string{
	"message_not_found", "cant_update_message", "edit_window_closed", "invalid_arguments", "invalid_metadata_format", "no_text",
}, unfit...)

// What an operator does about the answers that stay the same until the setup of the app, of
// its token or of the conversation is corrected.
const (
	todoInvite   = "invite the app to the conversation (/invite)"
	todoChannel  = "check the id of the conversation in notify.slack[].channel or notify.routes; invite the app to it if it is private"
	todoArchived = "unarchive the conversation, or name another in notify.slack[].channel or notify.routes"
	todoToken    = "copy the bot token of the installed app to notify.slack[].bot_token and restart heldcall"
	todoAppToken = "make an app-level token with connections:write for notify.slack[].app_token, with Socket Mode switched on, and restart heldcall"
	todoScopes   = "add the scopes of docs/channels.md to the app and install it again"
	todoRights   = "have an administrator of the workspace let the app post in the conversation"
)

// correctable are those answers. Others, such as internal_error or service_unavailable, pass by
// themselves.
var correctable = map[string]string{
	"not_in_channel": todoInvite, "user_not_in_channel": todoInvite,

	"channel_not_found": todoChannel, "invalid_channel": todoChannel, "channel_type_not_supported": todoChannel,
	"method_not_supported_for_channel_type": todoChannel, "messages_tab_disabled": todoChannel,

	"is_archived": todoArchived, "is_inactive": todoArchived,

	"invalid_auth": todoToken, "not_authed": todoToken, "account_inactive": todoToken, "token_revoked": todoToken,
	"token_expired": todoToken, "not_allowed_token_type": todoToken, "team_not_found": todoToken,

	"missing_scope": todoScopes, "no_permission": todoScopes, "as_user_not_supported": todoScopes,

	"access_denied": todoRights, "restricted_action": todoRights, "restricted_action_read_only_channel": todoRights,
	"restricted_action_thread_only_channel": todoRights, "restricted_action_non_threadable_channel": todoRights,
	"restricted_action_thread_locked": todoRights, "team_access_not_granted": todoRights, "enterprise_is_restricted": todoRights,
	"ekm_access_denied": todoRights, "two_factor_setup_required": todoRights,
}

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
		return refusedError(method, refused.Err)
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

// refusedError is the error for one of Slack's codes.
func refusedError(method, code string) error {
	err := fmt.Errorf("%s: Slack answers %q", method, code)
	if todo := correctable[code]; todo != "" {
		if method == methodConnect {
			todo = todoAppToken
		}
		return &notify.SetupError{Err: err, Todo: todo}
	}
	if slices.Contains(hopeless, code) {
		return notify.Permanent(err)
	}
	return err
}

// methodConnect opens the connection of Socket Mode, with the app-level token.
const methodConnect = "apps.connections.open"

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
