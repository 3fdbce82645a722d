// Package slack tells people of requests in Slack, and takes their answers there.
//
// A card is one message: the calls that a model made together, each with a row of
// buttons. Cards of one run stand in one thread. A button is there only where the
// whole call is: what does not fit into a message is linked to the inbox, and cannot
// be approved from Slack.
//
// What a model or a person has written is shown as it is and does nothing: it stands
// in code, with &, < and > escaped, characters that are not seen written as escapes,
// and Slack told to look for no names and links.
//
// Clicks come over Socket Mode ([Channel.Listen]) or over HTTP, signed
// ([Channel.ServeHTTP]). Who clicks is a reviewer by their Slack user id; whether
// they are, and may, is asked at each click.
package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	slackapi "github.com/slack-go/slack"
	"golang.org/x/time/rate"

	"github.com/heldcall/heldcall/approvals"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/notify"
)

// Gate is what this channel needs of [gate.Gate].
type Gate interface {
	Request(ctx context.Context, id string) (approvals.Request, error)
	Decide(ctx context.Context, d approvals.Decision) (approvals.Request, error)
}

// Reviewers say who a Slack user is. It is [reviewers.Directory].
type Reviewers interface {
	BySlack(userID string) (reviewers.Reviewer, bool)
}

// Options are what a [Channel] is made of.
type Options struct {
	BotToken string // xoxb-...
	// AppToken (xapp-...) is for Socket Mode, SigningSecret for HTTP; at most one is
	// given. Without either, cards have no buttons but the link to the inbox.
	AppToken, SigningSecret string
	Target                  string        // conversation where routes name none: an id, or #name
	APIURL                  string        // ends in a slash; "": https://slack.com/api/
	Inbox                   func() string // the console's URL
	Gate                    Gate
	Reviewers               Reviewers // nil: nobody decides from Slack
	Log                     *slog.Logger
	Client                  *http.Client // nil: one with time-outs
}

// Channel is Slack.
type Channel struct {
	api       api
	socket    *slackapi.Client // nil without Socket Mode
	secret    string
	target    string
	inbox     func() string
	gate      Gate
	reviewers Reviewers
	log       *slog.Logger
	home      home
	unsigned  rate.Sometimes // tells of refused requests
}

// api is what this channel needs of Slack.
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

// New makes a channel. Nothing is sent yet.
func New(o Options) *Channel {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: callTimeout}
	}
	options := []slackapi.Option{slackapi.OptionHTTPClient(o.Client), slackapi.OptionLog(silent{})}
	if o.APIURL != "" {
		options = append(options, slackapi.OptionAPIURL(o.APIURL))
	}
	if o.AppToken != "" {
		options = append(options, slackapi.OptionAppLevelToken(o.AppToken))
	}
	client := slackapi.New(o.BotToken, options...)
	c := &Channel{
		api: client, secret: o.SigningSecret, target: o.Target, inbox: o.Inbox,
		gate: o.Gate, reviewers: o.Reviewers, log: o.Log,
		unsigned: rate.Sometimes{First: 1, Interval: time.Minute},
	}
	if o.AppToken != "" {
		c.socket = client
	}
	return c
}

// silent keeps the library from logging: its lines may hold tokens.
type silent struct{}

// Output implements the library's logger.
func (silent) Output(int, string) error { return nil }

// takesClicks reports whether buttons lead anywhere.
func (c *Channel) takesClicks() bool { return c.socket != nil || c.secret != "" }

// posted is what a [notify.Ref] of this channel says.
type posted struct {
	Channel string `json:"channel"` // id of the conversation
	TS      string `json:"ts"`      // of the message, which is its name there
}

func refOf(channel, ts string) (notify.Ref, error) {
	text, err := json.Marshal(posted{channel, ts})
	return notify.Ref(text), err
}

func (c *Channel) parse(ref notify.Ref) (p posted, err error) {
	if err := json.Unmarshal([]byte(ref), &p); err != nil {
		return p, notify.Permanent(fmt.Errorf("the reference %q of a card cannot be read", ref))
	}
	return p, nil
}

// Post sends a card: into the thread of its run, where there still is one, and shown
// in the conversation too.
func (c *Channel) Post(ctx context.Context, d notify.Delivery) (notify.Ref, error) {
	options := []slackapi.MsgOption{slackapi.MsgOptionMetadata(slackapi.SlackMetadata{
		EventType: metadataType, EventPayload: map[string]any{metadataCard: d.ID},
	})}
	thread := options
	if d.Thread != "" {
		first, err := c.parse(d.Thread)
		if err != nil {
			return "", err
		}
		thread = append(options, slackapi.MsgOptionTS(first.TS), slackapi.MsgOptionBroadcast())
	}
	where, ts, err := c.post(ctx, d, thread)
	if d.Thread != "" && answers(err, threadless) {
		where, ts, err = c.post(ctx, d, options)
	}
	if err != nil {
		return "", c.verdict("chat.postMessage", err)
	}
	return refOf(where, ts)
}

// post sends a card, and a short one if Slack finds it too long: what a model writes
// must not keep anybody from hearing of it.
func (c *Channel) post(ctx context.Context, d notify.Delivery, options []slackapi.MsgOption) (where, ts string, err error) {
	where, ts, err = c.api.PostMessageContext(ctx, c.targetOf(d), slices.Concat(c.message(d, c.blocks(d)), options)...)
	if answers(err, unfit) {
		where, ts, err = c.api.PostMessageContext(ctx, c.targetOf(d), slices.Concat(c.message(d, c.short(d)), options)...)
	}
	return where, ts, err
}

func (c *Channel) targetOf(d notify.Delivery) string {
	if d.Target != "" {
		return d.Target
	}
	return c.target
}

// What a card is found by: see [Channel.Find].
const (
	metadataType = "heldcall_card"
	metadataCard = "card"
)

// Update changes a card.
func (c *Channel) Update(ctx context.Context, d notify.Delivery, ref notify.Ref) (notify.Ref, error) {
	p, err := c.parse(ref)
	if err != nil {
		return "", err
	}
	where, ts, _, err := c.api.UpdateMessageContext(ctx, p.Channel, p.TS, c.message(d, c.blocks(d))...)
	if answers(err, unfit) {
		where, ts, _, err = c.api.UpdateMessageContext(ctx, p.Channel, p.TS, c.message(d, c.short(d))...)
	}
	if err != nil {
		return "", c.verdict("chat.update", err)
	}
	return refOf(where, ts)
}

// findWithin is how far before the first attempt a card may have been posted, by
// Slack's clock.
const findWithin = time.Minute

// Find looks for a card by its metadata among the messages since the first attempt.
// It needs a right to read the conversation's history; without it, or where the
// conversation is known by name only, a card cannot be found.
func (c *Channel) Find(ctx context.Context, d notify.Delivery) (notify.Ref, bool, error) {
	p := &slackapi.GetConversationHistoryParameters{
		ChannelID: c.targetOf(d), Oldest: fmt.Sprintf("%d.000000", d.Since.Add(-findWithin).Unix()), Limit: 200, IncludeAllMetadata: true,
	}
	for {
		page, err := c.api.GetConversationHistoryContext(ctx, p)
		if refused := (slackapi.SlackErrorResponse{}); errors.As(err, &refused) && (refused.Err == "missing_scope" || refused.Err == "channel_not_found") {
			c.log.Warn("whether a card was posted cannot be found out, so it is posted again: the app needs channels:history and groups:history, and the configuration the conversation's id", "error", refused.Err)
			return "", false, nil
		}
		if err != nil {
			return "", false, c.verdict("conversations.history", err)
		}
		for _, m := range page.Messages {
			if m.Metadata.EventType == metadataType && m.Metadata.EventPayload[metadataCard] == d.ID {
				ref, err := refOf(p.ChannelID, m.Timestamp)
				return ref, err == nil, err
			}
		}
		if p.Cursor = page.ResponseMetaData.NextCursor; !page.HasMore || p.Cursor == "" {
			return "", false, nil
		}
	}
}
