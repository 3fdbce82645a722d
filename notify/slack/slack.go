// Package slack is the channel to Slack: it announces requests there, and takes the answers of reviewers.
//
// A card is one message: the calls that a model made together, each with a row of
// buttons. Cards of one run are in one thread. A call has buttons to
// approve it only if all of it is shown: one that does not fit into a message is linked
// to the inbox.
//
// Texts of models and people are shown as they are and have no effect: they are in code,
// with &, < and > escaped and invisible characters written as escapes, and Slack does not
// parse them for names and links.
//
// Clicks come over Socket Mode ([Channel.Listen]) or over HTTP, signed
// ([Channel.ServeHTTP]). The reviewer is found by their Slack user id, and their rights
// are checked, at each click.
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

	"github.com/heldcall/heldcall/approvals/gate"
	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/notify"
)

// Options are what a [Channel] is made of.
type Options struct {
	BotToken string // xoxb-...
	// AppToken (xapp-...) is for Socket Mode, SigningSecret for HTTP; at most one is
	// given. Without either, cards have no buttons but the link to the inbox.
	AppToken, SigningSecret string
	Target                  string        // conversation where routes name none: an id, or #name
	APIURL                  string        // ends in a slash; "": https://slack.com/api/
	Inbox                   func() string // the console's URL
	Gate                    *gate.Gate
	Reviewers               *reviewers.Directory // nil: nothing is decided from Slack
	Log                     *slog.Logger
	Client                  *http.Client // nil: one with time-outs
}

// Channel is Slack.
type Channel struct {
	api      api
	socket   *slackapi.Client // nil without Socket Mode
	secret   string           // "" without signed HTTP
	target   string
	cards    *cards
	clicks   *clicks
	log      *slog.Logger
	unsigned rate.Sometimes // bounds log lines about refused requests
}

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
	rendered := &cards{inbox: o.Inbox, clickable: o.AppToken != "" || o.SigningSecret != ""}
	c := &Channel{
		api: client, secret: o.SigningSecret, target: o.Target, cards: rendered, log: o.Log,
		clicks:   &clicks{api: client, gate: o.Gate, reviewers: o.Reviewers, cards: rendered, log: o.Log},
		unsigned: rate.Sometimes{First: 1, Interval: time.Minute},
	}
	if o.AppToken != "" {
		c.socket = client
	}
	return c
}

type posted struct {
	Channel string `json:"channel"` // id of the conversation
	TS      string `json:"ts"`      // of the message, which is its name there
}

func refOf(channel, ts string) (notify.Ref, error) {
	text, err := json.Marshal(posted{channel, ts})
	return notify.Ref(text), err
}

func parseRef(ref notify.Ref) (p posted, err error) {
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
		first, err := parseRef(d.Thread)
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
		return "", apiError("chat.postMessage", err)
	}
	return refOf(where, ts)
}

// post sends a card, and a short one if Slack refuses it as too long: a model's text
// must not prevent a notification.
func (c *Channel) post(ctx context.Context, d notify.Delivery, options []slackapi.MsgOption) (where, ts string, err error) {
	where, ts, err = c.api.PostMessageContext(ctx, c.targetOf(d), slices.Concat(c.cards.message(d, c.cards.blocks(d)), options)...)
	if answers(err, unfit) {
		where, ts, err = c.api.PostMessageContext(ctx, c.targetOf(d), slices.Concat(c.cards.message(d, c.cards.short(d)), options)...)
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
	p, err := parseRef(ref)
	if err != nil {
		return "", err
	}
	where, ts, _, err := c.api.UpdateMessageContext(ctx, p.Channel, p.TS, c.cards.message(d, c.cards.blocks(d))...)
	if answers(err, unfit) {
		where, ts, _, err = c.api.UpdateMessageContext(ctx, p.Channel, p.TS, c.cards.message(d, c.cards.short(d))...)
	}
	if err != nil {
		return "", apiError("chat.update", err)
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
		if refused := (slackapi.SlackErrorResponse{}); errors.As(err, &refused) && correctable[refused.Err] != "" {
			c.log.Warn("cannot check whether a card was posted, so it is posted again: the app needs channels:history and groups:history and be in the conversation, and the configuration the conversation's id", "error", refused.Err)
			return "", false, nil
		}
		if err != nil {
			return "", false, apiError("conversations.history", err)
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
