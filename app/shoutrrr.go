package app

import (
	"cmp"
	"fmt"

	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/shoutrrr"
)

// ShoutrrrConfig is one service that is notified by a URL of shoutrrr.
type ShoutrrrConfig struct {
	Name  string      `yaml:"name"` // in routes and metrics; empty: shoutrrr
	URL   Secret      `yaml:"url"`  // SERVICE://..., which contains a token
	Group GroupConfig `yaml:"group"`
}

// shoutrrrWorkers is the number of concurrent messages to one service: each takes a
// process.
const shoutrrrWorkers = 2

func (c *channels) makeShoutrrr(s ShoutrrrConfig) (m madeChannel, err error) {
	channel, err := shoutrrr.New(shoutrrr.Options{URL: string(s.URL), Inbox: c.parts.inboxURL})
	if err != nil {
		return m, fmt.Errorf("notify.shoutrrr: %s: %w", s.Name, err)
	}
	m.setup = notify.Setup{Channel: channel, Group: s.Group.group(), Gather: gatherFor, Workers: shoutrrrWorkers}
	return m, nil
}

func (r *configValidator) validateShoutrrr(list []ShoutrrrConfig, taken map[string]string) {
	for i := range list {
		s, key := &list[i], strictyaml.Index("notify.shoutrrr", i)
		s.Name = cmp.Or(s.Name, "shoutrrr")
		r.validateChannel(key, s.Name, taken)
		r.validateGroup(key+".group", &s.Group)
		if err := shoutrrr.CheckURL(string(s.URL)); err != nil {
			r.Problem(key+".url", "%s", err)
		}
	}
}
