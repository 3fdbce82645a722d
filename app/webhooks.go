package app

import (
	"cmp"
	"fmt"
	"net/url"

	"github.com/heldcall/heldcall/approvals/reviewers"
	"github.com/heldcall/heldcall/console"
	"github.com/heldcall/heldcall/internal/strictyaml"
	"github.com/heldcall/heldcall/internal/weborigin"
	"github.com/heldcall/heldcall/notify"
	"github.com/heldcall/heldcall/notify/webhook"
)

// WebhookConfig is one program that is notified over HTTP.
type WebhookConfig struct {
	Name    string   `yaml:"name"`    // in routes and metrics; empty: webhook
	URL     Secret   `yaml:"url"`     // may contain a token
	Secrets []Secret `yaml:"secrets"` // whsec_ and base64, the current one first
	// Reviewer is the reviewer for whom the URLs in its messages decide. Empty: messages
	// contain no such URLs.
	Reviewer string `yaml:"reviewer"`
}

// webhookWorkers is the number of concurrent messages to one receiver.
const webhookWorkers = 16

func (c *channels) makeWebhook(w WebhookConfig) (m madeChannel, err error) {
	p, log := c.parts, c.parts.log("webhook").With("channel", w.Name)
	o := webhook.Options{URL: string(w.URL), Inbox: p.inboxURL, Log: log}
	for _, secret := range w.Secrets {
		o.Secrets = append(o.Secrets, string(secret))
	}
	if w.Reviewer != "" {
		path := "/hooks/" + w.Name
		o.Links = webhook.NewLinks(webhook.LinkOptions{
			Channel: w.Name, Path: path, Gate: p.gate, Deliveries: p.store.deliveries, Log: log,
			Reviewer: func() (reviewers.Reviewer, bool) { return p.reviewer(w.Reviewer) },
		})
		m.hook = &console.Hook{Path: path + "/{token}", Handler: o.Links}
	}
	channel, err := webhook.New(o)
	if err != nil {
		return m, fmt.Errorf("notify.webhooks: %s: %w", w.Name, err)
	}
	m.setup = notify.Setup{Channel: channel, EachEvent: true, Workers: webhookWorkers}
	return m, nil
}

func (r *configValidator) validateWebhooks(list []WebhookConfig, taken map[string]string) {
	for i := range list {
		w, key := &list[i], strictyaml.Index("notify.webhooks", i)
		w.Name = cmp.Or(w.Name, "webhook")
		r.validateChannel(key, w.Name, taken)
		switch u, err := url.Parse(string(w.URL)); {
		case err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https"):
			r.Problem(key+".url", "is not an http or https URL with a host and without a password; write for example https://ci.example/heldcall")
		case u.Scheme == "http" && w.Reviewer != "" && !weborigin.IsLoopback(u.Hostname()):
			r.Problem(key+".url", "is an http URL, and with reviewer the messages hold URLs that decide, which could be read on its way; write an https URL, or leave reviewer out")
		}
		if len(w.Secrets) == 0 {
			r.Problem(key+".secrets", "is empty; messages are signed: write [whsec_...], made by echo whsec_$(openssl rand -base64 32)")
		}
		for j, secret := range w.Secrets {
			if _, err := webhook.ParseSecret(string(secret)); err != nil {
				r.Problem(strictyaml.Index(key+".secrets", j), "%s", err)
			}
		}
	}
}

// validateActing checks that the reviewers of webhooks exist.
func (r *configValidator) validateActing(c *Config) {
	known := map[string]bool{reviewers.LocalName: !c.Console.asks()}
	for _, reviewer := range c.Console.Reviewers {
		known[reviewer.Name] = true
	}
	for i, w := range c.Notify.Webhooks {
		if w.Reviewer != "" && !known[w.Reviewer] {
			r.Problem(strictyaml.Index("notify.webhooks", i)+".reviewer", "%q is not one of console.reviewers; name who the URLs in its messages decide for", w.Reviewer)
		}
	}
}
