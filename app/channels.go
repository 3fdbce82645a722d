package app

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
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
	parts *parts
	made  []madeChannel // of the configuration in force

	dispatcher atomic.Pointer[notify.Dispatcher] // nil until it has started
}

// check is the error of the channels that can post nothing until an operator corrects their setup.
func (c *channels) check(context.Context) error {
	if d := c.dispatcher.Load(); d != nil {
		return d.Faults()
	}
	return nil
}

// madeChannel is a channel that was made of an entry of the configuration.
type madeChannel struct {
	entry any
	setup notify.Setup
	hook  *console.Hook // nil: its service sends no requests
}

// makeChannels makes all channels. Nothing is sent yet.
func (p *parts) makeChannels(context.Context, *lifecycle) (err error) {
	p.channels = &channels{parts: p}
	p.channels.made, err = p.channels.makeAll(p.options.Config.Notify)
	return err
}

// makeAll makes the channels of a configuration. Those whose entries have not changed are the same as before.
func (c *channels) makeAll(config NotifyConfig) (all []madeChannel, err error) {
	take := func(name string, entry any, build func() (madeChannel, error)) {
		i := slices.IndexFunc(c.made, func(m madeChannel) bool { return m.setup.Name == name && reflect.DeepEqual(m.entry, entry) })
		if i >= 0 {
			all = append(all, c.made[i])
			return
		}
		m, failed := build()
		m.entry, m.setup.Name = entry, name
		all, err = append(all, m), errors.Join(err, failed)
	}
	for _, s := range config.Slack {
		take(s.Name, s, func() (madeChannel, error) { return c.makeSlack(s), nil })
	}
	for _, w := range config.Webhooks {
		take(w.Name, w, func() (madeChannel, error) { return c.makeWebhook(w) })
	}
	for _, s := range config.Shoutrrr {
		take(s.Name, s, func() (madeChannel, error) { return c.makeShoutrrr(s) })
	}
	return all, err
}

// setups returns those of all channels.
func (c *channels) setups() []notify.Setup {
	all := []notify.Setup{pushSetup(c.parts.browsers.push)}
	for _, m := range c.made {
		all = append(all, m.setup)
	}
	return all
}

// hooks returns those of all channels.
func (c *channels) hooks() (all []console.Hook) {
	for _, m := range c.made {
		if m.hook != nil {
			all = append(all, *m.hook)
		}
	}
	return all
}

// replace puts other channels in force, which makeAll has made: those that are gone end, new ones begin.
func (c *channels) replace(made []madeChannel, routes notify.Routes) error {
	same := func(m madeChannel) func(madeChannel) bool {
		return func(other madeChannel) bool { return other.setup.Channel == m.setup.Channel }
	}
	var end, names []string
	var begin []notify.Setup
	for _, m := range c.made {
		if !slices.ContainsFunc(made, same(m)) {
			end = append(end, m.setup.Name)
		}
	}
	fresh := false // a name is new
	for _, m := range made {
		names = append(names, m.setup.Name)
		fresh = fresh || !slices.ContainsFunc(c.made, func(other madeChannel) bool { return other.setup.Name == m.setup.Name })
		if !slices.ContainsFunc(c.made, same(m)) {
			begin = append(begin, m.setup)
		}
	}
	if fresh && c.parts.store.useChannels != nil {
		if err := c.parts.store.useChannels(append(names, channelPush)); err != nil {
			return err
		}
	}
	c.made = made
	c.parts.console.UseHooks(c.hooks())
	return c.dispatcher.Load().Replace(end, begin, routes)
}

func (c *channels) makeSlack(s SlackConfig) (m madeChannel) {
	p := c.parts
	o := slack.Options{
		BotToken: string(s.BotToken), AppToken: string(s.AppToken), SigningSecret: string(s.SigningSecret),
		Target: s.Channel, APIURL: s.APIURL, Inbox: p.inboxURL, Gate: p.gate, Reviewers: p.reviewers,
		Log: p.log("slack").With("channel", s.Name),
	}
	channel := slack.New(o)
	m.setup = notify.Setup{Channel: channel, Threads: true, Group: s.Group.group(), Gather: gatherFor}
	if s.SigningSecret != "" {
		m.hook = &console.Hook{Path: "/hooks/" + s.Name, Handler: channel}
	}
	return m
}

// inboxURL is the address of the console for reviewers.
func (p *parts) inboxURL() string {
	return cmp.Or(p.options.Config.Console.URL, "http://"+p.console.Addr())
}

// startNotify starts to notify people, after the console that takes their answers.
func (p *parts) startNotify(_ context.Context, running *lifecycle) error {
	d, err := notify.New(notify.Options{
		Store: p.store.deliveries, Requests: p.gate, Channels: p.channels.setups(), Routes: p.options.Config.Notify.routes(),
		Log: p.log("notify"), Registerer: p.registry,
	})
	if err != nil {
		return err
	}
	p.channels.dispatcher.Store(d)
	running.background("notify", d.Run)
	return nil
}
