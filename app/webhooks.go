package app

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/webhook"
)

// WebhookConfig is one program that is told by HTTP.
type WebhookConfig struct {
	Name    string   `yaml:"name"`    // as routes and metrics name it; empty: webhook
	URL     Secret   `yaml:"url"`     // it may hold a token
	Secrets []Secret `yaml:"secrets"` // whsec_ and base64, the current one first
	// Reviewer is whose decisions the URLs in its messages are. Empty: there are none.
	Reviewer string `yaml:"reviewer"`
}

// webhookWorkers is how many messages are under way to one receiver.
const webhookWorkers = 16

// makeWebhooks makes the channels to programs.
func (a *App) makeWebhooks() error {
	for _, c := range a.config.Notify.Webhooks {
		log := a.log.With("component", "webhook", "channel", c.Name)
		o := webhook.Options{URL: string(c.URL), Inbox: a.inboxURL, Log: log}
		for _, secret := range c.Secrets {
			o.Secrets = append(o.Secrets, string(secret))
		}
		if c.Reviewer != "" {
			path := "/hooks/" + c.Name
			o.Links = webhook.NewLinks(webhook.LinkOptions{
				Channel: c.Name, Path: path, Gate: a.gate, Notes: a.store.Deliveries, Log: log,
				Reviewer: func() (reviewers.Reviewer, bool) { return a.acting(c.Reviewer) },
			})
			a.channels.hooks = append(a.channels.hooks, console.Hook{Path: path + "/{token}", Handler: o.Links})
		}
		channel, err := webhook.New(o)
		if err != nil {
			return fmt.Errorf("notify.webhooks: %s: %w", c.Name, err)
		}
		a.channels.setups = append(a.channels.setups, notify.Setup{Name: c.Name, Channel: channel, EachEvent: true, Workers: webhookWorkers})
	}
	return nil
}

// acting is the reviewer of a name: of the configuration or, where it has none, the
// local one.
func (a *App) acting(name string) (reviewers.Reviewer, bool) {
	if a.reviewers == nil {
		return reviewers.Local(), name == reviewers.LocalName
	}
	return a.reviewers.ByName(name)
}

func (r *configReader) validateWebhooks(list []WebhookConfig, taken map[string]string) {
	for i := range list {
		w, key := &list[i], index("notify.webhooks", i)
		w.Name = cmp.Or(w.Name, "webhook")
		r.validateChannel(key, w.Name, taken)
		switch u, err := url.Parse(string(w.URL)); {
		case err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https":
			r.problem(key+".url", "is not an http or https URL with a host and without a password; write for example https://ci.example/heldcall")
		case u.Scheme == "http" && w.Reviewer != "" && !isLoopback(u.Hostname()):
			r.problem(key+".url", "is an http URL, and with reviewer the messages hold URLs that decide, which could be read on its way; write an https URL, or leave reviewer out")
		}
		if len(w.Secrets) == 0 {
			r.problem(key+".secrets", "is empty; messages are signed: write [whsec_...], made by echo whsec_$(openssl rand -base64 32)")
		}
		for j, secret := range w.Secrets {
			if _, err := webhook.ParseSecret(string(secret)); err != nil {
				r.problem(index(key+".secrets", j), "%s", err)
			}
		}
	}
}

// validateActing checks that webhooks act for reviewers that there are.
func (r *configReader) validateActing(c *Config) {
	known := map[string]bool{reviewers.LocalName: !c.Console.asks()}
	for _, reviewer := range c.Console.Reviewers {
		known[reviewer.Name] = true
	}
	for i, w := range c.Notify.Webhooks {
		if w.Reviewer != "" && !known[w.Reviewer] {
			r.problem(index("notify.webhooks", i)+".reviewer", "%q is not one of console.reviewers; name who the URLs in its messages decide for", w.Reviewer)
		}
	}
}
