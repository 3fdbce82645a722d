package app

import (
	"cmp"
	"fmt"

	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/shoutrrr"
)

// ShoutrrrConfig is one service that is told by a URL of shoutrrr.
type ShoutrrrConfig struct {
	Name  string      `yaml:"name"` // as routes and metrics name it; empty: shoutrrr
	URL   Secret      `yaml:"url"`  // SERVICE://..., which holds a token
	Group GroupConfig `yaml:"group"`
}

// shoutrrrWorkers is how many messages are under way to one service: each takes a
// process.
const shoutrrrWorkers = 2

// makeShoutrrr makes the channels to services of shoutrrr.
func (a *App) makeShoutrrr() error {
	for _, c := range a.config.Notify.Shoutrrr {
		channel, err := shoutrrr.New(shoutrrr.Options{URL: string(c.URL), Inbox: a.inboxURL})
		if err != nil {
			return fmt.Errorf("notify.shoutrrr: %s: %w", c.Name, err)
		}
		a.channels.setups = append(a.channels.setups, notify.Setup{Name: c.Name, Channel: channel, Group: c.Group.group(), Workers: shoutrrrWorkers})
	}
	return nil
}

func (r *notifyValidator) validateShoutrrr(list []ShoutrrrConfig, taken map[string]string) {
	for i := range list {
		s, key := &list[i], index("notify.shoutrrr", i)
		s.Name = cmp.Or(s.Name, "shoutrrr")
		r.validateChannel(key, s.Name, taken)
		r.validateGroup(key+".group", &s.Group)
		if err := shoutrrr.CheckURL(string(s.URL)); err != nil {
			r.problem(key+".url", "%s", err)
		}
	}
}
