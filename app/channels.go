package app

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/slack"
)

// gatherFor is how long the requests of a run are gathered for one notification.
const gatherFor = 2 * time.Second

// channels makes the notification channels of a configuration, and the handlers of the
// requests that their services send.
type channels struct {
	parts  *parts
	config NotifyConfig
	setups []notify.Setup
	hooks  []console.Hook

	dispatcher atomic.Pointer[notify.Dispatcher] // nil until it has started
}

// check is the error of the channels that can post nothing until an operator corrects their setup.
func (c *channels) check(context.Context) error {
	if d := c.dispatcher.Load(); d != nil {
		return d.Faults()
	}
	return nil
}

// makeChannels makes all channels. Nothing is sent yet.
func (p *parts) makeChannels(context.Context, *lifecycle) error {
	c := &channels{parts: p, config: p.options.Config.Notify}
	p.channels = c
	c.setups = append(c.setups, pushSetup(p.browsers.push))
	c.makeSlack()
	if err := c.makeWebhooks(); err != nil {
		return err
	}
	return c.makeShoutrrr()
}

func (c *channels) makeSlack() {
	p := c.parts
	for _, s := range c.config.Slack {
		o := slack.Options{
			BotToken: string(s.BotToken), AppToken: string(s.AppToken), SigningSecret: string(s.SigningSecret),
			Target: s.Channel, APIURL: s.APIURL, Inbox: p.inboxURL, Gate: p.gate, Reviewers: p.reviewers,
			Log: p.log("slack").With("channel", s.Name),
		}
		channel := slack.New(o)
		c.setups = append(c.setups, notify.Setup{Name: s.Name, Channel: channel, Threads: true, Group: s.Group.group(), Gather: gatherFor})
		if s.SigningSecret != "" {
			c.hooks = append(c.hooks, console.Hook{Path: "/hooks/" + s.Name, Handler: channel})
		}
	}
}

// inboxURL is the address of the console for reviewers.
func (p *parts) inboxURL() string {
	return cmp.Or(p.options.Config.Console.URL, "http://"+p.console.Addr())
}

// startNotify starts to notify people, after the console that takes their answers.
func (p *parts) startNotify(_ context.Context, running *lifecycle) error {
	d, err := notify.New(notify.Options{
		Store: p.store.deliveries, Requests: p.gate, Channels: p.channels.setups, Routes: p.options.Config.Notify.routes(),
		Log: p.log("notify"), Registerer: p.registry,
	})
	if err != nil {
		return err
	}
	p.channels.dispatcher.Store(d)
	running.background("notify", d.Run)
	return nil
}
