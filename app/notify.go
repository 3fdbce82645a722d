package app

import (
	"cmp"
	"context"

	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/slack"
)

// channels is the one list of channels that are told of requests, and where their
// services call.
type channels struct {
	setups []notify.Setup
	hooks  []console.Hook
}

// makeChannels makes those that are configured. Nothing is sent yet.
func (a *App) makeChannels(context.Context, *lifecycle) error {
	a.channels.setups = append(a.channels.setups, a.pushSetup())
	for _, c := range a.config.Notify.Slack {
		o := slack.Options{
			BotToken: string(c.BotToken), AppToken: string(c.AppToken), SigningSecret: string(c.SigningSecret),
			Target: c.Channel, APIURL: c.APIURL, Inbox: a.inboxURL, Gate: a.gate,
			Log: a.log.With("component", "slack", "channel", c.Name),
		}
		if a.reviewers != nil {
			o.Reviewers = a.reviewers
		}
		channel := slack.New(o)
		a.channels.setups = append(a.channels.setups, notify.Setup{Name: c.Name, Channel: channel, Threads: true, Group: c.Group.group()})
		if c.SigningSecret != "" {
			a.channels.hooks = append(a.channels.hooks, console.Hook{Path: "/hooks/" + c.Name, Handler: channel})
		}
	}
	if err := a.makeWebhooks(); err != nil {
		return err
	}
	return a.makeShoutrrr()
}

// inboxURL is where reviewers find the console.
func (a *App) inboxURL() string { return cmp.Or(a.config.Console.URL, a.ConsoleURL()) }

// startChannels begins to tell people, once they can answer.
func (a *App) startChannels(_ context.Context, running *lifecycle) error {
	d, err := notify.New(notify.Options{
		Store: a.store.Deliveries, Requests: a.gate, Channels: a.channels.setups, Routes: a.config.Notify.routes(),
		Log: a.log.With("component", "notify"), Registerer: a.registry,
	})
	if err != nil {
		return err
	}
	running.background("notify", d.Run)
	return nil
}
