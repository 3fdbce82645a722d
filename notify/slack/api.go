package slack

import (
	"context"
	"time"

	slackapi "github.com/slack-go/slack"
)

type api interface {
	PostMessageContext(ctx context.Context, channel string, options ...slackapi.MsgOption) (where, ts string, err error)
	UpdateMessageContext(ctx context.Context, channel, ts string, options ...slackapi.MsgOption) (where, newTS, text string, err error)
	PostEphemeralContext(ctx context.Context, channel, user string, options ...slackapi.MsgOption) (ts string, err error)
	GetConversationHistoryContext(ctx context.Context, p *slackapi.GetConversationHistoryParameters) (*slackapi.GetConversationHistoryResponse, error)
	AuthTestContext(ctx context.Context) (*slackapi.AuthTestResponse, error)
	OpenViewContext(ctx context.Context, triggerID string, view slackapi.ModalViewRequest) (*slackapi.ViewResponse, error)
	GetUserInfoContext(ctx context.Context, user string, options ...slackapi.GetUserInfoOption) (*slackapi.User, error)
}

// callTimeout bounds one call of Slack's API whose caller set no deadline.
const callTimeout = 15 * time.Second

// silent keeps the library from logging: its lines may hold tokens.
type silent struct{}

// Output implements the library's logger.
func (silent) Output(int, string) error { return nil }
